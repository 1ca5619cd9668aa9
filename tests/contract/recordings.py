"""Robots and recordings of the contract: measured ones of the data folder, simulated ones with known seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.measure import data_folder
from benchmarks.recordings import RAW, kinova_raw

import casid
from casid.description import Inertial, Robot
from casid.testing import blind, random_robot

Array = np.ndarray
Case = tuple[Robot, casid.Dataset]
LINEAR = ("viscous", "coulomb", "offset", "rotor")


def data(*parts: str) -> Path:
    """A file of the data folder."""
    return data_folder().joinpath(*parts)


# ---------------------------------------------------------------------- simulated


@dataclass(frozen=True)
class Faults:
    """What a recording has beside its robot with linear friction and white noise.

    Attributes
    ----------
    stribeck, spring : float
        Additional friction at rest, and a counterbalance ``spring * sin(q)`` at the second joint, as shares of that
        joint's root mean square torque.
    reversed_joint : int or None
        Joint whose torque has the wrong sign.
    delay : float
        Of the torques [s].
    clipped : float
        Share of the largest torque beyond which torques saturate.
    gaps, spikes : int
        Intervals of lost samples; single torques that are wrong.
    mounted : tuple of 3 floats, optional
        Gravity of the recording [m/s^2].
    """

    stribeck: float = 0.0
    spring: float = 0.0
    reversed_joint: int | None = None
    delay: float = 0.0
    clipped: float = 1.0
    gaps: int = 0
    spikes: int = 0
    mounted: tuple[float, float, float] | None = None


def embodied(robot: Robot, seed: int) -> Robot:
    """Random bodies of 1 to 4 kg, lighter along the tree."""
    rng = np.random.default_rng(seed)
    joints = []
    for k, joint in enumerate(robot.joints):
        mass = float(rng.uniform(1.0, 4.0)) / (1 + 0.5 * k)
        moments = mass * rng.uniform(0.05, 0.1, 3) ** 2
        body = Inertial(mass, rng.uniform(-0.1, 0.1, 3), np.diag(moments + moments.max()))
        joints.append(replace(joint, link=replace(joint.link, inertial=body)))
    return replace(robot, joints=tuple(joints))


def motion(robot: Robot, seed: int, t: Array) -> tuple[Array, Array, Array]:
    """Four sinusoids a joint within its limits, at most 1.5 rad/s (or m/s)."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(robot.limits.lower, -1.5), np.minimum(robot.limits.upper, 1.5)
    w = 2 * np.pi * rng.uniform(0.1, 0.9, (4, robot.n))
    phase, size = rng.uniform(0, 2 * np.pi, (4, robot.n)), rng.uniform(0.3, 1.0, (4, robot.n)) / w
    angle = w[:, None] * t[:, None] + phase[:, None]
    q, dq = (size[:, None] * np.sin(angle)).sum(0), (size[:, None] * w[:, None] * np.cos(angle)).sum(0)
    ddq = -(size[:, None] * w[:, None] ** 2 * np.sin(angle)).sum(0)
    factor = np.minimum(0.9 * (high - low) / np.ptp(q, axis=0), 1.5 / np.abs(dq).max(axis=0))
    middle = (low + high) / 2 - factor * (q.max(axis=0) + q.min(axis=0)) / 2
    return middle + factor * q, factor * dq, factor * ddq


def simulated(
    robot: Robot, seed: int, duration: float = 8.0, faults: Faults | None = None, friction_of: Robot | None = None
) -> casid.Dataset:
    """A recording of 200 Hz: encoders of 17 bits, torques with 1 % of noise.

    ``friction_of``: the robot that friction and rotors are scaled by, if another one.
    """
    what = faults or Faults()
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 0.005)
    q, dq, ddq = motion(robot, seed, t)
    actual = robot if what.mounted is None else replace(robot, gravity=np.array(what.mounted))
    model = casid.Model(actual, LINEAR)
    scaled_by = (friction_of or robot).standard_parameters()

    def torques(standard: Array, terms: Array) -> Array:
        values = model.parameters(standard, terms.ravel())
        return np.array(model.inverse_dynamics.map(len(t))(q.T, dq.T, ddq.T, values)).T

    load = torques(scaled_by, np.zeros((robot.n, 4)))
    size = np.sqrt((load**2).mean(axis=0)) + 0.05 * np.sqrt((load**2).mean(axis=0).max())
    shares = np.column_stack([rng.uniform(*ends, robot.n) for ends in ((0.03, 0.08), (0.04, 0.1), (-0.02, 0.02))])
    moved = np.diag(np.array(model.mass_matrix(q[0], model.parameters(scaled_by, np.zeros(4 * robot.n)))))
    tau = torques(
        robot.standard_parameters(), np.column_stack([shares * size[:, None], rng.uniform(0.1, 0.5, robot.n) * moved])
    )
    tau += what.stribeck * size * np.exp(-((dq / 0.15) ** 2)) * np.sign(dq)
    tau[:, 1] -= what.spring * size[1] * np.sin(q[:, 1])
    tau = np.column_stack([np.interp(t - what.delay, t, column) for column in tau.T])
    tau += 0.01 * size * rng.normal(size=tau.shape)
    most = what.clipped * np.abs(tau).max(axis=0)
    tau = np.clip(tau, -most, most)
    tau[rng.integers(0, len(t), what.spikes), rng.integers(0, robot.n, what.spikes)] += 30 * size.max()
    if what.reversed_joint is not None:
        tau[:, what.reversed_joint] *= -1
    kept = np.ones(len(t), dtype=bool)
    for start in rng.integers(100, len(t) - 100, what.gaps):
        kept[start : start + 30] = False
    step = 2 * np.pi / 2**17
    return casid.Dataset(t[kept], (np.round(q / step) * step)[kept], tau[kept], name="simulated")


def _made(robot: Robot, seed: int, known: bool = False, **faults: object) -> Case:
    return (robot if known else blind(robot)), simulated(robot, seed, faults=Faults(**faults))  # type: ignore[arg-type]


def _arm(seed: int, **faults: object) -> Case:
    return _made(embodied(casid.load_robot("three_link"), seed), seed, **faults)


#: Fourteen simulated robots, small ones first.
SIMULATED: dict[str, Callable[[], Case]] = {
    "spatial_2r": lambda: _made(embodied(casid.load_robot("spatial_2r"), 1), 1),
    "three_link": lambda: _arm(2),
    "three_link_stribeck": lambda: _arm(3, stribeck=0.3),
    "three_link_spring": lambda: _arm(4, spring=0.8),
    "three_link_reversed": lambda: _arm(5, reversed_joint=1),
    "three_link_delayed": lambda: _arm(6, delay=0.02),
    "three_link_defects": lambda: _arm(7, clipped=0.7, gaps=3, spikes=8),
    "random_tree": lambda: _made(embodied(random_robot(4, 4), 8), 8),
    "stanford": lambda: _made(embodied(casid.load_robot("stanford"), 9), 9),
    "puma560": lambda: _made(casid.load_robot("puma560_armstrong"), 10, known=True),
    "tx40": lambda: _made(embodied(casid.load_robot("tx40"), 11), 11),
    "ur10e": lambda: _made(casid.load_robot("ur10e"), 12, known=True),
    "kuka_iiwa": lambda: _made(casid.load_robot("kuka_iiwa"), 13, mounted=(9.80665, 0.0, 0.0)),
    "panda": lambda: _made(casid.load_robot("panda"), 14, known=True),
}
#: Measured recordings; the Kinova's robot is the one that the package holds.
MEASURED: dict[str, Callable[[], Case]] = {name.lower(): read for name, read in RAW.items()} | {
    "kinova": lambda: (blind(casid.load_robot("kinova_gen3_currents")), kinova_raw()),
}
