"""The page of results: what acceptance tables measured last, kept as JSON beside it, row by row.

Anew from the stored rows, without a measurement: ``python scripts/benchmarks/page.py``.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import tomlkit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import casid
from benchmarks.measure import Measure, Outcome, Verdict, measures, topics

DOCS = Path(__file__).resolve().parents[2] / "docs"
_HEAD = """# Results

What `python scripts/acceptance.py all --publish` measured, each row when it was last run; nothing else writes this
page. Every row of every topic is here, those never measured too. A quick row measured less than its bar demands.
Each row names the commit that it was measured at and how many commits ago that was, counted from {at}.
Times depend on the machine and on what else it does: most rows are ratios, counts or errors. Why a row is missed stands
below its table, from `docs/results/missed.toml`.
"""


@dataclass(frozen=True)
class Row:
    """A row of the page; its verdict is ``yes``, ``NO``, or ``-`` where it was not measured."""

    name: str
    bar: str
    reference: str
    value: str = "never measured"
    verdict: str = "-"
    seconds: float = 0.0
    date: str = ""
    version: str = ""
    commit: str = ""
    machine: str = ""
    quick: bool = False


def publish(
    topic: str, outcomes: Sequence[Outcome], catalogue: Mapping[str, Sequence[Measure]], quick: bool, docs: Path = DOCS
) -> None:
    """Write rows beside those that other runs measured, and the page of all.

    Parameters
    ----------
    catalogue
        All rows of all topics in their order: others are dropped, those never measured are shown as such.
    quick
        Whether the run was quick: its smaller rows replace no whole ones.
    """
    folder = docs / "results"
    folder.mkdir(exist_ok=True)
    kept = stored(topic, folder)
    for row in outcomes:
        smaller = quick and row.measure.quick is not None
        before = kept.get(row.measure.name)
        if smaller and before is not None and not before.quick and before.verdict in ("yes", "NO"):
            continue
        kept[row.measure.name] = _row(row, smaller)
    ordered = [asdict(kept[m.name]) for m in catalogue[topic] if m.name in kept]
    text = json.dumps(ordered, indent=1, ensure_ascii=False)
    (folder / f"{topic}.json").write_text(text + "\n", encoding="utf-8")
    (docs / "results.md").write_text(page(folder, catalogue), encoding="utf-8")


def _row(row: Outcome, quick: bool) -> Row:
    verdict = row.verdict.value if row.verdict in (Verdict.MET, Verdict.MISSED) else "-"
    measure, today = row.measure, datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return Row(
        measure.name, measure.bar, measure.reference, row.value, verdict, row.seconds, today, casid.__version__,
        commit(), machine(), quick,
    )  # fmt: skip


def stored(topic: str, folder: Path = DOCS / "results") -> dict[str, Row]:
    """Rows of a topic as they were measured last, by name."""
    path = folder / f"{topic}.json"
    if not path.is_file():
        return {}
    return {entry["name"]: Row(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))}


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=DOCS.parent, capture_output=True, text=True, check=False)


def commit() -> str:
    """Short hash of the checkout's commit, ``+`` behind it where files differ; empty outside a repository."""
    answers = _git("rev-parse", "--short", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")
    if any(done.returncode for done in answers):
        return ""
    changed = [line for line in answers[1].stdout.splitlines() if "docs/results" not in line]
    return answers[0].stdout.strip() + ("+" if changed else "")


def machine() -> str:
    """Processor, cores, system and Python of this machine, in a line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def page(folder: Path, catalogue: Mapping[str, Sequence[Measure]], at: str = "") -> str:
    """The page of every topic's rows, as Markdown; ages are counted from the commit ``at``, default the checkout's."""
    at = at or commit().rstrip("+") or "a copy without history"
    parts, known = [_HEAD.format(at=at)], reasons(folder)
    for topic, listed in sorted(catalogue.items()):
        kept = stored(topic, folder)
        rows = [kept.get(m.name, Row(m.name, m.bar, m.reference)) for m in listed]
        met, missed = (sum(row.verdict == verdict for row in rows) for verdict in ("yes", "NO"))
        machines = sorted({row.machine for row in rows if row.machine})
        parts += [
            f"## {topic}\n",
            f"{met} of {len(rows)} rows met, {missed} missed, {len(rows) - met - missed} not measured.",
            *(f"Measured on {name}." for name in machines),
            "\n| measure | bar | measured | compare | met | s | when |\n| --- | --- | --- | --- | --- | --- | --- |",
            *(_line(row, at) for row in rows),
            "",
            *_missed(rows, known.get(topic, {})),
        ]
    return "\n".join(parts)


def reasons(folder: Path) -> dict[str, dict[str, str]]:
    """Topic -> row -> why it is missed, as written by hand."""
    path = folder / "missed.toml"
    return tomlkit.parse(path.read_text(encoding="utf-8")).unwrap() if path.is_file() else {}


def _missed(rows: Sequence[Row], known: Mapping[str, str]) -> list[str]:
    """The missed rows with their reasons."""
    missed = [row for row in rows if row.verdict == "NO"]
    if not missed:
        return []
    return [
        "Missed:\n",
        *(f"- {_cell(row.name)}: {known.get(row.name, 'the reason is not known.')}" for row in missed),
        "",
    ]


@cache
def age(of: str, at: str) -> str:
    """Commits from one to another, in words; empty where the history does not tell."""
    done = _git("rev-list", "--count", f"{of.rstrip('+')}..{at}") if of else None
    return "" if done is None or done.returncode else f"{done.stdout.strip()} commits ago"


def _line(row: Row, at: str) -> str:
    verdict = f"{row.verdict} (quick)" if row.quick else row.verdict
    known = age(row.commit, at) or ("at an unknown commit" if row.date else "")
    when = ", ".join(filter(None, (f"{row.date} {row.commit}".strip(), known)))
    cells = (row.name, row.bar, row.value, row.reference, verdict, f"{row.seconds:.0f}", when)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Text that ends no cell and is read as it is."""
    plain = " ".join(text.split())
    for sign in "\\`*_[]>|":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("<", "&lt;")  # Python-Markdown knows no escape of it


if __name__ == "__main__":
    (DOCS / "results.md").write_text(page(DOCS / "results", {t: measures(t) for t in topics()}), encoding="utf-8")
