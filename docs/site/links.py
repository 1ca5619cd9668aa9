"""What a site that is read offline cannot have: links to files of the repository, scripts of other servers."""

import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Keep the words of a link that leads out of the pages."""
    return re.sub(r"\[([^\]\n]+)\]\(\.\./[^)]*\)", r"\1", markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Drop scripts that a page would fetch from elsewhere, such as the theme's shim for search in opened files."""
    return re.sub(r'<script src="https?://[^"]*"></script>', "", output)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for pages that are no document, such as the server's 404."""
    return on_post_page(output_content)
