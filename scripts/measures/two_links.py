"""The spatial 2R example: validation torques and joint wrenches with true, feasible and infeasible parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.dynamics import Model
from casid.inertia import from_standard, link_slice

Array = NDArray[np.float64]
#: Shapes of the links [m] (Gaz et al. 2019, supplement, Sec. V).
CYLINDER, SECOND, TIP, CONE = 0.15, 0.08, 0.02, 0.2


@dataclass(frozen=True, eq=False)
class Motion:
    """Sinusoidal joint velocities; arrays of shape (samples, 2)."""

    time: Array
    q: Array
    dq: Array
    ddq: Array


def validation_motion(samples: int = 1000, duration: float = 10.0) -> Motion:
    """``dq_i = A_i sin(2 pi t / T_i)`` (Gaz et al. 2019, eq. 31), not the motion of the identification."""
    t = np.linspace(0.0, duration, samples)
    amplitude, pulse = np.array([1.2, -1.7]), 2 * np.pi / np.array([3.1, 2.3])
    angle = pulse * t[:, None]
    return Motion(
        t, amplitude / pulse * (1 - np.cos(angle)), amplitude * np.sin(angle), amplitude * pulse * np.cos(angle)
    )


def torques(robot: Robot, parameters: Array, motion: Motion) -> Array:
    """Joint torques along the motion, shape (samples, n)."""
    function = Model(robot).inverse_dynamics.map(len(motion.time))
    stacked: Array = np.array(function(motion.q.T, motion.dq.T, motion.ddq.T, parameters))
    return np.asarray(stacked.T)


def wrenches(robot: Robot, parameters: Array, motion: Motion) -> Array:
    """Force [N] and moment [N.m] that each joint transmits, shape (n, samples, 6)."""
    function = Model(robot).joint_wrenches.map(len(motion.time))
    stacked = np.array(function(motion.q.T, motion.dq.T, motion.ddq.T, parameters))
    return np.stack([stacked[:, k :: robot.n].T for k in range(robot.n)])


def outside_shapes(parameters: Array) -> float:
    """How far the centres of mass lie outside their shapes [m], as the supplement measures it; 0 when inside."""
    (_, c1, _), (_, c2, _) = (from_standard(parameters[link_slice(k)]) for k in range(2))
    inside1 = CYLINDER - float(np.hypot(c1[0], c1[2]))
    radius = SECOND if c2[0] < -CONE else SECOND + (TIP - SECOND) / CONE * (CONE + c2[0])
    inside2 = radius - float(np.hypot(c2[1], c2[2]))
    ends = min(c1[1] + 1.42, 0.08 - c1[1], c2[0] + 0.8, -c2[0])
    return -min(0.0, inside1, inside2, float(ends))


def infeasible_parameters(forms: Array, values: Array, size: float, seed: int = 0) -> Array:
    """A parameter set that explains the base parameters exactly and means nothing: retrieval without any constraint.

    Among all solutions of ``K p = values``, the one nearest to a random start of the given size.
    """
    start: Array = size * np.random.default_rng(seed).uniform(-1.0, 1.0, (forms.shape[1],))
    for _ in range(3):  # iterative refinement: the start is large, the torques must still be right
        start = start + np.linalg.pinv(forms) @ (values - forms @ start)
    return np.asarray(start)
