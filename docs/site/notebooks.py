"""Notebooks as pages: their text, code and kept outputs; the file itself stays beside for download."""

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

_FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def _output(output: dict[str, Any]) -> str:
    """One output of a cell, the richest form that a page can show."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f'<img alt="what the cell draws" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    if "text/html" in data:
        lines = (line.strip() for line in "".join(data["text/html"]).splitlines())
        return "".join(line for line in lines if line)
    if "text/latex" in data:
        return "\n" + "".join(data["text/latex"]).replace(r"\displaystyle ", "") + "\n"
    return f"\n````text\n{''.join(data.get('text/plain', '')).rstrip()}\n````\n"


def page(path: Path) -> str:
    """The notebook as Markdown."""
    parts = [f"[Download this notebook]({path.name}){{ .md-button }}"]
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"````python\n{source}\n````")
        shown = [_output(output) for output in cell["outputs"]]
        if shown:
            parts.append('<div class="cell-output" markdown="1">\n' + "\n\n".join(shown) + "\n</div>")
    title = next(index for index, part in enumerate(parts) if part.startswith("# "))
    parts.insert(0, parts.pop(title))
    return "\n\n".join(parts) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook."""
    for path in sorted(_FOLDER.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to notebooks lead to their pages."""
    if page.file.src_uri.startswith("notebooks/"):
        return markdown
    return markdown.replace(".ipynb)", ".md)")
