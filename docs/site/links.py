"""What a site that is read offline cannot have: links to files of the repository, scripts of other servers."""

import re
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).resolve().parents[1]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the words of a link that leads out of the pages; the changelog is the repository's."""
    if page.file.src_uri == "changelog.md":
        markdown = (_DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\[([^\]\n]+)\]\(\.\./[^)]*\)", r"\1", markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Drop scripts that a page would fetch from elsewhere, such as the theme's shim for search in opened files."""
    return re.sub(r'<script src="https?://[^"]*"></script>', "", output)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for pages that are no document, such as the server's 404."""
    return on_post_page(output_content)
