"""The page of results: what acceptance tables measured last, kept as JSON beside it, row by row."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import casid

DOCS = Path(__file__).resolve().parents[2] / "docs"
_HEAD = """# Results

What `python scripts/acceptance.py TOPIC --publish` measured, each row when it was last run; nothing else writes
this page. Times depend on the machine and on what else it does: most rows are ratios, counts or errors.
"""


@dataclass(frozen=True)
class Row:
    """A measured row: its verdict is ``yes``, ``NO``, or ``-`` where it could not be measured."""

    name: str
    bar: str
    value: str
    reference: str
    verdict: str
    seconds: float
    date: str = ""
    version: str = ""


def publish(topic: str, rows: Sequence[Row], known: Sequence[str], docs: Path = DOCS) -> None:
    """Write rows beside those that other runs measured, and the page of all.

    Parameters
    ----------
    known
        Names of all rows of the topic in their order: others are dropped.
    """
    folder = docs / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{topic}.json"
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    kept = {entry["name"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))} if path.is_file() else {}
    kept |= {row.name: {**asdict(row), "date": today, "version": casid.__version__} for row in rows}
    ordered = [kept[name] for name in known if name in kept]
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (docs / "results.md").write_text(page(folder), encoding="utf-8")


def page(folder: Path) -> str:
    """The page of every topic's file, as Markdown."""
    parts = [_HEAD]
    for path in sorted(folder.glob("*.json")):
        rows = [Row(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
        met, unknown = (sum(row.verdict == verdict for row in rows) for verdict in ("yes", "-"))
        parts += [
            f"## {path.stem}\n",
            f"{met} of {len(rows)} rows met{f', {unknown} not measured' if unknown else ''}.\n",
            "| measure | bar | measured | compare | met | s | when |\n| --- | --- | --- | --- | --- | --- | --- |",
            *(_line(row) for row in rows),
            "",
        ]
    return "\n".join(parts)


def _line(row: Row) -> str:
    cells = (row.name, row.bar, row.value, row.reference, row.verdict, f"{row.seconds:.0f}", row.date)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Text that ends no cell and is read as it is."""
    plain = " ".join(text.split())
    for sign in "\\`*_[]<>|":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
