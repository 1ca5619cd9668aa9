"""Modes of dry friction: which joints and motors slide, which stick, and when that changes.

Along each direction ``D_e`` at which dry friction acts, with velocity ``v = D_e'dq`` and the friction ``f`` of
``tau = D_e f``, Coulomb's law is (Featherstone 2008, Sec. 11; Brogliato 2016, Sec. 5.3)::

    v > 0: f = f_plus,    v < 0: f = f_minus,    v = 0: f_minus <= f <= f_plus

At an instant with the set Z of directions at rest, the friction there is what minimises the Gauss constraint
``1/2 (r - D_Z f)'M^-1 (r - D_Z f)`` within its limits, where r is the torque without it: directions that then do not
accelerate stick, the others break away. Accelerations are unique even where joints and motors stick redundantly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, RANK, Array
from casid.codegen import Function
from casid.dynamics import dry_friction_places, equation_of_motion
from casid.errors import ProblemError
from casid.simulation._plant import Plant

#: Speed below which a direction counts as at rest [rad/s or m/s].
_REST = 1e-10
#: Acceleration below which a direction that may stick does [rad/s^2 or m/s^2], relative to that without friction; what
#: sticks breaks away above the second.
_STILL, _AWAY = 1e-9, 1e-8


@dataclass(frozen=True, eq=False)
class Mode:
    """What every direction does.

    Attributes
    ----------
    signs : ndarray, shape (m,)
        1 or -1: sliding; 0: sticking.
    projector : ndarray, shape (n, n)
        Orthogonal projector on the motions that sticking leaves.
    held : ndarray, shape (m,)
        Friction of the directions that stick, when last looked at.
    law : StickSlip
        Of the plant.
    """

    signs: Array
    projector: Array
    held: Array
    law: StickSlip

    @cached_property
    def stuck(self) -> NDArray[np.intp]:
        """Directions that stick."""
        return np.flatnonzero(self.signs == 0)

    @cached_property
    def along(self) -> Array:
        """Directions that stick, shape (n, stuck)."""
        return np.asarray(self.law.D[:, self.stuck])

    @cached_property
    def shares(self) -> Array:
        """Pseudo-inverse of `along`: the least friction that makes up a torque, shape (stuck, n)."""
        return np.asarray(np.linalg.pinv(self.along, rcond=1e-9))

    @cached_property
    def at_rest(self) -> bool:
        """Whether nothing can move."""
        return not self.projector.any()

    def holds(self, x: Array, u: Array) -> bool:
        """Whether friction can still hold what sticks."""
        stuck, law = self.stuck, self.law
        if not len(stuck):
            return True
        M, free, lower, upper = law.at(x, u, self.signs)
        P = self.projector
        ddq = np.linalg.solve(P @ M @ P + np.eye(law.n) - P, P @ free)
        needed = free - M @ ddq
        f = self.held[stuck] + self.shares @ (needed - self.along @ self.held[stuck])
        margin = 1e-12 * (1.0 + np.abs(f).max())
        if (f >= lower[stuck] - margin).all() and (f <= upper[stuck] + margin).all():
            return True
        _, acceleration, scale = law.friction(M, free, lower[stuck], upper[stuck], stuck)
        return bool((np.abs(acceleration) <= _AWAY * (1.0 + scale)).all())

    def slowest(self, x: Array) -> float:
        """Smallest speed of a sliding direction in the sense of its mode; negative: it should have stopped."""
        sliding, n = self.signs != 0, self.law.n
        return float((self.signs * (self.law.D.T @ x[n : 2 * n]))[sliding].min()) if sliding.any() else 1.0


class StickSlip:
    """The modes of a plant.

    Parameters
    ----------
    plant
        A plant; m directions of dry friction.
    """

    def __init__(self, plant: Plant) -> None:
        self.plant, self.n, self.D = plant, plant.n, np.asarray(plant.directions)
        self.m = self.D.shape[1]
        x, u, signs = ca.SX.sym("x", plant.size), ca.SX.sym("u", plant.n), ca.SX.sym("signs", self.m)
        q, dq = x[: plant.n], x[plant.n : 2 * plant.n]
        equation = equation_of_motion(plant.given)
        M, rigid, terms, dry = equation(q, dq, signs)
        limits = [equation(q, dq, s * np.ones(self.m))[3] for s in (-1.0, 1.0)]
        free = u + plant.external(q, dq)[0] - rigid - terms - ca.SX(ca.DM(self.D)) @ dry
        outputs = [ca.densify(value) for value in (M, free, *limits)]
        function = ca.Function("law", [x, u, signs], outputs, ["x", "u", "signs"], ["M", "free", "lower", "upper"])
        self.at = Function(function, axes=(2, 1, 1, 1))

    def begin(self, x: Array, u: Array) -> tuple[Array, Mode]:
        """Mode at a state, whatever came before; what sticks is brought to rest exactly.

        Raises
        ------
        ProblemError
            If dry friction is negative somewhere: Coulomb's law has no answer at rest then.
        """
        dq = x[self.n : 2 * self.n]
        v = self.D.T @ dq
        resting = np.abs(v) < _REST
        signs = np.where(resting, 0.0, np.sign(v))
        M, free, lower, upper = self.at(x, u, signs)
        negative = np.flatnonzero(lower > upper)
        if len(negative):
            side, k = dry_friction_places(self.plant.given)[negative[0]]
            raise ProblemError(
                f"dry friction of {side} {k + 1} is negative ({(upper - lower)[negative[0]] / 2:.4g}): exact friction "
                "needs values >= 0; take smooth friction, or repair the parameters"
            )
        held = np.zeros(self.m)
        places = np.flatnonzero(resting)
        if len(places):
            held[places], acceleration, scale = self.friction(M, free, lower[places], upper[places], places)
            breaking = np.abs(acceleration) > _STILL * (1.0 + scale)
            signs[places] = np.where(breaking, np.sign(acceleration), 0.0)
        basis = self._basis(np.flatnonzero(signs == 0))
        outside = self.D - basis @ (basis.T @ self.D)  # what the others hold sticks too
        signs[resting & (np.linalg.norm(outside, axis=0) < ALIKE)] = 0.0
        if basis.shape[1]:
            weighted = np.linalg.solve(M, basis)
            x = x.copy()
            x[self.n : 2 * self.n] = dq - weighted @ np.linalg.solve(basis.T @ weighted, basis.T @ dq)
        projector = np.eye(self.n) - basis @ basis.T
        if basis.shape[1] == self.n:
            projector[:] = 0.0
            x[self.n : 2 * self.n] = 0.0
        return x, Mode(signs, projector, held, self)

    def _basis(self, stuck: NDArray[np.intp]) -> Array:
        """Orthonormal basis of what the directions span."""
        if not len(stuck):
            return np.zeros((self.n, 0))
        U, s, _ = np.linalg.svd(self.D[:, stuck], full_matrices=False)
        return np.asarray(U[:, s > RANK * s[0]])

    def friction(
        self, M: Array, free: Array, lower: Array, upper: Array, places: NDArray[np.intp]
    ) -> tuple[Array, Array, float]:
        """Friction at directions at rest, their accelerations, and the size of those without friction."""
        from scipy.optimize import lsq_linear  # slow to import

        D = self.D[:, places]
        L = np.linalg.cholesky(M)
        white, target = np.linalg.solve(L, D), np.linalg.solve(L, free)
        scale = float(np.abs(white.T @ target).max())
        wide = upper > lower
        f = np.where(wide, 0.0, lower)
        if wide.any():
            bounds = (lower[wide], upper[wide])
            f[wide] = lsq_linear(white[:, wide], target - white @ f, bounds, method="bvls", tol=1e-15).x
        return f, white.T @ (target - white @ f), scale
