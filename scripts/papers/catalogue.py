"""The documents and their items, in the documents' order, and what their sections state beside them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from casid.errors import DatasetError
from casid.files import read_toml
from papers.item import FUNCTIONS, Item, Status

#: What a drawing has in place of a computation.
_DRAWING = "a drawing or photograph: it holds no numbers to compute"


@dataclass(frozen=True)
class Claim:
    """A statement of a section: where it stands, what it says, and the items that compute it, by document and name."""

    name: str
    title: str
    by: tuple[tuple[str, str], ...]

    def items(self) -> tuple[tuple[str, Item], ...]:
        """The items, each with its document's key; KeyError for one that is not listed."""
        return tuple((key, paper_of(key).item(name)) for key, name in self.by)

    def status(self) -> Status:
        """The least that its items reach."""
        return max((item.status for _, item in self.items()), key=list(Status).index)


@dataclass(frozen=True, eq=False)
class Paper:
    """A document: its key on the command line, its short title, its citation, its items and statements."""

    key: str
    title: str
    citation: str
    items: tuple[Item, ...]
    claims: tuple[Claim, ...]

    def item(self, name: str) -> Item:
        """By its name; KeyError if there is none."""
        for item in self.items:
            if item.name == name:
                return item
        raise KeyError(f"{self.key}: no item '{name}'")


def _paper(path: Path) -> Paper:
    table = read_toml(path, "papers", DatasetError)
    for module in table["modules"]:
        importlib.import_module(f"papers.{module}")
    key, items = path.stem, []
    for name, entry in table["items"].items():
        status = Status(entry.get("status", "impossible"))
        function = FUNCTIONS.get((key, name))
        if (function is None) != (status is Status.IMPOSSIBLE):
            raise ValueError(f"{path.name}: '{name}' is {status.value} and has {'no' * (function is None)} function")
        how = table.get("shared", {}).get(entry.get("how", ""), entry.get("how", _DRAWING))
        words, claims = (tuple(entry.get(what, ())) for what in ("words", "claims"))
        repeatable = entry.get("repeatable", False)
        items.append(Item(name, entry["title"], status, how, repeatable, words, claims, function))
    statements = []
    for name, title, by in table["statements"]:
        pairs = (text.rpartition(": ") for text in by.split("; "))
        statements.append(Claim(name, title, tuple((other or key, item) for other, _, item in pairs)))
    return Paper(key, table["title"], table["citation"], tuple(items), tuple(statements))


def paper_of(key: str) -> Paper:
    """By its key; KeyError names the known ones."""
    for paper in PAPERS:
        if paper.key == key:
            return paper
    raise KeyError(f"no document '{key}'; there are {', '.join(paper.key for paper in PAPERS)}")


PAPERS = tuple(_paper(path) for path in sorted(Path(__file__).parent.glob("*.toml")))
