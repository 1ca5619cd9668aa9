"""Run the attack at any size.

python -m tests.attack.run --problems 2000 --jobs 2
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from tests.attack.claims import Finding, Tally, attack_one
from tests.attack.problems import KINDS


def one(seed: int, kind: str | None = None, methods: Sequence[str] | None = None) -> Tally:
    """One attack; the attacker's own faults are findings too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attack_one(seed, kind, methods)
    except Exception as error:
        return Tally(problems=1, findings=[Finding(seed, str(kind), "attacker", f"{type(error).__name__}: {error}")])


def _child(pipe: Connection, each: float, *task: Any) -> None:
    limit = math.ceil(each)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))  # SIGXCPU ends the process
    pipe.send(one(*task))
    pipe.close()


def _ended(seed: int, kind: str | None, each: float, late: bool) -> Tally:
    """What a problem came to whose process ended without an answer."""
    if late:
        print(f"{seed} {kind or KINDS[seed % len(KINDS)]}: not done after {each:.0f} s of processor", file=sys.stderr)
        return Tally(problems=1, seconds=each, slowest=each, late=1)
    return Tally(problems=1, findings=[Finding(seed, str(kind), "crash", "the process died")])


def attack(
    seeds: Iterable[int],
    jobs: int = 0,
    seconds: float = float("inf"),
    kind: str | None = None,
    methods: Sequence[str] | None = None,
    each: float = 60.0,
) -> Tally:
    """Attack the problems of these seeds until the time is over.

    Parameters
    ----------
    jobs
        Processes at a time; every problem has one of its own, which ends after ``each`` seconds of processor: a busy
        machine makes no problem late. 0: none, all in this process.
    """
    began, whole, waiting = time.perf_counter(), Tally(), list(seeds)[::-1]
    if jobs == 0:
        while waiting and time.perf_counter() - began < seconds:
            whole.add(one(waiting.pop(), kind, methods))
        return whole
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[BaseProcess, int]] = {}
    while (waiting and time.perf_counter() - began < seconds) or running:
        while waiting and len(running) < jobs and time.perf_counter() - began < seconds:
            ours, theirs = context.Pipe(duplex=False)
            seed = waiting.pop()
            process = context.Process(target=_child, args=(theirs, each, seed, kind, methods))
            process.start()
            theirs.close()
            running[ours] = process, seed
        for pipe in wait(list(running), timeout=1.0):
            assert isinstance(pipe, Connection)
            process, seed = running.pop(pipe)
            try:
                whole.add(pipe.recv())
                process.join()
            except EOFError:
                process.join()
                whole.add(_ended(seed, kind, each, process.exitcode == -signal.SIGXCPU))
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--each", type=float, default=60.0, help="processor time of a problem [s]")
    parser.add_argument("--kind")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.problems)
    tally = attack(seeds, options.jobs, options.seconds, options.kind, options.methods, options.each)
    if options.json:
        json.dump(asdict(tally), sys.stdout)
        return 0
    for finding in tally.findings:
        print(f"{finding.seed:6d} {finding.kind:10s} {finding.claim}: {finding.text}")
    print({k: v for k, v in asdict(tally).items() if k != "findings"})
    print(dict(Counter(f.claim for f in tally.findings)))
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
