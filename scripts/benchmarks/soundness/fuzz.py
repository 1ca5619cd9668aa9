"""Rows of the table: every reader against spoilt files, drawn by Hypothesis.

By hand: ``python scripts/benchmarks/soundness/fuzz.py KIND [--count N] [--seed S]``.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import re
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.measure import Rows, need, process, scratch
from benchmarks.soundness.fuzz_files import Seed, recording
from benchmarks.soundness.fuzz_kinds import KINDS, Kind
from casid.errors import CasidError, CasidWarning

row = Rows()

COUNT, FEW, SEED = 1350, 12, 20190704
#: Longest processor time of one input [s], silence of compiled code [s], memory beyond an idle process [bytes].
SECONDS, SILENCE, MEMORY = 20.0, 60.0, 2 * 2**30
#: Longest message of an error.
LONGEST = 2500
#: What stands in place of a number, a value, a character.
NUMBERS = (
    "nan", "NaN", "inf", "-inf", "Infinity", "1e308", "-1e308", "1e-320", "1e999", "0", "-0.0", "-1", "3.5",
    "9" * 400, "18446744073709551616", "0x10", "1_000", "01", "1e", "--1", "1;2", "1,5", "1+2j",
)  # fmt: skip
WORDS = (
    '"false"', "true", "false", "null", "None", '""', '"x"', "[]", "{}", "[[1], [1, 2]]", "[true]", '["a"]',
    "1979-05-27", '"nan"', "'''", '"' + "y" * 5000 + '"', '"a\\u0000b"',
)  # fmt: skip
SIGNS = ("\U000e0001", "\u2028", "\ufeff", "\u202e", "\x00", "\x1b[31m", "é", "𝟙", "$", "[/x]", *"<&'\"\\")
FILLERS = (b"q" * 50_000, b"1" * 50_000, b" " * 50_000, b"q1" * 20_000, b"\\" * 5000)
BRACKETS = ((b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"), (b"a.", b""))
HEADS = (b"", b"\n", b"\x00" * 100, b"PK\x03\x04", b"\x1f\x8b")
#: Ways to change bytes, and text.
BYTES = ("cut", "bit", "insert", "remove", "double", "head")
TEXT = ("number", "value", "all", "lines", "sign", "nest", "key", "fill")
NUMBER = rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?"
VALUE = rb'"[^"\n]*"|true|false|null|' + NUMBER
KEY = rb'"\w+"\s*:|^\w+\s*='


def edited(draw: Callable[..., Any], content: bytes, text: bool) -> Any:
    """One change of a file: of its bytes, and of numbers, values, keys and lines where it is text."""
    import hypothesis.strategies as st

    def pick(items: Any) -> Any:
        return draw(st.sampled_from(items))

    def token(pattern: bytes, new: bytes) -> bytes:
        found = list(re.finditer(pattern, content, re.M))
        if not found:
            return content + new
        at = pick(found)
        return content[: at.start()] + new + content[at.end() :]

    i, j = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    way = pick((*BYTES, *TEXT * 2) if text else BYTES)
    if way == "cut":
        return content[:i]
    if way == "bit" and i < len(content):
        return content[:i] + bytes([content[i] ^ 1 << draw(st.integers(0, 7))]) + content[i + 1 :]
    if way == "remove":
        return content[:i] + content[i + draw(st.integers(1, 200)) :]
    if way == "double":
        return content[:j] + content[i:]
    if way == "head":
        return bytes(pick((*HEADS, b"\xff\xfe" + content, content * 3)))
    if way == "number":
        return token(NUMBER, pick(NUMBERS).encode())
    if way == "value":
        return token(VALUE, pick(WORDS).encode())
    if way == "all":
        new, share = pick(NUMBERS).encode(), draw(st.randoms(use_true_random=False))
        limit = pick((0.1, 0.5, 1.0))
        return re.sub(NUMBER, lambda match: new if share.random() < limit else match[0], content)
    if way == "lines":
        lines = content.split(b"\n")
        one, two = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[one : one + 1] = pick(((), (b"",), (lines[two],), (lines[one], lines[two])))
        return b"\n".join(lines)
    if way == "nest":
        (opening, closing), depth = pick(BRACKETS), pick((50, 2000, 100_000))
        return token(VALUE, opening * depth + b"1" + closing * depth)
    if way == "key":
        return token(KEY, pick([match[0] for match in re.finditer(KEY, content, re.M)] or [b"a ="]))
    if way in ("sign", "fill"):
        return content[:i] + (pick(SIGNS).encode() if way == "sign" else pick(FILLERS)) + content[i:]
    return content[:i] + draw(st.binary(max_size=40)) + content[i + pick((0, 16)) :]


def spoilt(kind: Kind) -> Any:
    """Inputs of a kind after one to three changes, or with other arrays."""
    import hypothesis.strategies as st
    from hypothesis import reject
    from hypothesis.extra import numpy as arrays

    def one(draw: Callable[..., Any]) -> Seed:
        seed = draw(st.sampled_from(kind.seeds()))
        content = seed.files[seed.spoilt]
        if kind.pack is not None and draw(st.booleans()):
            data = recording()
            name = draw(st.sampled_from(sorted(data)))
            if draw(st.booleans()):
                data[name].flat[draw(st.integers(0, 200))] = draw(st.floats())
            else:
                shape = arrays.array_shapes(min_dims=0, max_dims=3, max_side=20)
                data[name] = draw(arrays.arrays(arrays.scalar_dtypes(), shape))
            try:
                content = kind.pack(data)
            except (TypeError, ValueError, KeyError):
                reject()  # the format has no such array
        else:
            for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
                content = edited(draw, content, seed.is_text)
        return Seed({**seed.files, seed.spoilt: content}, seed.spoilt, seed.target)

    return st.composite(one)()


class Hang(BaseException):
    """An input that takes too long; no `Exception`, so that nothing in between catches it."""


def alarm(*_: Any) -> None:
    raise Hang


def attempt(kind: Kind, seed: Seed) -> str:
    """``read``, ``refused``, or what went wrong with one input."""
    with scratch() as place:
        folder = place / "one"
        folder.mkdir()
        for name, content in seed.files.items():
            (folder / name).write_bytes(content)
        verdict = _verdict(kind, folder / seed.target)
        if verdict not in ("read", "refused"):
            return verdict
        after = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    new = [name for name in after if name not in seed.files and not name.endswith(("-wal", "-shm", "-journal"))]
    if new:
        return f"leaves the file {new[0]} behind"
    if not (kind.changes and verdict == "read") and any(after.get(n) != content for n, content in seed.files.items()):
        return "changes the file that it refuses or reads"
    return verdict


def _verdict(kind: Kind, path: Path) -> str:
    faulthandler.dump_traceback_later(SILENCE, exit=True)  # compiled code cannot be interrupted
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", CasidWarning)
            numbers = [np.asarray(value) for value in kind.read(path)]
        finite = all(value.dtype.kind in "fiub" and np.isfinite(value).all() for value in numbers)
        return "read" if finite else "a result is not finite"
    except CasidError as error:
        message = str(error)
        if "more memory than there is" in message:
            return "takes more than 2 GB"
        good = message.strip() and message.isprintable() and len(message) <= LONGEST
        return "refused" if good else f"a message of {len(message)} characters, or of several lines"
    except Hang:
        return f"hangs: more than {SECONDS:g} s"
    except MemoryError:
        return "takes more than 2 GB"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


def tried(kind: Kind, count: int, seed: int) -> Counter[str]:
    """Verdicts on so many inputs and on the bombs, in this process, whose memory is limited from here on."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    kind.check_available()
    good, found = kind.seeds(), Counter[str]()
    bombs = [Seed({**good[0].files, good[0].spoilt: bomb()}, good[0].spoilt, good[0].target) for bomb in kind.bombs]
    attempt(kind, good[0])  # imports and caches do not count
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    signal.signal(signal.SIGPROF, alarm)
    found.update(attempt(kind, bomb) for bomb in bombs)
    limits = settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    seeded(seed)(limits(given(spoilt(kind))(lambda one: found.update([attempt(kind, one)]))))()
    return found


def fuzz(name: str, count: int = COUNT, seed: int = SEED) -> tuple[str, bool]:
    """A row: the inputs of a kind in a process of their own."""
    need("hypothesis", "test")
    next(kind for kind in KINDS if kind.name == name).check_available()
    words = (sys.executable, __file__, name, "--count", count, "--seed", seed, "--json")
    done = process(*words, may_fail=True, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if done.returncode:
        return f"the process dies ({done.returncode}): {done.stderr.strip()[-200:]}", False
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    read, refused = found.pop("read", 0), found.pop("refused", 0)
    text = f"{sum(found.values())} of {read + refused + sum(found.values())} fail; {read} read, {refused} refused"
    return "; ".join(
        [text, *(f"{times} x {verdict[:120]}" for verdict, times in found.items())]
    ), not found and refused > 0


for kind in KINDS:
    row(f"fuzz: {kind.name}, {COUNT} spoilt files",
        "0 fail: finite numbers or one line of error; no traceback, hang, 2 GB, half file", "-", kind.name,
        quick=(kind.name, FEW), left_out=f"{COUNT - FEW} of {COUNT} files")(fuzz)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=[kind.name for kind in KINDS])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = next(kind for kind in KINDS if kind.name == options.kind)
    verdicts = tried(chosen, options.count, options.seed)
    print(json.dumps(verdicts) if options.json else verdicts)
