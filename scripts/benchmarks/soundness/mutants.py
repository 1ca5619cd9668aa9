"""Surviving mutants of rooms: rows of the table ``soundness``, measured by ``scripts/mutants.py``."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial

from benchmarks.measure import Measure, skipped
from benchmarks.soundness.structure import ROOT

#: Mutants of a room, share that may survive, and the rooms.
SAMPLE, SHARE = 400, 0.08
ROOMS = ("retrieval", "identification", "dynamics", "regression")


def survivors(room: str, sample: int = SAMPLE) -> tuple[str, bool]:
    """One room; each survivor is listed."""
    command = [sys.executable, str(ROOT / "scripts" / "mutants.py"), room, "--sample", str(sample)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    count = re.search(r"(\d+) of (\d+) survived", done.stdout)
    if count is None:
        raise RuntimeError(f"the mutants of {room} failed: {done.stderr.strip().splitlines()[-1:]}")
    alive, tried = int(count[1]), int(count[2])
    lines = [line for line in done.stdout.splitlines() if re.match(r" *\d+ (survived|not tried)", line)]
    return "\n".join([f"{alive} of {tried} tried", *lines]), tried >= 0.9 * sample and alive <= SHARE * tried


ROWS = [
    Measure(
        f"surviving mutants of {SAMPLE} in {room}", f"<= {SHARE:.0%}, each listed", "13 of 44 by hand",
        partial(survivors, room), skipped,
    )
    for room in ROOMS
]  # fmt: skip
