"""Self-collision and obstacles: distances between capsules, as a constraint and certified in continuous time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.arrays import ROUNDING, Array
from casid.description import Capsule, Robot
from casid.dynamics import Kinematics
from casid.errors import ProblemError
from casid.excitation.limits._constraints import FunctionConstraint, StateConstraint
from casid.excitation.limits._motion_limits import MotionLimits
from casid.motion import Motion, Trajectory

#: Divisors are no smaller: segments of length zero give 0 / _TINY = 0.
_TINY = np.finfo(float).tiny


def segment_distance(p0: Array, p1: Array, q0: Array, q1: Array) -> tuple[Array, Array, Array]:
    """Smallest distance between the segments p0 p1 and q0 q1.

    ``min |p0 + s (p1 - p0) - q0 - t (q1 - q0)|^2`` over the unit square is a convex quadratic: its minimum is the
    unconstrained one, if that lies inside, or on one of the four edges, where it is the distance of an end to a
    segment. All five candidates are points of the square, so the smallest is exact whatever is parallel or of length
    zero.

    Parameters
    ----------
    p0, p1, q0, q1 : ndarray, shape (3, ...)
        Ends [m]; they broadcast.

    Returns
    -------
    distance : ndarray, shape (...)
    s, t : ndarray, shape (...)
        Closest points ``p0 + s (p1 - p0)`` and ``q0 + t (q1 - q0)``.
    """
    p0, p1, q0, q1 = np.broadcast_arrays(p0, p1, q0, q1)
    u, v, w = p1 - p0, q1 - q0, p0 - q0
    a, b, c = (u * u).sum(axis=0), (u * v).sum(axis=0), (v * v).sum(axis=0)
    d, e = (u * w).sum(axis=0), (v * w).sum(axis=0)
    determinant = np.maximum(a * c - b * b, _TINY)
    zero, one = np.zeros_like(a), np.ones_like(a)
    inside = _unit((b * e - c * d) / determinant)
    candidates = [
        (inside, _unit((b * inside + e) / np.maximum(c, _TINY))),
        (zero, _unit(e / np.maximum(c, _TINY))),
        (one, _unit((e + b) / np.maximum(c, _TINY))),
        (_unit(-d / np.maximum(a, _TINY)), zero),
        (_unit((b - d) / np.maximum(a, _TINY)), one),
    ]
    s, t = (np.array(values) for values in zip(*candidates, strict=True))
    square = ((w[:, None] + s * u[:, None] - t * v[:, None]) ** 2).sum(axis=0)
    best = np.argmin(square, axis=0)[None]
    picked = (np.take_along_axis(array, best, axis=0)[0] for array in (square, s, t))
    distance, s_best, t_best = picked
    return np.sqrt(distance), s_best, t_best


def _unit(x: Array) -> Array:
    """Clipped to [0, 1]."""
    return np.asarray(np.clip(np.nan_to_num(x, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0))


#: Random poses that decide which pairs of links touch in every pose: a share near `MOSTLY` is known to 1 % by them.
SAMPLED_POSES = 500
#: Pairs of the robot's own capsules that touch in this share of them, or more, are taken to be neighbours in effect.
MOSTLY = 0.95


class CollisionConstraint(StateConstraint):
    """``distance(capsule a, capsule b) >= margin`` for every pair that can move against each other.

    Parameters
    ----------
    robot : Robot
        With capsules on its links (and base).
    obstacles : sequence of Capsule
        Fixed in the base frame (``joint = -1``); spheres are capsules with equal ends.
    margin : float
        Clearance to keep [m].
    ignore : sequence of (str, str)
        Pairs of capsule names to leave out.

    Attributes
    ----------
    pairs : tuple of (Capsule, Capsule)
        Checked pairs: not on the same link, nor on neighbouring links.
    touching : tuple of str
        Pairs of the robot's own capsules that touch in 95 % or more of 500 random poses (capsules are fatter than
        links), and are therefore not checked.

    Raises
    ------
    ProblemError
        If there is nothing to check, or no pose keeps an obstacle away from the robot (the message names it).
    """

    def __init__(
        self,
        robot: Robot,
        obstacles: Sequence[Capsule] = (),
        margin: float = 0.01,
        ignore: Sequence[tuple[str, str]] = (),
    ) -> None:
        if not robot.capsules:
            raise ProblemError(
                f"collision: robot '{robot.name}' has no capsules; add [[capsule]] tables to its description or "
                "fit them to its meshes (fit_capsules)"
            )
        loose = [capsule.name for capsule in obstacles if capsule.joint != -1]
        if loose:
            raise ProblemError(f"collision: obstacle '{loose[0]}' must be fixed to the base (joint = -1)")
        if not (np.isfinite(margin) and margin >= 0):
            raise ProblemError(f"collision: the margin must not be negative, got {margin}")
        self.name, self.robot, self.margin, self.n = "collision", robot, float(margin), robot.n
        self._coupling = robot.coupling()
        own, skipped = list(robot.capsules), {frozenset(pair) for pair in ignore}
        candidates = [
            (a, b, False)
            for i, a in enumerate(own)
            for b in own[i + 1 :]
            if a.joint != b.joint
            and not _neighbours(robot, a.joint, b.joint)
            and frozenset((a.name, b.name)) not in skipped
        ]
        candidates += [(a, b, True) for a in own for b in obstacles if a.joint >= 0]
        if not candidates:
            raise ProblemError(f"collision: robot '{robot.name}' has no two capsules that could touch")
        self._capsules = tuple(dict.fromkeys(c for a, b, _ in candidates for c in (a, b)))
        self._ends = self._positions()
        self._set_pairs([(a, b) for a, b, _ in candidates])
        self.touching: tuple[str, ...] = ()
        self._drop_touching([fixed for _, _, fixed in candidates])

    # ------------------------------------------------------------------ constraint

    def values(self, motion: Motion) -> Array:
        """Clearance of every pair [m], shape (pairs, samples); negative where capsules overlap."""
        motion.expect_joints(self.n, "collision")
        points = self._ends.values(motion)
        return self._clearance(points.reshape(2 * len(self._capsules), 3, -1))[0]

    def jacobian(self, motion: Motion) -> tuple[Array, Array]:
        """Clearance and its derivatives; the closest points count as fixed on their segments (envelope theorem)."""
        motion.expect_joints(self.n, "collision")
        points, derivatives = self._ends.jacobian(motion)
        count, ends = len(motion), 2 * len(self._capsules)
        clearance, normal, s, t = self._clearance(points.reshape(ends, 3, count))
        J = derivatives[:, : self.n].reshape(ends, 3, self.n, count)
        a, b = self._first, self._second
        Ja = (1 - s)[:, None, None] * J[2 * a] + s[:, None, None] * J[2 * a + 1]
        Jb = (1 - t)[:, None, None] * J[2 * b] + t[:, None, None] * J[2 * b + 1]
        result = np.zeros((len(self.pairs), 3 * self.n, count))
        result[:, : self.n] = np.einsum("pxk,pxnk->pnk", normal, Ja - Jb)
        return clearance, result

    def certificate(self, trajectory: Trajectory) -> str:
        """Proven clearance of a motion, and the pairs of links that their joints cannot part."""
        if trajectory.basis.static:
            return ""
        least = min(certify_clearance(trajectory, self), key=lambda check: check.clearance)
        text = f"at every instant clearance >= {1000 * least.clearance:.1f} mm ({least.pair})"
        joined = ", ".join(self.touching)
        return f"{text}; joints too near to part these in most postures: {joined}" if joined else text

    def _clearance(self, points: Array) -> tuple[Array, Array, Array, Array]:
        ends = np.moveaxis(points, 1, 0)  # (3, 2 capsules, samples)
        a, b = self._first, self._second
        pa, pb, qa, qb = ends[:, 2 * a], ends[:, 2 * a + 1], ends[:, 2 * b], ends[:, 2 * b + 1]
        distance, s, t = segment_distance(pa, pb, qa, qb)
        apart = pa + s * (pb - pa) - qa - t * (qb - qa)
        up = np.zeros_like(apart)
        up[2] = 1.0
        normal = np.where(distance > ROUNDING, apart / np.maximum(distance, ROUNDING), up)
        return distance - self._radii[:, None], np.moveaxis(normal, 0, 1), s, t

    def _set_pairs(self, pairs: list[tuple[Capsule, Capsule]]) -> None:
        number = {id(capsule): k for k, capsule in enumerate(self._capsules)}
        self.pairs = tuple(pairs)
        self._first = np.array([number[id(a)] for a, _ in pairs])
        self._second = np.array([number[id(b)] for _, b in pairs])
        self._radii = np.array([a.radius + b.radius for a, b in pairs])
        self.labels = tuple(f"{a.name} - {b.name}" for a, b in pairs)
        self.lower, self.upper = np.full(len(pairs), self.margin), np.full(len(pairs), np.inf)
        self.unit = np.full(len(pairs), 0.3)

    def _drop_touching(self, obstacle: list[bool]) -> None:
        limits = MotionLimits.of_positions(self.robot)
        span = (limits.upper[0] - limits.lower[0])[:, None]
        q = limits.lower[0][:, None] + span * np.random.default_rng(0).random((self.n, SAMPLED_POSES))
        share = (self.values(Motion.at_rest(q.T)) < self.margin).mean(axis=1)
        always = share >= np.where(obstacle, 1.0, MOSTLY)
        for k in np.flatnonzero(always):
            if obstacle[k]:
                raise ProblemError(
                    f"collision: obstacle '{self.pairs[k][1].name}' touches '{self.pairs[k][0].name}' in each of "
                    f"{SAMPLED_POSES} random poses inside the joint limits; no motion can avoid it: move or shrink it"
                )
        self.touching = tuple(self.labels[k] for k in np.flatnonzero(always))
        kept = [pair for pair, drop in zip(self.pairs, always, strict=True) if not drop]
        if not kept:
            raise ProblemError(
                f"collision: every pair of capsules of robot '{self.robot.name}' touches in nearly every pose: "
                f"{', '.join(self.touching)}; their radii are too large"
            )
        self._set_pairs(kept)

    def _positions(self) -> FunctionConstraint:
        """Ends of the capsules in the base frame, side by side."""
        q = ca.SX.sym("q", self.n)
        links, points = Kinematics(self.robot, q).links, []
        for capsule in self._capsules:
            rotation, origin = links[capsule.joint] if capsule.joint >= 0 else (ca.SX.eye(3), ca.SX.zeros(3))
            points += [origin + ca.mtimes(rotation, ca.DM(end)) for end in (capsule.start, capsule.end)]
        ends = ca.Function("ends", [q], [ca.vertcat(*points)], ["q"], ["p"])
        return FunctionConstraint("collision", ends, -np.inf, np.inf)

    # ------------------------------------------------------------------ continuous time

    def lever_arms(self) -> Array:
        """Bounds of the speed at which a pair closes per unit of each joint's speed, shape (pairs, n) [m/rad or 1].

        A point moves by at most its distance to a joint's axis, at most the length of the chain from that joint to it;
        joints that move both capsules of a pair do not change their distance.
        """
        arms = np.array([self._arms(capsule) for capsule in self._capsules])
        common = (arms[self._first] > 0) & (arms[self._second] > 0)
        return np.asarray(np.where(common, 0.0, arms[self._first] + arms[self._second]) @ np.abs(self._coupling[0]))

    def _arms(self, capsule: Capsule) -> Array:
        """For every joint, those that follow others included."""
        arms = np.zeros(len(self.robot.joints))
        k = capsule.joint
        if k < 0:
            return arms
        link_placement = self.robot.joints[k].link_placement
        reach = max(
            float(np.linalg.norm(link_placement[:3, :3] @ end + link_placement[:3, 3]))
            for end in (capsule.start, capsule.end)
        )
        while k >= 0:
            joint = self.robot.joints[k]
            if joint.type == "prismatic":
                arms[k] = 1.0
                reach += self._travel(k)
            else:
                arms[k] = max(reach, 1e-12)
            parent = joint.parent
            if parent >= 0:
                step = self.robot.joints[parent].link_placement @ joint.placement
                reach += float(np.linalg.norm(step[:3, 3]))
            k = parent
        return arms

    def _travel(self, k: int) -> float:
        """Largest absolute position of joint k within the limits."""
        G, offset = self._coupling
        i = int(np.argmax(np.abs(G[k])))
        ends = np.array([self.robot.limits.lower[i], self.robot.limits.upper[i]])
        return float(np.abs(G[k, i] * ends + offset[k]).max())


@dataclass(frozen=True)
class ClearanceCheck:
    """Clearance of a pair of capsules over a whole motion: a rigorous lower bound, and the margin asked for [m]."""

    pair: str
    clearance: float
    margin: float


def certify_clearance(
    trajectory: Trajectory, constraint: CollisionConstraint, tolerance: float = 1e-5
) -> list[ClearanceCheck]:
    """Bound the clearance of every pair from below at *every* instant, ramps included.

    The clearance changes at most at the rate ``sum_j lever_j |dq_j|``, and on an interval of length h
    ``|dq_j| <= max of its ends + h / 2 max|ddq_j|``. Intervals are halved until the bound is within ``tolerance`` [m],
    or a tenth of what is left above the margin, of a clearance that is attained.
    """
    levers = constraint.lever_arms()
    basis = trajectory.basis
    fastest = basis.derivative_bound(trajectory.coefficients, 2)
    edges = np.linspace(*basis.span, 257)
    left, right = edges[:-1], edges[1:]
    attained = np.full(len(constraint.pairs), np.inf)
    certified = np.full(len(constraint.pairs), np.inf)
    while len(left):
        ends, speeds = [], []
        for instants in (left, right):
            motion = trajectory.motion(instants)
            ends.append(constraint.values(motion))
            speeds.append(np.abs(motion.dq.T))
        h = right - left
        speed = np.maximum(*speeds) + fastest[:, None] * h / 2
        bound = 0.5 * (ends[0] + ends[1]) - 0.5 * h * (levers @ speed)
        bound = np.minimum(bound, np.minimum(*ends))
        attained = np.minimum(attained, np.minimum(*ends).min(axis=1))
        loose = np.maximum(tolerance, 0.1 * (attained - constraint.margin))
        open_ = (bound < (attained - loose)[:, None]).any(axis=0)
        certified = np.minimum(certified, bound[:, ~open_].min(axis=1, initial=np.inf))
        middle = 0.5 * (left[open_] + right[open_])
        left, right = np.concatenate([left[open_], middle]), np.concatenate([middle, right[open_]])
    return [
        ClearanceCheck(label, float(value), constraint.margin)
        for label, value in zip(constraint.labels, certified, strict=True)
    ]


def _neighbours(robot: Robot, a: int, b: int) -> bool:
    """Do two links share a joint?"""
    parent = [joint.parent for joint in robot.joints]
    return (a >= 0 and parent[a] == b) or (b >= 0 and parent[b] == a)
