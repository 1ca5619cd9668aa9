"""Measurements in pieces: what several runs measured of one row, kept while what they measured is unchanged.

A piece is a part of a row's work with its outcome (50 of 4,000 problems). It is one line of
``build/pieces/NAME.jsonl`` and carries the digest of the files that it depends on, so that pieces of an older
state of the code do not count.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "pieces"


def digest(*patterns: str, root: Path = ROOT) -> str:
    """The key of a state of the code: 16 hexadecimal digits over names and contents of files.

    Parameters
    ----------
    patterns
        Globs under the root, such as ``casid/dynamics/**/*.py``; each must find a file.

    Raises
    ------
    ValueError
        If a pattern finds no file: such a key would never change.
    """
    paths: set[Path] = set()
    for pattern in patterns:
        found = {path for path in root.glob(pattern) if path.is_file()}
        if not found:
            raise ValueError(f"{pattern!r} finds no file under {root}: check the pattern")
        paths |= found
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path.relative_to(root).as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def keep(name: str, key: str, piece: dict[str, Any], folder: Path = FOLDER) -> None:
    """Add a piece of a row.

    Parameters
    ----------
    name, key
        The row, as a file's name; the state of the code, see `digest`.
    piece
        What JSON can hold. Its ``"part"`` says which part of the work it is: the same part measured again replaces
        the earlier piece, whatever its key, so that nothing counts twice.

    Raises
    ------
    KeyError
        If the piece does not say its part.
    """
    part = piece["part"]
    with _locked(name, folder) as path:
        rows = [row for row in _rows(path) if row["piece"]["part"] != part] + [{"key": key, "piece": piece}]
        text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def kept(name: str, key: str | None, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Pieces of a row that were measured in this state of the code, oldest first; without a key those of any."""
    return [row["piece"] for row in _rows(folder / f"{name}.jsonl") if key is None or row["key"] == key]


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measured(
    name: str,
    key: str,
    parts: Mapping[str, Callable[[], dict[str, Any]]],
    seconds: float,
    jobs: int = 2,
    folder: Path = FOLDER,
) -> dict[str, dict[str, Any]]:
    """Pieces of a row by their parts: those that are kept, and those that can be measured in this time.

    Parameters
    ----------
    name, key
        The row, as a file's name; the state of the code, see `digest`.
    parts
        What measures each part; joblib must be able to send it to another process.
    seconds
        No part begins later than this.
    jobs
        Processes.
    """
    found = {piece["part"]: piece for piece in kept(name, key, folder) if piece["part"] in parts}
    left = [part for part in parts if part not in found]
    end = time.monotonic() + seconds
    waiting = (delayed(_piece)(part, parts[part]) for part in left if time.monotonic() < end)
    if left:
        for piece in Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)(waiting):
            keep(name, key, piece, folder)
            found[piece["part"]] = piece
    return {part: found[part] for part in parts if part in found}


def _piece(part: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A piece with the seconds that it took."""
    began = time.perf_counter()
    made = run()
    return {"part": part, **made, "seconds": round(time.perf_counter() - began, 1)}


@contextmanager
def _locked(name: str, folder: Path) -> Iterator[Path]:
    """The file of a row, held by one process at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / f"{name}.jsonl"
