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


def badges(name: str, repository: str) -> str:
    """Links that open a notebook in Colab and in Binder, from a repository on GitHub; none from elsewhere."""
    owner = repository.rstrip("/").removesuffix(".git").partition("github.com/")[2]
    if not owner:
        return ""
    colab = f"https://colab.research.google.com/github/{owner}/blob/main/docs/notebooks/{name}"
    binder = f"https://mybinder.org/v2/gh/{owner}/main?labpath=docs/notebooks/{name}"
    return f" [Open in Colab]({colab}){{ .md-button }} [Open in Binder]({binder}){{ .md-button }}"


def page(path: Path, repository: str = "") -> str:
    """The notebook as Markdown."""
    parts = [f"[Download this notebook]({path.name}){{ .md-button }}{badges(path.name, repository)}"]
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
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page(path, config.repo_url or "")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to notebooks lead to their pages."""
    if page.file.src_uri.startswith("notebooks/"):
        return markdown
    return markdown.replace(".ipynb)", ".md)")
