"""Rows of the table: every reader against spoilt files.

By hand: ``python scripts/benchmarks/soundness/fuzz.py [KIND ...] [--count N] [--seed S]``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.measure import Measure, NotMeasured
from benchmarks.soundness.fuzz_list import KINDS

HERE = Path(__file__).resolve().parent
COUNT, SEED = 1350, 20190704
#: Inputs of ``--quick``.
FEW = 12
#: A worker that is silent for so long hangs where Python cannot interrupt it [s].
SILENCE = 60.0


@dataclass
class Outcome:
    """What became of the inputs of one kind.

    Attributes
    ----------
    ok, refused : int
        Read, and refused by a clear error.
    failures : dict of int to str
        Everything else, by the number of the input.
    """

    ok: int = 0
    refused: int = 0
    failures: dict[int, str] = field(default_factory=dict)


def fuzz(name: str, count: int = COUNT, seed: int = SEED) -> Outcome:
    """Read so many spoilt files of a kind, in processes of their own.

    Raises
    ------
    NotMeasured
        Without a package that the kind needs.
    """
    next(kind for kind in KINDS if kind.name == name).check_available()
    outcome, first = Outcome(), 0
    while first < count:
        first = _run(name, first, count, seed, outcome)
    return outcome


def _run(name: str, first: int, last: int, seed: int, outcome: Outcome) -> int:
    """One worker from the input ``first`` on; returns where the next one has to begin."""
    command = [sys.executable, str(HERE / "fuzz_worker.py"), name, str(first), str(last), str(seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    words: list[str] = []
    assert process.stdout is not None and process.stderr is not None
    stderr = process.stderr
    listener = threading.Thread(target=lambda: words.extend(stderr.readlines()[-3:]), daemon=True)
    listener.start()
    current, silent = first - 1, False

    def end() -> None:
        nonlocal silent
        silent = True
        process.kill()

    timer = threading.Timer(3 * SILENCE, end)
    timer.start()
    for line in process.stdout:
        timer.cancel()
        timer = threading.Timer(SILENCE, end)
        timer.start()
        number, verdict = json.loads(line)
        current = number
        if verdict == "ok":
            outcome.ok += 1
        elif verdict == "refused":
            outcome.refused += 1
        elif verdict != "begins":
            outcome.failures[number] = verdict
    timer.cancel()
    code = process.wait()
    listener.join(5)
    process.stdout.close()
    stderr.close()
    if code == 0:
        return last
    if current < first:
        raise RuntimeError(f"the worker for '{name}' did not begin: {''.join(words)}")
    outcome.failures.setdefault(current, "hangs in compiled code" if silent else f"the process dies ({code})")
    return current + 1


def _row(name: str, count: int = COUNT) -> Callable[[], tuple[str, bool]]:
    def run() -> tuple[str, bool]:
        outcome = fuzz(name, count)
        total = outcome.ok + outcome.refused + len(outcome.failures)
        text = f"{len(outcome.failures)} of {total} fail; {outcome.ok} read, {outcome.refused} refused"
        if outcome.failures:
            number, verdict = next(iter(outcome.failures.items()))
            text += f"; input {number}: {verdict[:120]}"
        return text, not outcome.failures and total == count

    return run


ROWS = tuple(
    Measure(
        f"fuzz: {kind.name}, {COUNT} spoilt files",
        "0 fail: finite numbers or one line of error; no traceback, hang, 2 GB, half file",
        "-",
        _row(kind.name),
        _row(kind.name, FEW),
        f"{COUNT - FEW} of {COUNT} files",
    )
    for kind in KINDS
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[kind.name for kind in KINDS])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()

    def one(name: str) -> tuple[str, Outcome | None]:
        try:
            return name, fuzz(name, options.count, options.seed)
        except NotMeasured as reason:
            print(f"{name}: not measured: {reason}")
            return name, None

    failed = False
    with ThreadPoolExecutor(2) as pool:
        for name, outcome in pool.map(one, options.kinds):
            if outcome is None:
                continue
            failed |= bool(outcome.failures)
            print(f"{name}: {outcome.ok} read, {outcome.refused} refused, {len(outcome.failures)} fail", flush=True)
            kinds = Counter(outcome.failures.values())
            for verdict, times in kinds.most_common(12):
                number = next(key for key, value in outcome.failures.items() if value == verdict)
                print(f"    {times} x (input {number}) {verdict}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
