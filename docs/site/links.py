"""A site that is read from disk: files of the repository as pages, no script of another server."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

_DOCS = Path(__file__).resolve().parents[1]
_OUT = re.compile(r"\]\(\.\./((?!\.\./)[^)#\s]+)\)")
_LANGUAGES = {".py": "python", ".toml": "toml", ".md": "markdown", ".c": "c"}


def on_files(files: Any, config: Any) -> Any:
    """Add the style, the shim that lets an opened file search, and a page for each file that a page links to."""
    for asset in sorted((_DOCS / "site" / "assets").iterdir()):
        files.append(File.generated(config, f"assets/{asset.name}", content=asset.read_text(encoding="utf-8")))
    linked = {name for page in _DOCS.glob("*.md") for name in _OUT.findall(page.read_text(encoding="utf-8"))}
    for name in sorted(linked - {"CHANGELOG.md"}):
        path = _DOCS.parent / name
        text = f"# {name}\n\n````{_LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8')}\n````\n"
        files.append(File.generated(config, f"source/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files of the repository lead to their pages; the changelog is the repository's."""
    if page.file.src_uri == "changelog.md":
        markdown = (_DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return _OUT.sub(r"](source/\1.md)", markdown)


def on_post_page(output: str, page: Any = None, **_: Any) -> str:
    """Replace the theme's remote script for search in opened files by the local one; drop any other."""
    depth = page.file.dest_uri.count("/") if page else 0
    own = f'<script src="{"../" * depth}assets/iframe-worker.js"></script>'
    output = re.sub(r'<script src="https?://[^"]*iframe-worker[^"]*"></script>', own, output)
    return re.sub(r'<script src="https?://[^"]*"></script>', "", output)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for pages that are no document, such as the server's 404."""
    return on_post_page(output_content)
