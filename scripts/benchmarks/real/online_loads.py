"""A load picked up during a motion that the robot was not fitted on, and false alarms in motion of other kinds.

The robot is fitted on three optimised motions of the UR10e (`FITTED_ON`); watched are a fourth one, spliced from its
recordings without and with a load of 2.805 kg, and ten minutes of all other recordings without a load.
"""

from __future__ import annotations

import copy
from functools import cache

import numpy as np

from benchmarks.learning.load import Splice, arrays, load_estimator, recordings, spliced, ur10e
from benchmarks.measure import Measure, data_folder
from benchmarks.real.regression import UR10E_ROWS
from casid.measurement import Dataset

FITTED_ON = ("30sec_12harm", "40sec_12harm", "20sec_8harm")
#: Splices of the watched motion; within how much of the mass at the end, after which time [s], in which share of them.
SPLICES, WITHIN, AFTER, SHARE = 20, 0.05, 2.0, 0.95
#: Longest time to the alarm [s].
DETECTED = 0.5


@cache
def _fitted_on() -> tuple[Dataset, ...]:
    folder = data_folder() / "ur10e" / "identification_data"
    return tuple(ur10e(next(folder.glob(f"*{name}.npz")), UR10E_ROWS[name]) for name in FITTED_ON)


def other_motion() -> list[Dataset]:
    """All recordings without a load that the robot was not fitted on, standstill included."""
    folder, names = data_folder() / "ur10e", (*FITTED_ON, "Load", "push")
    paths = sorted(p for p in folder.glob("*/ur-*.npz") if not any(name in p.stem for name in names))
    return [ur10e(path, None) for path in paths]


def picked_up(splices: int = SPLICES) -> tuple[str, bool]:
    """Splices of a motion that the robot was not fitted on."""
    online, both = load_estimator(_fitted_on()), recordings()
    count = min(map(len, both))
    before, after = ([a[:count] for a in arrays(data)] for data in both)
    t = np.arange(count) * 0.01
    runs: list[Splice] = []
    done = 0
    for at in np.linspace(0.2, 0.7, splices) * count:
        part = slice(done, int(at))
        online.update(before[0][part], before[1][part], before[2][part], before[3][part], t[part])
        done = int(at)
        runs.append(spliced(copy.deepcopy(online), after, t, done, online.estimate().mass))
    late, settled = np.array([r.delay for r in runs]), np.array([r.settled for r in runs])
    held, share = np.mean([r.held for r in runs], axis=0), float((settled <= AFTER).mean())
    false = sum(r.others for r in runs)
    text = (
        f"{splices} splices: detected after {np.median(late):.2f} s (worst {late.max():.2f}); within {WITHIN:.0%} of "
        f"the mass at the end ({np.mean([r.step for r in runs]):.2f} kg more) for good after {np.median(settled):.1f} "
        f"s (median; worst {settled.max():.1f}), {share:.0%} within {AFTER:g} s; other alarms {false}; interval holds "
        f"the mass at the end in {held.mean():.0%}"
    )
    return text, bool(late.max() <= DETECTED and share >= SHARE and not false)


def false_alarms() -> tuple[str, bool]:
    """Other motion, recording after recording, each with an estimator of its own."""
    seconds, alarms = 0.0, []
    for data in other_motion():
        online = load_estimator(_fitted_on())
        t = data.t - data.t[0]
        online.update(*arrays(data), t)
        seconds += float(t[-1])
        alarms += [f"{data.name} at {change:.1f} s" for change in online.changes]
    text = f"{len(alarms)} alarms in {seconds / 60:.1f} min of {len(other_motion())} recordings"
    return f"{text}{': ' if alarms else ''}{', '.join(alarms)}", not alarms


ONLINE_LOAD_ROWS = (
    Measure(
        "load picked up in a motion the robot was not fitted on, UR10e",
        f"detection <= {DETECTED:g} s, {SHARE:.0%} of splices within 5 % after 2 s, no other alarm",
        "worst 31.6 s, two false alarms", picked_up, lambda: picked_up(4), "16 of 20 splices",
    ),
    Measure("10 min of other motion without a load, UR10e", "0 alarms", "two", false_alarms),
)  # fmt: skip
