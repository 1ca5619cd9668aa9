"""The smooth criterion of a motion with its gradient, and random motions to begin from that keep every limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casid.arrays import ALIKE, ROUNDING, Array
from casid.errors import ProblemError
from casid.excitation.information._criteria import RANK_TOLERANCE, Criterion
from casid.excitation.information._observation import Observation
from casid.excitation.limits._constraints import StateConstraint
from casid.excitation.limits._motion_limits import MotionLimits, Rows
from casid.motion import Basis, Motion


@dataclass(frozen=True)
class Stage:
    """One solve of a sequence that drives the smooth problem to the exact one.

    Attributes
    ----------
    width : float
        Width over which signs are smoothed, relative to the start's root-mean-square velocity.
    sharpness : float
        Power of the p-norms that stand for largest and smallest values.
    iterations : int
    share : float
        Part of a start's iterations that it may take, relative to those of the other stages.
    """

    width: float
    sharpness: float
    iterations: int
    share: float = 1.0


class Objective:
    """Smooth criterion of a motion and its gradient in the coefficients.

    Parameters
    ----------
    count : int
        Samples of the observation matrix.
    prior : ndarray, shape (r, r), optional
        Information that is there already.
    """

    def __init__(
        self, observation: Observation, basis: Basis, criterion: Criterion, count: int, prior: Array | None = None
    ) -> None:
        self.observation, self.criterion, self.prior = observation, criterion, prior
        self.matrices = basis.matrices(basis.samples(count))

    def motion(self, coefficients: Array) -> Motion:
        """Joint states at the samples."""
        return Motion.of_coefficients(coefficients, self.matrices)

    def exact(self, coefficients: Array) -> float:
        """Exact criterion, signs included."""
        F = self.observation.information(self.motion(coefficients))
        return self.criterion.value(F if self.prior is None else F + self.prior)

    def smooth(self, coefficients: Array, width: float, sharpness: float) -> tuple[float, Array]:
        """Smooth objective and its gradient (n, size): adjoint of the criterion, of W, of the motion."""
        motion = self.motion(coefficients)
        Y = self.observation.smooth_matrix(motion, width)
        m, r, count = Y.shape
        W = np.ascontiguousarray(Y.transpose(0, 2, 1)).reshape(m * count, r)
        F = W.T @ W
        f, G = self.criterion.objective(F if self.prior is None else F + self.prior, sharpness)
        seed = (2.0 * W @ G).reshape(m, count, r).transpose(0, 2, 1)
        back = self.observation.pull_back(motion, seed, width)
        return f, np.asarray(sum(g @ B for g, B in zip(back, self.matrices, strict=True)))


#: Poses tried when the middle of the joint limits violates a constraint: a set that holds one pose in 700 is found with
#: 95 %.
STANDING_POSES = 2000


def pinned(basis: Basis, joints: int, pose: Array | None, rest: bool) -> tuple[Rows | None, Array]:
    """Equality rows for a given first and last pose and rest at the first instant; projector on motions with both.

    Returns
    -------
    rows : Rows or None
    projector : ndarray, shape (size, size)
        Maps coefficients of one joint to those with zero first and last position (if a pose is given) and, at rest,
        zero first velocity and acceleration.
    """
    first, last = basis.span
    ends = [(first, order) for order in (([0] if pose is not None else []) + ([1, 2] if rest else []))]
    ends += [(last, 0)] if pose is not None and not basis.static else []
    unit, held = np.zeros((0, basis.size)), []
    for instant, order in ends:
        row = basis.matrix([instant], order)[0]
        size = float(np.linalg.norm(row))
        left = row - row @ np.linalg.pinv(unit) @ unit
        least = ALIKE * max(size, 1e-3)
        if np.linalg.norm(left) > least:  # else what every motion with the rows before has anyway
            unit = np.vstack([unit, row / size])
            held.append((size, order))
    if not held:
        return None, np.eye(basis.size)
    targets = np.zeros((joints, len(held)))
    for k, (size, order) in enumerate(held):
        if pose is not None and order == 0:
            targets[:, k] = pose / size
    each = np.repeat(np.arange(joints), len(held))
    rows = Rows(each, np.tile(unit, (joints, 1)), targets.ravel(), targets.ravel())
    return rows, np.eye(basis.size) - np.linalg.pinv(unit) @ unit


def standing_pose(
    limits: MotionLimits, constraints: Sequence[StateConstraint], rng: np.random.Generator, pose: Array | None
) -> Array:
    """Return a pose about which to move, shape (n,): the one given, the middle of the limits, or a random one.

    Raises
    ------
    ProblemError
        If the given pose violates a constraint, or no pose of many keeps all of them; the message names the constraint.
    """
    if pose is not None:
        for constraint in constraints:
            label, _, slack = constraint.worst(Motion.at_rest(pose))
            if slack < 0:
                raise ProblemError(f"home pose: '{label}' ({constraint.name}) is violated by {-slack:.3g}")
        return pose
    centre = limits.centre()
    if all(constraint.worst(Motion.at_rest(centre))[2] > 0 for constraint in constraints):
        return centre
    lower = np.where(np.isfinite(limits.lower[0]), limits.lower[0], centre - np.pi)
    upper = np.where(np.isfinite(limits.upper[0]), limits.upper[0], centre + np.pi)
    poses = lower[:, None] + (upper - lower)[:, None] * rng.random((limits.n, STANDING_POSES))
    slacks = [constraint.slack(Motion.at_rest(poses.T)) / constraint.unit[:, None] for constraint in constraints]
    least = np.min([slack.min(axis=0) for slack in slacks], axis=0)
    if least.max() <= 0:
        broken = [
            (float((slack <= 0).mean(axis=1).max()), constraint.labels[int((slack <= 0).mean(axis=1).argmax())])
            for slack, constraint in zip(slacks, constraints, strict=True)
        ]
        share, label = max(broken)
        raise ProblemError(
            f"no pose inside the joint limits keeps all constraints ({STANDING_POSES} random ones tried); most often "
            f"violated: '{label}', in {100 * share:.0f} % of them"
        )
    return np.asarray(poses[:, int(np.argmax(least))])


def largest_swing(rows: Rows, middle: Array, swing: Array) -> Array:
    """Largest factor on each joint's swing that keeps its rows, shape (n,)."""
    at, step = rows.values(middle), rows.values(swing)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, (rows.upper - at) / step, np.where(step < 0, (rows.lower - at) / step, np.inf))
    room[np.abs(step) < ROUNDING] = np.inf
    factor = np.full(len(middle), np.inf)
    np.minimum.at(factor, rows.joint, room)
    return np.asarray(np.where(np.isfinite(factor), np.maximum(factor, 0.0), 1.0))


def explain_singular(observation: Observation, W: Array, prior: Array | None) -> None:
    """ProblemError where an observation matrix, with the prior information, lacks rank; it names weak parameters."""
    F = W.T @ W + (0.0 if prior is None else prior)
    size = np.sqrt(np.maximum(np.diagonal(F), 1e-300))
    values, vectors = np.linalg.eigh(F / np.outer(size, size))
    rank = int((values > RANK_TOLERANCE * values[-1]).sum())
    if rank == len(values):
        return
    missing = np.argsort(-(vectors[:, : len(values) - rank] ** 2).sum(axis=1))[:6]
    raise ProblemError(
        f"design: random motions excite only {rank} of {len(values)} parameters (weak: "
        f"{', '.join(observation.names[k] for k in missing)}, ...); use more harmonics, control points or "
        "samples, or an observation with identifiable parameters only"
    )
