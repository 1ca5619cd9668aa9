"""What was measured: rows by topic in one file with the state of the code that they are of, and the page of all.

The state of the product is a digest of names and contents of files that git does not ignore, of the recordings, and of
the versions of the packages that casid computes with. A row has that of its scripts besides, and counts while both are
those of the last publication: all others are "not measured". Work that takes hours adds up in pieces (50 of 4,000
problems), a line each of ``build/pieces/NAME.jsonl``, which count while the files that they exercise are unchanged. The
page anew, with the rows of other machines:
``python scripts/benchmarks/results.py [their results.json ...]``.
"""

from __future__ import annotations

import ast
import datetime
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import ROOT, Measure, NotMeasured, Outcome, Verdict, data_folder, measures, topics
from casid.errors import DatasetError
from casid.files import read_toml, write_files

SCRIPTS = ROOT / "scripts"
FOLDER, DOCS = ROOT / "build" / "pieces", ROOT / "docs"
#: What every row depends on: code, descriptions, problems, and packages.
PRODUCT = ("casid/**/*", "problems/*.py", "robots/**/*.toml")
PACKAGES = ("casadi", "numpy", "scipy")
#: Longest cell of the page; the whole of it stands in the file.
CELL = 120
_HEAD = """# Results

What `python scripts/acceptance.py all --publish` measured at commit {commit}, on {machine}; nothing else writes
this page. A row that was measured in another state of code, data or packages counts as not measured; the commit of its
last verdict stands there. A quick row measured less than its bar demands. Times depend on the machine and on what else
it does. Cells are cut to {cell} characters; the whole text is in `docs/results.json`. Why a row is missed stands below
its table.
"""


def digest(*patterns: str, root: Path = ROOT) -> str:
    """The key of a state: 16 hexadecimal digits over files, the recordings' sizes and the versions of packages.

    Parameters
    ----------
    patterns
        Globs under the root, such as ``casid/dynamics/**/*.py``; each must find a file.

    Raises
    ------
    ValueError
        If a pattern finds no file: such a key would never change.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-oi", "--exclude-standard", "-z"], cwd=root, capture_output=True, check=False
    ).stdout.decode()
    ignored = {root / name for name in listed.split("\0")}  # what is built beside the sources
    whole, paths = hashlib.sha256(), set[Path]()
    for pattern in patterns:
        found = {path for path in root.glob(pattern) if path.is_file() and "__pycache__" not in path.parts} - ignored
        if not found:
            raise ValueError(f"{pattern!r} finds no file under {root}: check the pattern")
        paths |= found
    for path in sorted(paths):
        whole.update(f"{path.relative_to(root).as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    whole.update(" ".join(f"{name} {metadata.version(name)}" for name in PACKAGES).encode())
    try:
        recordings = sorted(path for path in data_folder().rglob("*") if path.is_file())
    except NotMeasured:
        recordings = []
    whole.update(" ".join(f"{path.name} {path.stat().st_size}" for path in recordings).encode())
    return whole.hexdigest()[:16]


def _script(module: str) -> Path | None:
    """The file of a module of ``scripts/`` or ``tests/``."""
    places = (
        folder / f"{module.replace('.', '/')}{end}" for folder in (SCRIPTS, ROOT) for end in (".py", "/__init__.py")
    )
    return next((place for place in places if place.is_file() and not place.is_relative_to(ROOT / "casid")), None)


@functools.cache
def _named(path: Path) -> tuple[str, ...]:
    """Modules that a script imports, and scripts that it names to run them."""
    names = list[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("casid"):
            names += [one if _script(one := f"{node.module}.{a.name}") else node.module for a in node.names]
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[\w/]*[a-z0-9]\.py", str(node.value)):
            paths = SCRIPTS.rglob(Path(str(node.value)).name)
            names += [".".join(path.relative_to(SCRIPTS).with_suffix("").parts) for path in paths]
    return tuple(names)


@functools.cache
def scripts_of(module: str) -> str:
    """Digest of the scripts that a module reaches and of other files beside them; empty for what is no script."""
    waiting, found = [module], set[Path]()
    while waiting:
        path = _script(waiting.pop())
        if path is not None and path not in found and path.is_relative_to(SCRIPTS) | bool(found):
            found.add(path)
            waiting += _named(path)
    found |= {beside for path in found for beside in path.parent.glob(f"{path.stem}.*")}  # the data that it reads
    folders = {path.parent for path in found if path.parent.parent == SCRIPTS / "benchmarks"}
    found |= {path for folder in folders for path in folder.rglob("*") if path.parent != folder or path.suffix != ".py"}
    files = sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
    whole = b"".join(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() for path in files)
    return hashlib.sha256(whole).hexdigest()[:16] if files else ""


def state_of(measure: Measure, product: str) -> str:
    """The state of a row: that of the product, and of its scripts."""
    run = measure.run
    scripts = scripts_of((run.func if isinstance(run, functools.partial) else run).__module__)
    return f"{product}:{scripts}" if scripts else product


def kept(name: str, key: str | None, folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Pieces of a row by their parts that were measured in this state; without a key those of any."""
    path = folder / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    return {row["piece"]["part"]: row["piece"] for row in rows if key is None or row["key"] == key}


def keep(name: str, key: str, piece: dict[str, Any], folder: Path = FOLDER) -> None:
    """Add a piece of a row; its ``"part"``, measured again, counts once, the last time."""
    line = json.dumps({"part": piece["part"], "key": key, "piece": piece}, sort_keys=True) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line)


def measured(
    name: str, key: str, parts: Mapping[str, Callable[[], dict[str, Any]]], seconds: float, jobs: int = -1,
    folder: Path = FOLDER,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Pieces of a row by their parts: those that are kept, and the others measured now.

    Parameters
    ----------
    name, key
        The row, as a file's name; the state of the code, see `digest`.
    parts
        What measures each part; joblib must be able to send it to another process.
    seconds
        No part begins later than this.

    Raises
    ------
    NotMeasured
        If parts are left when that time is over: the next run goes on with them.
    """
    found, end = kept(name, key, folder), time.monotonic() + seconds
    waiting = (
        delayed(_piece)(part, run) for part, run in parts.items() if part not in found and time.monotonic() < end
    )
    for piece in Parallel(jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(waiting):
        keep(name, key, piece, folder)
        found[piece["part"]] = piece
    left = [part for part in parts if part not in found]
    if left:
        raise NotMeasured(f"{len(left)} of {len(parts)} parts are left, such as '{left[0]}': run it again to go on")
    return {part: found[part] for part in parts}


def _piece(part: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A piece with the seconds that it took."""
    began = time.perf_counter()
    return {"part": part, **run(), "seconds": round(time.perf_counter() - began, 1)}


# ---------------------------------------------------------------------- rows


def stored(docs: Path = DOCS) -> dict[str, Any]:
    """``commit``, ``state`` of the last publication, and ``rows`` by topic and name, each with its machine."""
    path = docs / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"rows": {}}


def verdict(record: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """``yes``, ``NO``, or ``-`` where the row is of another state than the publication."""
    return row["verdict"] if row and row["state"].partition(":")[0] == record.get("state") else "-"


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Whether this process holds the lock of this name; it is let go with the process, too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def claimed(topic: str, measure: Measure, product: str, quick: bool = False, docs: Path = DOCS) -> Iterator[bool]:
    """Whether a row is this run's to measure: not yet published in this state, and no other run is measuring it."""
    key = hashlib.sha256(f"{topic} {measure.name} {docs}".encode()).hexdigest()[:16]
    with locked(FOLDER.parent / "locks" / key, wait=False) as mine:
        row = stored(docs)["rows"].get(topic, {}).get(measure.name, {})
        yield mine and not (row and row["state"] == state_of(measure, product) and (quick or not row["quick"]))


def publish(
    topic: str, outcomes: Sequence[Outcome], catalogue: Mapping[str, Sequence[Measure]], quick: bool,
    docs: Path = DOCS, state: str = "",
) -> None:  # fmt: skip
    """Store rows beside those of other runs, also of such that run now, and write the page of all.

    Parameters
    ----------
    catalogue
        All rows of all topics in their order: others are dropped.
    quick
        Whether the run was quick: its smaller rows replace no whole ones of the same state.
    """
    with locked(FOLDER.parent / "locks" / "results"):
        record, state = stored(docs), state or digest(*PRODUCT)
        record |= {"commit": commit(), "state": state}
        rows = record["rows"].setdefault(topic, {})
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        for one in outcomes:
            smaller = quick and one.measure.quick is not None
            before = rows.get(one.measure.name, {})
            if one.verdict not in (Verdict.MET, Verdict.MISSED) or (
                smaller and verdict(record, before) != "-" and not before["quick"]
            ):
                continue
            rows[one.measure.name] = {
                "value": one.value, "verdict": one.verdict.value, "seconds": round(one.seconds, 1), "date": today,
                "commit": record["commit"], "state": state_of(one.measure, state), "quick": smaller,
                "machine": machine(),
            }  # fmt: skip
        record["rows"] = {
            name: {m.name: record["rows"][name][m.name] for m in listed if m.name in record["rows"].get(name, {})}
            for name, listed in sorted(catalogue.items())
        }
        for name, listed in catalogue.items():
            for m in listed:  # of which the scripts have changed
                row = record["rows"][name].get(m.name)
                if row and row["state"] not in ("", state_of(m, row["state"].partition(":")[0])):
                    row["state"] = ""
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_files(docs, {"results.json": text + "\n", "results.md": page(record, catalogue, docs)})


def commit() -> str:
    """Short hash of the checkout's commit, ``+`` behind it where files differ; empty outside a repository."""
    words = (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
    done = [subprocess.run(["git", *w], cwd=ROOT, capture_output=True, text=True, check=False) for w in words]
    changed = [line for line in done[1].stdout.splitlines() if "docs/results" not in line]
    return "" if done[0].returncode else done[0].stdout.strip() + ("+" if changed else "")


def machine() -> str:
    """Processor, cores, system and Python of this machine, in a line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def reasons(docs: Path = DOCS) -> dict[str, dict[str, str]]:
    """Topic -> row -> why it is missed, as written by hand."""
    path = docs / "results_missed.toml"
    return read_toml(path, "results", DatasetError) if path.is_file() else {}


def page(record: Mapping[str, Any], catalogue: Mapping[str, Sequence[Measure]], docs: Path = DOCS) -> str:
    """The page of every topic's rows, as Markdown."""
    here = [row for rows in record["rows"].values() for row in rows.values() if verdict(record, row) != "-"]
    count = Counter(row["machine"] for row in here).most_common()
    machines = "; ".join(f"{name} ({n} rows)" for name, n in count) or "-"
    parts = [_HEAD.format(commit=record.get("commit", "-"), machine=machines, cell=CELL)]
    known = reasons(docs)
    for topic, listed in sorted(catalogue.items()):
        rows = {m.name: record["rows"].get(topic, {}).get(m.name, {}) for m in listed}
        met, missed = ([n for n, row in rows.items() if verdict(record, row) == word] for word in ("yes", "NO"))
        parts += [f"## {topic}\n"]
        parts += [
            f"{len(met)} of {len(rows)} rows met, {len(missed)} missed, {len(rows) - len(met + missed)} not measured."
        ]
        parts += ["\n| measure | bar | measured | compare | met | s |\n| --- | --- | --- | --- | --- | --- |"]
        parts += [_line(m, rows[m.name], verdict(record, rows[m.name])) for m in listed]
        parts += ["", "Missed:\n"] if missed else [""]
        why = known.get(topic, {})
        parts += [f"- {_cell(name)}: {why.get(name, 'the reason is not known.')}" for name in missed]
        parts += [""] if missed else []
    return "\n".join(parts)


def _line(measure: Measure, row: Mapping[str, Any], met: str) -> str:
    value, seconds = row.get("value", "never measured"), f"{row.get('seconds', 0):.0f}"
    if met == "-" and row:
        value, seconds = f"not measured; {row['verdict']} at {row['commit'] or 'an unknown commit'}", "0"
    met += " (quick)" if met != "-" and row["quick"] else ""
    return f"| {' | '.join(map(_cell, (measure.name, measure.bar, value, measure.reference, met, seconds)))} |"


def _cell(text: str) -> str:
    """Text that ends no cell, is read as it is and is not long."""
    plain = " ".join(text.split())
    plain = plain if len(plain) <= CELL else plain[: CELL - 1].rstrip() + "…"
    for sign in "\\`*_[]>|":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("<", "&lt;")  # Python-Markdown knows no escape of it


def gathered(record: dict[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A publication with the rows of others of the same state, measured on other machines, that it lacks.

    Raises
    ------
    ValueError
        If one is of another state.
    """
    for other in others:
        if other.get("state") != record.get("state"):
            raise ValueError(f"rows of state {other.get('state')} cannot stand beside those of {record.get('state')}")
        for topic, rows in other["rows"].items():
            mine = record["rows"].setdefault(topic, {})
            lacking = {n: row for n, row in rows.items() if verdict(record, mine.get(n, {})) == "-"}
            mine |= {n: row for n, row in lacking.items() if verdict(other, row) != "-"}
    return record


if __name__ == "__main__":
    everything = {topic: measures(topic) for topic in topics()}
    with locked(FOLDER.parent / "locks" / "results"):
        whole = gathered(stored(), [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]])
        text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
        write_files(DOCS, {"results.json": text, "results.md": page(whole, everything)})
