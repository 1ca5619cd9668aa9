"""The spatial 2R example: validation torques and joint wrenches with true, feasible and infeasible parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from casid.arrays import Array
from casid.description import Robot
from casid.dynamics import Model
from casid.inertia import from_standard, link_slice, pseudo_inertia, to_standard
from casid.motion import Samples
from casid.retrieval import Problem

#: Shapes of the links [m] (Gaz et al. 2019, supplement, Sec. V).
CYLINDER, SECOND, TIP, CONE = 0.15, 0.08, 0.02, 0.2


def validation_motion(samples: int = 1000) -> Samples:
    """``dq_i = A_i sin(2 pi t / T_i)`` (Gaz et al. 2019, eq. 31), not the motion of the identification."""
    t = np.linspace(0.0, 10.0, samples)
    amplitude, pulse = np.array([1.2, -1.7]), 2 * np.pi / np.array([3.1, 2.3])
    angle = pulse * t[:, None]
    q = amplitude / pulse * (1 - np.cos(angle))
    return Samples(t, q, amplitude * np.sin(angle), amplitude * pulse * np.cos(angle))


def torques(robot: Robot, parameters: Array, motion: Samples) -> Array:
    """Joint torques along the motion, shape (samples, n)."""
    return np.asarray(Model(robot).inverse_dynamics(motion.q, motion.dq, motion.ddq, parameters))


def wrenches(robot: Robot, parameters: Array, motion: Samples) -> Array:
    """Force [N] and moment [N.m] that each joint transmits, shape (n, samples, 6)."""
    function = Model(robot).joint_wrenches.map(len(motion.t))
    stacked = np.array(function(motion.q.T, motion.dq.T, motion.ddq.T, parameters))
    return np.stack([stacked[:, k :: robot.n].T for k in range(robot.n)])


def outside_shapes(parameters: Array) -> float:
    """How far the centres of mass lie outside their shapes [m], as the supplement measures it; 0 when inside."""
    (_, c1, _), (_, c2, _) = (from_standard(parameters[link_slice(k)]) for k in range(2))
    return outside(c1, c2)


def outside(c1: Array, c2: Array) -> float:
    """The same for given centres of mass, shape (3,) each."""
    inside1 = CYLINDER - float(np.hypot(c1[0], c1[2]))
    radius = SECOND if c2[0] < -CONE else SECOND + (TIP - SECOND) / CONE * (CONE + c2[0])
    inside2 = radius - float(np.hypot(c2[1], c2[2]))
    ends = min(c1[1] + 1.42, 0.08 - c1[1], c2[0] + 0.8, -c2[0])
    return -min(0.0, inside1, inside2, float(ends))


@dataclass(frozen=True, eq=False)
class Relaxed:
    """One retrieval without any physical constraint.

    Attributes
    ----------
    parameters : ndarray, shape (20,)
        Standard parameters.
    misfit : float
        ``|K x - beta| / |beta|``.
    eigenvalue : float
        Smallest of both links' pseudo-inertias; negative where they are no bodies.
    """

    parameters: Array
    misfit: float
    eigenvalue: float


def smallest_eigenvalue(x: Array) -> float:
    """Of both links' pseudo-inertias."""
    return min(float(np.linalg.eigvalsh(pseudo_inertia(x[link_slice(k)]))[0]) for k in range(2))


def relaxed_retrieval(problem: Problem, seed: int) -> Relaxed:
    """Algorithm 1's objective in its own unknowns ``(m, c, I)`` from a random start, every constraint left out.

    The start is uniform between the bounds of Table VII (1 m where a centre of mass has none); least squares (trust
    region) then goes wherever the coefficients are met.
    """
    forms, values = problem.objective.matrix, problem.objective.target

    def residual(p: Array) -> Array:
        return np.asarray(forms @ _standard(p) - values)

    found = least_squares(residual, _drawn(problem, seed), xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac")
    x = _standard(found.x)
    return Relaxed(x, float(np.linalg.norm(forms @ x - values) / np.linalg.norm(values)), smallest_eigenvalue(x))


def nearest(problem: Problem, start: Array) -> Array:
    """Standard parameters with the problem's coefficients that are nearest to given ones, bodies or not."""
    forms, values = problem.objective.matrix, problem.objective.target
    return np.asarray(start + np.linalg.pinv(forms) @ (values - forms @ start))


def random_start(problem: Problem, seed: int) -> Array:
    """That of `relaxed_retrieval`, as standard parameters."""
    return _standard(_drawn(problem, seed))


def _drawn(problem: Problem, seed: int) -> Array:
    low, high = (np.where(np.isfinite(b), b, sign) for b, sign in zip(box(problem), (-1.0, 1.0), strict=True))
    return np.asarray(np.random.default_rng([seed, 10]).uniform(low, high))


def force_ratios(robot: Robot, parameters: Array, truth: Array, motion: Samples) -> tuple[float, float]:
    """Largest force that each joint transmits, over the true one."""
    ours, true = (wrenches(robot, x, motion)[:, :, :3] for x in (parameters, truth))
    one, two = np.linalg.norm(ours, axis=2).max(axis=1) / np.linalg.norm(true, axis=2).max(axis=1)
    return float(one), float(two)


def reach(problem: Problem, truth: Array, motion: Samples, ratio: float) -> float:
    """Largest mass [kg] of the smallest parameters that explain the coefficients and give forces of this ratio.

    Forces are linear in the parameters; the coefficients leave a null space, and its direction of strongest force is
    followed until joint 1 transmits ``ratio`` times the true force.
    """
    forms, robot = problem.objective.matrix, problem.variables.robot
    null = np.linalg.svd(forms)[2][np.linalg.matrix_rank(forms) :]
    gains = [force_ratios(robot, direction, truth, motion)[0] for direction in null]
    best = int(np.argmax(gains))
    return float(np.abs(truth + ratio / gains[best] * null[best])[[9, 19]].max())


def box(problem: Problem) -> tuple[Array, Array]:
    """Bounds of ``m, c, I`` of all links, shapes (10 n,)."""
    bounds = [link.bounds for link in problem.variables.robot.links]
    rows = np.vstack([np.vstack([b.mass, b.com, b.inertia_com]) for b in bounds]).astype(float)
    return rows[:, 0], rows[:, 1]


def _standard(p: Array) -> Array:
    tensor = [[4, 5, 6], [5, 7, 8], [6, 8, 9]]
    return np.concatenate([to_standard(ten[0], ten[1:4], ten[tensor]) for ten in p.reshape(2, 10)])
