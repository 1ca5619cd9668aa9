"""Claims that must not be false: proofs attacked, readers fuzzed, defects that must not come back."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from benchmarks.measure import ROOT, Rows, process, rows_of, skipped
from benchmarks.results import digest, measured

row = Rows()

#: Problems that the attack is made of, and seconds that it and one of them may take.
PROBLEMS, SECONDS, EACH = 4_000, 14_400, 600
#: The same of ``--quick``.
FEW = 24
#: Problems of a piece, and the files that the attack exercises: a piece counts while they are unchanged.
PIECE = 50
EXERCISED = ("casid/expressions/**/*.py", "casid/inertia/**/*.py", "casid/retrieval/**/*.py", "tests/attack/*.py")
_SECONDS_OF_TESTS = 3_600
#: Findings by row; all others are of the last one.
_BOUNDS = ("bound above a feasible value", "bound above own value", "part of a proof")
_SOLUTIONS = ("optimal but violated", "feasible but violated", "objective")
_ENDS = ("interval end passed",)


@functools.cache
def attacked(problems: int) -> dict[str, Any]:
    """The attack of `tests.attack`, on every core, in pieces."""
    pieces = [(first, min(PIECE, problems - first)) for first in range(0, problems, PIECE)]
    parts = {f"{count} seeds from {first}": functools.partial(_attack, first, count) for first, count in pieces}
    total: dict[str, Any] = {"findings": [], "wall": 0.0, "problems": 0, "late": 0}
    for piece in measured("attack", digest(*EXERCISED), parts, SECONDS, jobs=1).values():
        for name, value in piece.items():
            if name not in ("part", "slowest"):
                total[name] = total.get(name, type(value)()) + value
    return total


def _attack(first: int, problems: int) -> dict[str, Any]:
    """The attack on some problems, in a process of its own."""
    words = {"first": first, "problems": problems, "jobs": os.cpu_count() or 1, "seconds": SECONDS, "each": EACH}
    command = [sys.executable, "-m", "tests.attack.run", *(f"--{k}={v}" for k, v in words.items()), "--json"]
    began = time.perf_counter()
    result: dict[str, Any] = json.loads(process(*command, folder=ROOT).stdout)
    return result | {"wall": time.perf_counter() - began}


def found(problems: int, *claims: str) -> tuple[int, str]:
    """How many findings there are of these claims, and the first of them."""
    hits = [f for f in attacked(problems)["findings"] if f["claim"] in claims]
    return len(hits), "".join(f"\nseed {f['seed']} ({f['kind']}): {f['text']}"[:300] for f in hits[:3])


def judged(problems: int) -> bool:
    """Whether every problem was attacked to its end: none late, none left when the time was over."""
    tally = attacked(problems)
    return bool(tally["problems"] >= problems and tally["late"] == 0)


attack_row = functools.partial(row, quick=(FEW,), left_out=f"{PROBLEMS - FEW} of {PROBLEMS} problems")


@attack_row("lower bounds above a feasible value, 4,000 problems of 16 kinds", "0", "relative 1e-9")
def bounds(problems: int = PROBLEMS) -> tuple[str, bool]:
    tally = attacked(problems)
    count, first = found(problems, *_BOUNDS)
    text = f"{count} of {tally['bounds']} bounds of {tally['problems']} problems ({tally['points']} feasible points, "
    text += f"{tally['seconds']:.0f} s of processor, {tally['wall']:.0f} s){first}"
    return text, count == 0 and judged(problems)


@attack_row("'optimal' with a violation above 1e-8", "0", "independent re-check")
def statuses(problems: int = PROBLEMS) -> tuple[str, bool]:
    tally = attacked(problems)
    count, first = found(problems, *_SOLUTIONS)
    words = {"stopped": "stopped before an optimum", "late": f"not done in {EACH} s"}
    others = ", ".join(f"{tally[k]} {words.get(k, k)}" for k in ("stopped", "infeasible", "failed", "refused", "late"))
    text = f"{count} of {tally['optimal']} optimal, {tally['feasible']} feasible solutions; {others}"
    return text + first, count == 0 and judged(problems)


@attack_row("interval ends passed by a feasible point", "0", "relative 1e-9")
def ends(problems: int = PROBLEMS) -> tuple[str, bool]:
    count, first = found(problems, *_ENDS)
    return f"{count} of {attacked(problems)['ends']} attempts{first}", count == 0 and judged(problems)


@attack_row("other false statements, tracebacks", "0", "infeasible though not, throw=False")
def others(problems: int = PROBLEMS) -> tuple[str, bool]:
    claims = {f["claim"] for f in attacked(problems)["findings"]} - {*_BOUNDS, *_SOLUTIONS, *_ENDS}
    count, first = found(problems, *claims)
    kinds = Counter(f["claim"] for f in attacked(problems)["findings"] if f["claim"] in claims)
    return f"{count} {dict(kinds) if kinds else ''}{first}", count == 0 and judged(problems)


@row("defects on record, each by its own test", "all right", "pytest -m claim", quick=skipped)
def claims() -> tuple[str, bool]:
    command = [sys.executable, "-m", "pytest", "-m", "claim", "-rA", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS_OF_TESTS, check=False)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)", last)}
    files = set(re.findall(r"^[A-Z]+ (\S+\.py)::", done.stdout, re.M))
    text = f"{counts.get('passed', 0)} passed, {counts.get('failed', 0) + counts.get('error', 0)} failed"
    return f"{text}, in {len(files)} files", done.returncode == 0 and counts.get("passed", 0) > 0


MEASURES = [*row, *rows_of("soundness", "evaluators", "fuzz", "public_files", "coverage")]
