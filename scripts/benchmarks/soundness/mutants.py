"""Surviving mutants of rooms: rows of the table ``soundness``, measured by ``scripts/mutants.py``."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from mutation import SHARE

from benchmarks.measure import Measure, skipped

#: Mutants of a room, and the rooms.
SAMPLE = 400
ROOMS = ("retrieval", "identification", "dynamics", "regression")


def survivors(room: str, sample: int = SAMPLE) -> tuple[str, bool]:
    """One room; each survivor is listed. Mutants that were tried in the present state are not tried again."""
    from mutation.room import Room  # imported late: it needs pytest

    script = Path(__file__).resolve().parents[2] / "mutants.py"
    subprocess.run([sys.executable, str(script), room, "--sample", str(sample)], stdout=subprocess.DEVNULL, check=False)
    return Room(room, sample).report()


ROWS = [
    Measure(
        f"surviving mutants of {SAMPLE} in {room}", f"<= {SHARE:.0%}, each listed", "13 of 44 by hand",
        partial(survivors, room), skipped,
    )
    for room in ROOMS
]  # fmt: skip
