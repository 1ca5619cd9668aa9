"""One kind of file, many spoilt ones, in a process of its own: prints a line of JSON for every input.

python fuzz_worker.py KIND FIRST LAST SEED
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.soundness.fuzz_kinds import Kind
from benchmarks.soundness.fuzz_list import KINDS
from casid.errors import CasidError, CasidWarning

#: Longest processor time of one input [s], memory above what an idle process has [bytes], and longest message.
SECONDS, MEMORY, LONGEST = 20.0, 2 * 2**30, 2500


class _Hang(BaseException):
    """An input that takes too long; no `Exception`, so that nothing in between catches it."""


def _alarm(*_: Any) -> None:
    raise _Hang


def try_one(kind: Kind, number: int, seed: int, folder: Path) -> str:
    """``ok``, ``refused``, or what went wrong with one input."""
    rng = np.random.default_rng([seed, number])
    content = kind.spoilt(rng)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = kind.place(content, folder)
    before = _state(folder)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", CasidWarning)
            numbers = [np.asarray(value) for value in kind.read(path)]
        verdict = "ok"
        if not all(value.dtype.kind in "fiub" and np.isfinite(value).all() for value in numbers):
            verdict = "a result is not finite"
    except CasidError as error:
        verdict = _message_fault(str(error)) or "refused"
    except _Hang:
        verdict = f"hangs: more than {SECONDS:g} s"
    except MemoryError:
        verdict = "takes more than 2 GB"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        verdict = f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if verdict in ("ok", "refused"):
        verdict = _changed(before, _state(folder), kind.may_change() and verdict == "ok") or verdict
    return verdict


def _message_fault(message: str) -> str:
    if "more memory than there is" in message:
        return "takes more than 2 GB"
    if not message.strip():
        return "an empty message"
    if not message.isprintable() or len(message) > LONGEST:
        return f"a message of {len(message)} characters, or of several lines"
    return ""


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _changed(before: dict[str, bytes], after: dict[str, bytes], allowed: bool) -> str:
    """What reading has left behind; SQLite's own side files do not count."""
    new = [name for name in after if name not in before and not name.endswith(("-wal", "-shm", "-journal"))]
    if new:
        return f"leaves the file {new[0]} behind"
    if not allowed and any(after.get(name) != content for name, content in before.items()):
        return "changes the file that it refuses or reads"
    return ""


@contextmanager
def limits() -> Iterator[None]:
    """Limits of memory for this process, from here on."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if sys.platform == "linux" else 0
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    signal.signal(signal.SIGPROF, _alarm)
    yield


def main(name: str, first: int, last: int, seed: int) -> None:
    kind = next(kind for kind in KINDS if kind.name == name)
    kind.check_available()
    for bomb in kind.bombs():
        bomb()
    with tempfile.TemporaryDirectory() as scratch:
        warm = Path(scratch) / "warm"
        warm.mkdir()
        rng = np.random.default_rng(0)
        kind.spoilt(rng)
        try:
            list(kind.read(kind.place(kind.seeds[0], warm)))  # imports and caches do not count
        except CasidError:
            pass
        with limits():
            for number in range(first, last):
                print(json.dumps([number, "begins"]), flush=True)
                print(json.dumps([number, try_one(kind, number, seed, Path(scratch) / "one")]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
