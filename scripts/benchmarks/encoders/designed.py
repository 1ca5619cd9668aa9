"""Row of designed position commands."""

from __future__ import annotations

import numpy as np

from benchmarks.encoders.data import so101
from benchmarks.encoders.simulated import OPTIONS
from casid.arrays import Array
from casid.drives import CommandRecording, FreeRuns, design_commands, identify_from_commands
from casid.drives._design import command_information, relative_deviations, units_of
from casid.excitation import MotionLimits


def _speeds(data: CommandRecording, signal: str) -> Array:
    """Absolute rates of commands or encoders [rad/s]."""
    return np.asarray(np.abs(np.diff(getattr(data, signal), axis=0)) / np.diff(data.t)[:, None])


def designed(iterations: int) -> tuple[str, bool]:
    """Worst relative interval of designed commands over that of the best recording of the SO-101, at 20 s each.

    The commands keep the range and the largest rates of all its recorded commands, of which some jump; the simulated
    joints keep that range and the encoders' largest speeds.
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
    free, names = np.full((2, bench.robot.n), np.inf), tuple(joint.name for joint in bench.robot.coordinates)
    limits, commands = (
        MotionLimits(names, np.vstack([u.min(axis=0), -top, -free]), np.vstack([u.max(axis=0), top, free]))
        for top in (np.concatenate([_speeds(data, signal) for data in everything]).max(axis=0)
                    for signal in ("q", "q_des"))
    )  # fmt: skip
    made = design_commands(runs, theta, limits, commands, duration=20.0, iterations=iterations)
    t = np.arange(0.0, 20.0, runs.period)
    q = command_information(runs, theta, t, made.trajectory.derivative(t, 0))[1]
    speed = float((np.abs(np.gradient(q, t, axis=0)).max(axis=0) / limits.upper[1]).max())
    best = min(recorded, key=lambda name: recorded[name])
    middle = float(np.median(list(recorded.values())))
    text = (f"{made.value / recorded[best]:.2f} x the best of {len(recorded)} recordings ({best}), "
            f"{made.value / middle:.2f} x the median: {100 * made.value:.2g} % ({made.worst}), "
            f"{100 * recorded[best]:.2g} %, {100 * middle:.2g} %; {made.evaluations} motions tried; joints at most "
        f"{speed:.2f} x as fast as recorded")  # fmt: skip
    return text, made.value <= 0.5 * recorded[best]
