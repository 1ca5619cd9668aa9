"""The pages of ``docs/reference``: all public names, grouped by subject as the fronts of the rooms group them.

    python scripts/public_names.py            # writes the pages
    python scripts/public_names.py --check    # exit code 1 if one is out of date

``index.md`` lists every name with its summary; each room's page has the signatures and docstrings by subject.

A name is public if the ``__init__`` of a folder of `casid` imports it as itself,
``from casid.x._y import Name as Name``. Comments between these lines are the subjects; names under "between rooms"
are for casid itself.
Nothing is imported: the pages are made from the source.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
#: Folders whose names are not for users of the library.
INTERNAL = ("cli", "files", "problems", "robots")
#: Subject of the names that other rooms of casid use, and that are not promised.
BETWEEN = "between rooms"
HEAD = """# What is promised

Everything below is public: it keeps its name and meaning within a minor version, and what is renamed keeps a
deprecation that names the new place. Modules with a leading underscore, and names that are not listed, may change at
any time.
This page is generated from the fronts of the rooms: `python scripts/public_names.py`.
"""


@dataclass
class Front:
    """A folder that promises names.

    Attributes
    ----------
    name : str
        As it is imported, e.g. ``casid.report``.
    subjects : dict of str to list of (str, str)
        Subject -> names with their summaries.
    """

    name: str
    subjects: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of public names."""
        return sum(map(len, self.subjects.values()))


def fronts() -> Iterator[Front]:
    """All folders that promise names, in the order of their names; `casid` itself first."""
    package = ROOT / "casid"
    for init in sorted(package.rglob("__init__.py"), key=lambda path: path.parent.relative_to(package).parts):
        parts = init.parent.relative_to(package).parts
        if not parts or parts[0] not in INTERNAL:
            front = _front(".".join(("casid", *parts)), init)
            if front.count:
                yield front


def pages() -> dict[str, str]:
    """Content of each generated page by its file's name."""
    rooms: dict[str, list[Front]] = {}
    for front in fronts():
        if front.name != "casid":  # its names are documented in their rooms: casid.md is written by hand
            rooms.setdefault(front.name.split(".")[1], []).append(front)
    return {"index.md": index(), **{f"{room}.md": _room(f"casid.{room}", found) for room, found in rooms.items()}}


def _room(name: str, found: list[Front]) -> str:
    """A room's page: its docstring, then the names of each of its fronts by subject, with signatures."""
    lines = [f"# {name}", "", f"::: {name}", "    options:", "      show_root_heading: false", "      members: false"]
    for front in found:
        if front.name != name:
            lines += ["", f"## {front.name}", "", f"::: {front.name}", "    options:"]
            lines += ["      show_root_heading: false", "      members: false"]
        for subject, names in front.subjects.items():
            lines += ["", f"## {subject}"] if subject and front.name == name else []
            lines += ["", f"### {subject}"] if subject and front.name != name else []
            for public, _ in names:
                lines += ["", f"::: {front.name}.{public}", "    options:", "      heading_level: 4"]
    return "\n".join(lines) + "\n"


def index() -> str:
    """Content of the list of all names."""
    found = list(fronts())
    lines = [HEAD, f"{sum(front.count for front in found)} names in {len(found)} fronts."]
    for front in found:
        lines += ["", f"## {front.name}"]
        for subject, names in front.subjects.items():
            lines += ["", *([f"### {subject}", ""] if subject else []), "| name | |", "| --- | --- |"]
            lines += [f"| `{name}` | {summary} |" for name, summary in names]
    return "\n".join(lines) + "\n"


def _front(name: str, init: Path) -> Front:
    """Public names of one ``__init__``."""
    text = init.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    front = Front(name)
    listed = _constant(tree, "__all__")
    table = _constant(tree, "_NAMES")
    for public, room in (table or {}).items():  # names of `casid` that are imported when first used
        source = _source(f"casid.{room}", public)
        front.subjects.setdefault("", []).append((public, _summary(source, public) if source else ""))
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        subject = _subject(lines, node.lineno)
        if subject == BETWEEN:
            continue
        for alias in node.names:
            public = alias.asname or alias.name
            if not public.startswith("_") and (alias.asname == alias.name or (listed and public in listed)):
                front.subjects.setdefault(subject, []).append((public, _summary(init, public)))
    return front


def _subject(lines: list[str], number: int) -> str:
    """The nearest comment above a line that stands alone and is not for a tool."""
    for line in reversed(lines[: number - 1]):
        if line.startswith("# ") and ":" not in line:
            return line[2:].strip()
    return ""


def _constant(tree: ast.Module, name: str) -> dict[str, str]:
    """A module's literal list or table; empty where there is none."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                return {}
            return value if isinstance(value, dict) else dict.fromkeys(value, "")
    return {}


def _summary(path: Path, name: str, depth: int = 0) -> str:
    """First line of the docstring, or of the ``#:`` comment, of a name that a module defines or imports."""
    text, tree = _parsed(path)
    for node in tree.body:
        found = ""
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            found = ast.get_docstring(node) or ""  # none at the overloads of a function
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(leaf, ast.Name) and leaf.id == name for target in targets for leaf in ast.walk(target)):
                found = _comment(text.splitlines()[: node.lineno - 1])
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("casid") and depth < 8:
            for alias in node.names:
                source = _source(node.module, alias.name)
                if (alias.asname or alias.name) == name and source is not None:
                    return _summary(source, alias.name, depth + 1)
        if found:
            return found.partition("\n")[0].replace("|", "\\|")
    return ""


@cache
def _parsed(path: Path) -> tuple[str, ast.Module]:
    text = path.read_text(encoding="utf-8")
    return text, ast.parse(text)


def _comment(above: list[str]) -> str:
    """The ``#:`` lines right above a definition."""
    found: list[str] = []
    while above and above[-1].startswith("#:"):
        found.insert(0, above.pop()[2:].strip())
    return " ".join(found)


def _source(module: str, name: str) -> Path | None:
    """File of a module, or of the module ``name`` in it; None where there is none."""
    base = ROOT.joinpath(*module.split("."))
    known = (base.with_suffix(".py"), base / "__init__.py", base / f"{name}.py")
    return next((path for path in known if path.is_file()), None)


def main() -> None:
    """Write or compare the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 if a page is out of date")
    check = parser.parse_args().check
    for name, content in pages().items():
        path = FOLDER / name
        if not check:
            path.write_text(content, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != content:
            raise SystemExit(f"docs/reference/{name} is out of date: run python scripts/public_names.py")


if __name__ == "__main__":
    main()
