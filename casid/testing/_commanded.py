"""Synthetic recordings of commands and encoders with known servos."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.output_error import CommandRecording, FreeRuns, Servo

Array = NDArray[np.float64]


def commanded_motion(
    robot: Robot,
    servo: Servo,
    t: ArrayLike,
    q_des: ArrayLike,
    *,
    noise: float = 0.0,
    quantum: float = 0.0,
    gain: float = 1.0,
    step: float = 1e-3,
    seed: int = 0,
    name: str = "synthetic",
) -> CommandRecording:
    """What encoders show while a robot with known servos follows commands, from rest at the first command.

    Parameters
    ----------
    robot, servo
        All values of the servo known.
    t, q_des
        Times (N,) and commands (N, n).
    noise, quantum
        Standard deviation and step of the encoders [rad or m].
    gain
        Setting of the servos' gains.
    step
        Longest integration step [s]; shorter than that of an identification, so that its error counts.
    """
    u = np.asarray(q_des, dtype=float)
    data = CommandRecording(np.asarray(t, dtype=float), u, u, gain=gain, name=name)
    runs = FreeRuns(robot, servo, [data], step, np.inf, threads=1)
    point = runs.point(np.zeros(0))
    point.starts[0][robot.n :] = 0.0
    q = runs.simulate(point)[0]
    q = q + noise * np.random.default_rng(seed).standard_normal(q.shape)
    return CommandRecording(data.t, np.round(q / quantum) * quantum if quantum else q, u, gain=gain, name=name)


def broadband_commands(t: ArrayLike, middle: ArrayLike, width: ArrayLike, seed: int = 0, highest: float = 1.0) -> Array:
    """Sums of five sines up to ``highest`` Hz about a posture, shape (N, n), each joint within ``width`` of it."""
    rng, t = np.random.default_rng(seed), np.asarray(t, dtype=float)
    middle, width = np.broadcast_arrays(np.asarray(middle, dtype=float), np.asarray(width, dtype=float))
    waves = []
    for k in range(len(middle)):
        f, phase = highest * np.sort(rng.uniform(0.05, 1.0, 5)), rng.uniform(0, 2 * np.pi, 5)
        x = np.sin(2 * np.pi * np.outer(t, f) + phase).sum(axis=1)
        waves.append(middle[k] + width[k] * x / np.abs(x).max())
    return np.column_stack(waves)
