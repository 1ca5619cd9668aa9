"""Joint limits as linear rows in the coefficients, and their certification in continuous time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Limits, Robot
from casid.errors import ProblemError
from casid.motion import Basis, Trajectory

#: Names of the limited quantities; the index is the order of the derivative.
QUANTITIES = ("position", "velocity", "acceleration", "jerk")


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Bounds ``lower[d] <= d^d q / dt^d <= upper[d]`` for d = 0 (position) ... 3 (jerk).

    Attributes
    ----------
    joints : tuple of str
        Names of the joints, for messages.
    lower, upper : ndarray, shape (4, n)
        Infinite where free. SI units.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array

    @classmethod
    def of_robot(cls, robot: Robot, share: float = 1.0, limits: Limits | None = None) -> MotionLimits:
        """Limits of a robot, or others given for it.

        Parameters
        ----------
        share
            Part of the velocity, acceleration and jerk limits to use, in (0, 1].
        limits
            In place of the robot's.

        Raises
        ------
        ProblemError
            If a joint has neither velocity nor acceleration limit, a prismatic joint no position limits, or limits that
            no motion keeps; the message names the joint.
        """
        if not 0 < share <= 1:
            raise ProblemError(f"share of the limits: expected a number in (0, 1], got {share}")
        given = robot.limits if limits is None else limits
        top = share * np.array([given.velocity, given.acceleration, given.jerk], dtype=float)
        if top.shape[1] != robot.n:
            raise ProblemError(f"limits of {top.shape[1]} joints for the {robot.n} joints of robot '{robot.name}'")
        free = [joint.name for k, joint in enumerate(robot.coordinates) if not np.isfinite(top[:2, k]).any()]
        if free:
            raise ProblemError(
                f"robot '{robot.name}': no velocity or acceleration limit for {', '.join(free)}; an optimal motion "
                "would be infinitely fast. Add limits to the description or pass limits"
            )
        return cls._of(robot, given.lower, given.upper, top)

    @classmethod
    def of_positions(cls, robot: Robot) -> MotionLimits:
        """Position limits alone, for static poses; revolute joints without limits get one turn, others at most two."""
        lower, upper = np.array(robot.limits.lower), np.array(robot.limits.upper)
        for k, joint in enumerate(robot.coordinates):
            if joint.type == "revolute":
                if not np.isfinite([lower[k], upper[k]]).any():
                    lower[k], upper[k] = -np.pi, np.pi
                lower[k], upper[k] = max(lower[k], upper[k] - 4 * np.pi), min(upper[k], lower[k] + 4 * np.pi)
        return cls._of(robot, lower, upper, np.full((3, robot.n), np.inf))

    @classmethod
    def _of(cls, robot: Robot, lower: Array, upper: Array, top: Array) -> MotionLimits:
        """Limits of positions, shape (n,), and of their derivatives, shape (3, n), that motions can keep."""
        for k, joint in enumerate(robot.coordinates):
            if joint.type == "prismatic" and not np.isfinite([lower[k], upper[k]]).all():
                raise ProblemError(f"robot '{robot.name}': prismatic joint '{joint.name}' needs both position limits")
        names = tuple(joint.name for joint in robot.coordinates)
        low, high = np.vstack([lower, -top]), np.vstack([upper, top])
        for k, name in enumerate(names):
            for order, what in enumerate(QUANTITIES):
                if not low[order, k] < high[order, k]:
                    ends = f"[{low[order, k]:g}, {high[order, k]:g}]"
                    raise ProblemError(f"joint '{name}': its {what} limits {ends} exclude every motion")
        return cls(names, low, high)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def implied(self, joint: int, order: int, rate: float) -> bool:
        """Do the limits of lower derivatives imply those of this one, if a derivative is at most ``rate`` times larger?

        ``|p'| <= rate max|p - c|`` holds for any constant c, so position limits count with half their range.
        """
        if order == 0 or not np.isfinite(rate):
            return False
        largest = 0.5 * (self.upper[0, joint] - self.lower[0, joint])
        for lower in range(1, order):
            symmetric = min(self.upper[lower, joint], -self.lower[lower, joint])
            largest = min(rate * largest, symmetric)
        return bool(rate * largest <= min(self.upper[order, joint], -self.lower[order, joint]))

    def centre(self) -> Array:
        """Middle of the position limits, shape (n,) [rad or m]; where one is free, the position nearest to 0."""
        both = np.isfinite(self.lower[0]) & np.isfinite(self.upper[0])
        middle = np.where(both, 0.5 * (np.where(both, self.lower[0], 0) + np.where(both, self.upper[0], 0)), 0.0)
        return np.clip(middle, self.lower[0], self.upper[0])

    def check_pose(self, pose: ArrayLike, what: str) -> Array:
        """Return a pose inside the position limits, shape (n,); ProblemError naming the joint that is outside."""
        q = np.array(pose, dtype=float)
        if q.shape != (self.n,):
            raise ProblemError(f"{what}: expected {self.n} joint positions, got shape {q.shape}")
        if not np.isfinite(q).all():
            raise ProblemError(f"{what}: joint '{self.joints[int(np.argmin(np.isfinite(q)))]}' is not a finite number")
        outside = np.flatnonzero((q < self.lower[0]) | (q > self.upper[0]))
        if len(outside):
            k = outside[0]
            raise ProblemError(
                f"{what}: joint '{self.joints[k]}' at {q[k]:g} is outside its position limits "
                f"[{self.lower[0, k]:g}, {self.upper[0, k]:g}]"
            )
        return q


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear rows ``lower <= A x <= upper`` on the coefficients of all joints, joint after joint; scaled to size 1.

    Row i: joint ``joint[i]``, coefficients ``block[i]`` (size).
    """

    joint: np.ndarray
    block: Array
    lower: Array
    upper: Array

    def values(self, coefficients: Array) -> Array:
        """``A x`` for coefficients (n, size), shape (rows,)."""
        return np.asarray(np.einsum("ij,ij->i", self.block, coefficients[self.joint]))

    def violation(self, coefficients: Array) -> float:
        """Largest violation, in units of the limits."""
        value = self.values(coefficients)
        return float(np.maximum(self.lower - value, value - self.upper).max(initial=0.0))

    @staticmethod
    def stack(parts: list[Rows]) -> Rows:
        """All rows of several sets."""
        arrays = zip(*((part.joint, part.block, part.lower, part.upper) for part in parts), strict=True)
        return Rows(*map(np.concatenate, arrays))


def limit_rows(basis: Basis, limits: MotionLimits, density: int, backoff: float = 1e-6) -> Rows:
    """Rows that keep a motion in its limits.

    Parameters
    ----------
    density
        Samples of the part between the ramps; bounds are tightened as `LimitSamples` says, so that those of a Fourier
        series hold at every instant. Ramps get a quarter as many samples each.
    backoff
        Further tightening, relative, that leaves room for the solver's tolerance.

    Raises
    ------
    ProblemError
        Without any limit.
    """
    inner = 1.0 - backoff
    orders = 1 if basis.static else len(QUANTITIES)
    parts = []
    for t, tightening, rate in basis.limit_samples(density):
        for order in range(orders):
            matrix = basis.matrix(t, order)
            for k in range(limits.n):
                lower, upper = limits.lower[order, k], limits.upper[order, k]
                if (np.isfinite(lower) or np.isfinite(upper)) and not limits.implied(k, order, rate):
                    parts.append(_rows(k, matrix, lower, upper, tightening * inner))
    if not parts:
        raise ProblemError("excitation: no quantity of any joint has a limit, so that no motion is the best")
    return Rows.stack(parts)


def _rows(joint: int, matrix: Array, lower: float, upper: float, factor: float) -> Rows:
    count = len(matrix)
    if np.isfinite(lower) and np.isfinite(upper):
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower) * factor
        low, high, unit = middle - half, middle + half, 0.5 * (upper - lower)
    else:
        unit = 1.0
        low, high = lower + (1 - factor) * abs(lower), upper - (1 - factor) * abs(upper)
    return Rows(np.full(count, joint), matrix / unit, np.full(count, low / unit), np.full(count, high / unit))


@dataclass(frozen=True)
class LimitCheck:
    """A quantity of a joint, bounded over the whole motion.

    Attributes
    ----------
    joint, quantity : str
    low, high : float
        Rigorous bounds of the quantity's smallest and largest value.
    lower, upper : float
        Its limits.
    """

    joint: str
    quantity: str
    low: float
    high: float
    lower: float
    upper: float

    @property
    def excess(self) -> float:
        """How far the bounds reach beyond the limits; negative: certified to keep them."""
        return max(self.lower - self.low, self.high - self.upper)


def certify_limits(trajectory: Trajectory, limits: MotionLimits) -> list[LimitCheck]:
    """Bound position, velocity, acceleration and jerk of every joint at *every* instant, ramps included.

    See `Basis.extremes`.

    Returns
    -------
    list of LimitCheck
        One for every limited quantity of every joint.
    """
    basis = trajectory.basis
    checks = []
    for order in range(1 if basis.static else len(QUANTITIES)):
        lower, upper = limits.lower[order], limits.upper[order]
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        extremes = zip(limited, *basis.extremes(trajectory.coefficients[limited], order), strict=True)
        for k, low, high in extremes:
            bounds = (float(value) for value in (low, high, lower[k], upper[k]))
            checks.append(LimitCheck(limits.joints[k], QUANTITIES[order], *bounds))
    return checks
