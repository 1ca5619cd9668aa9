"""Row of designed position commands."""

from __future__ import annotations

import numpy as np

from benchmarks.encoders.data import so101
from benchmarks.encoders.simulated import OPTIONS
from casid.excitation import MotionLimits
from casid.output_error import FreeRuns, design_commands, identify_from_commands
from casid.output_error._design import command_information, relative_deviations, units_of


def designed(iterations: int) -> tuple[str, bool]:
    """Worst relative interval of designed commands over that of the best recording of the SO-101, at 20 s each.

    The commands keep the range of all its recorded commands and the largest speeds that its encoders show.
    """
    bench = so101()
    runs = FreeRuns(bench.robot, bench.servo, bench.train, threads=1)
    theta = identify_from_commands(bench.robot, bench.train, bench.servo, OPTIONS).theta
    units, recorded = units_of(runs, theta), {}
    for data in (*bench.train, *bench.test):
        count = int(20.0 / data.period)
        if len(data) >= count:
            t, u = np.asarray(data.t[:count]), np.asarray(data.q_des[:count])
            F, _ = command_information(runs, theta, t - t[0], u)
            recorded[data.name] = float(relative_deviations(F, units).max())
    everything = [*bench.train, *bench.test]
    u = np.concatenate([np.asarray(data.q_des) for data in everything])
    speeds = [np.abs(np.gradient(np.asarray(data.q), np.asarray(data.t), axis=0)) for data in everything]
    fastest = np.quantile(np.concatenate(speeds), 0.999, axis=0)
    free = np.full((2, bench.robot.n), np.inf)
    names = tuple(joint.name for joint in bench.robot.coordinates)
    limits = MotionLimits(names, np.vstack([u.min(axis=0), -fastest, -free]), np.vstack([u.max(axis=0), fastest, free]))
    made = design_commands(runs, theta, limits, duration=20.0, iterations=iterations)
    best = min(recorded, key=lambda name: recorded[name])
    middle = float(np.median(list(recorded.values())))
    text = (f"{made.value / recorded[best]:.2f} x the best of {len(recorded)} recordings ({best}), "
            f"{made.value / middle:.2f} x the median: {100 * made.value:.2g} % ({made.worst}), "
            f"{100 * recorded[best]:.2g} %, {100 * middle:.2g} %; {made.evaluations} motions tried")  # fmt: skip
    return text, made.value <= 0.5 * recorded[best]
