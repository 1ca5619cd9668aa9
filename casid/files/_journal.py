"""Journals: one JSON line a result, flushed to disk at once, so that work that is killed goes on from it.

The first line says what the file belongs to.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from casid.errors import CasidError
from casid.files._read import read_bytes
from casid.files._text_formats import json_bytes, parse_json
from casid.files._words import reason

#: Largest journal [bytes].
LIMIT = 2**30


def journal_lines(
    path: Path, header: Mapping[str, Any], differs: Mapping[str, str], what: str, error: type[CasidError]
) -> list[bytes]:
    """Results in a journal of an earlier run; an incomplete last line, left by a kill, does not count.

    Parameters
    ----------
    header
        Its first line: an entry that marks the format, then those of ``differs``.
    differs
        Entry of the header -> what the file belongs to where it is another.
    what
        Kind of file, for messages.
    error
        Raised where it is damaged or belongs to something else.
    """
    try:
        if path.exists() and not path.is_file():
            raise error(f"{what} '{path}' is not a regular file; choose another name")
        if not path.exists() or not path.stat().st_size:
            return []
    except (OSError, ValueError) as problem:
        raise error(f"{what} '{path}' cannot be read: {reason(problem).lower()}") from None
    content = read_bytes(path, what, error, LIMIT)
    *complete, last = content.split(b"\n")
    if not complete and _line(header).startswith(last):
        return []  # killed while it wrote its first line
    try:
        found = parse_json(complete[0], "the first line", error) if complete else None
    except error:
        found = None
    mark = next(iter(header))
    if not isinstance(found, dict) or found.get(mark) != header[mark]:
        raise error(f"'{path}' is not a {what} of this version of casid; it is left as it is: choose another name")
    for key, words in differs.items():
        if found.get(key) != header[key]:
            raise error(f"{what} '{path}' belongs to {words}; it is left as it is: choose another name")
    return complete[1:]


@contextmanager
def journal(
    path: Path, header: Mapping[str, Any], what: str, error: type[CasidError]
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that appends a result to a journal, which no other process may open meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except (OSError, ValueError) as problem:
        raise error(f"{what} '{path}' cannot be written: {reason(problem).lower()}") from None
    with file:
        _lock(file, path, what, error)
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)  # an incomplete last line

        def write(stored: Mapping[str, Any]) -> None:
            try:
                rest = memoryview(_line(stored))
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError as problem:
                words = f"{what} '{path}' cannot be written: {reason(problem).lower()}"
                raise error(f"{words}; what is in it is kept: make room and start again") from None

        if not whole:
            write(header)
        yield write


def _line(stored: Mapping[str, Any]) -> bytes:
    """One line of a journal; JSON has no infinity, it is written as text."""
    plain = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in stored.items()}
    return json_bytes(plain, indent=None)


def _lock(file: Any, path: Path, what: str, error: type[CasidError]) -> None:
    try:
        import fcntl
    except ImportError:  # no such thing on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise error(f"{what} '{path}' is in use by another process") from None
