r"""Distance of given base parameters from all feasible ones, proven by a separating plane whatever the bodies' size.

For a direction p of the forms ``R x``, with the share ``g = R'p`` in the dual of every link's cone of consistency,
``p'R x = g'x >= sum_k eps_k tr Z_k(g)`` for *all* consistent x with margins eps, hence ::

    ||R x - r|| >= (gain(p) - p'r) / ||p||,    gain(p) = sum_k eps_k tr Z_k(R'p)                                   (1)

Unlike the bound of `casid.retrieval._bound`, no search region enters: all leftovers are zero.

**Best plane.** The maximiser of (1) is the projection of ``c``, ``c'p = gain(p) - p'r``, onto the dual cone
``{p: Z_k(p) >= 0}``: ``min ||p - c||^2``. It is found by cutting planes: with ``u'Z_k(p) u >= 0`` for eigenvectors u of
the last p's matrices, the projection is ``p = c + A mu, mu >= 0`` of a non-negative least-squares problem, whose norm
bounds the distance from above.

**Exactly in the dual cone.** Kinetic energy is positive for all bodies, so the direction ``p_0`` with ``R'p_0 =`` mean
of ``tr M(q)`` (`energy_shares`) lies inside the cone, but for vectors that ``Z_k(p_0)`` maps to zero (bodies that no
motion shows, such as a point mass where all axes meet). Every plane maps them to zero; it is restricted to that face of
the cone, where zero is the rounding of R, and moved along ``p_0`` until its matrices are positive definite on the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.dynamics import Model
from casid.inertia import ConsistencyCone, link_slice

#: Number of poses in the mean, largest number of rounds of cuts, relative gap at which they end.
_POSES, _ROUNDS, _GAP = 16, 400, 1e-9
#: Shares of a matrix's largest eigenvalue: least of those that are positive, largest of those that are zero.
_ZERO, _ROUNDING = 1e-9, 1e-12
#: Share of the way to the cone's inside that is added.
_INSIDE = 1e-6


@dataclass(frozen=True, eq=False)
class Plane:
    """``p'(R x - r) >= distance ||p||`` for every consistent x.

    Attributes
    ----------
    direction : ndarray, shape (b,)
        Unit vector ``p / ||p||``.
    distance : float
        Largest one found, >= 0; 0 where no plane separates.
    """

    direction: Array
    distance: float


@dataclass(frozen=True, eq=False)
class ConsistentForms:
    """Forms ``R x`` of parameters of consistent links and of one-sided extras.

    Attributes
    ----------
    matrix : ndarray, shape (b, N)
        R; the first parameters are ten of each link.
    cones : sequence of (ConsistencyCone, float)
        Of each link, with its margin.
    lower : ndarray, shape (N - 10 n,)
        Lower bounds of the extras.
    inside : ndarray, shape (N,)
        Shares inside the dual of all cones, zero only where no motion shows a parameter: of the links exact
        (`energy_shares`), of the extras wishes, any positive numbers.
    """

    matrix: Array
    cones: Sequence[tuple[ConsistencyCone, float]]
    lower: Array
    inside: Array

    def separate(self, values: Array) -> Plane:
        """The best plane between the values r, shape (b,), and the forms of all consistent parameters, eq. (1)."""
        from scipy.optimize import nnls  # slow to import

        none = Plane(np.zeros(len(values)), 0.0)
        interior = self._interior()
        face = _Face.of(self._units, self._matrices(interior))
        if face is None:
            return none
        worth = self._gains - values
        target, atoms = face.basis.T @ worth, face.cuts(interior)
        best = none
        for _ in range(_ROUNDS):
            amounts, upper = nnls(np.column_stack(atoms), -target, maxiter=100 * len(atoms))
            projection = face.basis @ (target + np.column_stack(atoms) @ amounts)
            atoms = [atom for atom, amount in zip(atoms, amounts, strict=True) if amount > 0]
            inside = projection + (1 + _INSIDE) * face.lift(self._matrices(projection)) * interior
            size = float(np.linalg.norm(inside))
            if size > 0 and float(worth @ inside) / size > best.distance:
                best = Plane(inside / size, float(worth @ inside) / size)
            if upper - best.distance <= _GAP * upper:
                break
            atoms += face.cuts(projection)
        return best

    def _interior(self) -> Array:
        """The direction p_0: of those with the links' shares the one whose extras' shares come nearest the wishes."""
        from scipy.linalg import null_space  # slow to import

        standard = 10 * len(self.cones)
        links, extras = self.matrix[:, :standard].T, self.matrix[:, standard:].T
        found = np.linalg.lstsq(links, self.inside[:standard], rcond=1e-12)[0]
        left = null_space(links, rcond=1e-10)
        step = np.linalg.lstsq(extras @ left, self.inside[standard:] - extras @ found, rcond=1e-12)[0]
        return np.asarray(found + left @ step)

    @cached_property
    def _units(self) -> list[list[Array]]:
        """The matrices of each unit vector p."""
        return [self._matrices(unit) for unit in np.eye(len(self.matrix))]

    @cached_property
    def _gains(self) -> Array:
        """The linear form ``gain(p)``."""
        links = sum(
            (cone.dual_gain(self.matrix[:, link_slice(k)], margin) for k, (cone, margin) in enumerate(self.cones)),
            np.zeros(len(self.matrix)),
        )
        return np.asarray(links + self.matrix[:, 10 * len(self.cones) :] @ self.lower)

    def _matrices(self, p: Array) -> list[Array]:
        """Those that must be positive semidefinite: of each link's share, and the extras' shares."""
        share = p @ self.matrix
        links = [m for k, (cone, _) in enumerate(self.cones) for m in cone.dual_matrices(share[link_slice(k)])]
        return [*links, *share[10 * len(self.cones) :].reshape(-1, 1, 1)]


@dataclass(frozen=True, eq=False)
class _Face:
    """The smallest face of the dual cone: directions whose matrices vanish where those of the interior one do.

    ``basis`` (b, f) spans its directions, ``kept[k]`` what is left of matrix k; ``units[k]`` are the matrices of the
    basis on it, ``inside[k]`` those of the interior direction.
    """

    basis: Array
    units: list[Array]
    inside: list[Array]
    kept: list[Array]

    @classmethod
    def of(cls, units: list[list[Array]], inside: list[Array]) -> _Face | None:
        """``None`` where the direction is not inside."""
        from scipy.linalg import null_space  # slow to import

        kept, rows = [], []
        for k, matrix in enumerate(inside):
            eigenvalues, vectors = np.linalg.eigh(matrix)
            used = eigenvalues > _ZERO * np.abs(eigenvalues).max()
            if np.abs(eigenvalues[~used]).max(initial=0.0) > _ROUNDING * np.abs(eigenvalues).max():
                return None
            kept.append(vectors[:, used])
            rows.append(np.array([unit[k] @ vectors[:, ~used] for unit in units]).reshape(len(units), -1))
        flat = np.concatenate(rows, axis=1).T
        flat = flat[np.abs(flat).max(axis=1, initial=0.0) > _ROUNDING * np.abs(flat).max(initial=0.0)]
        basis = null_space(flat, rcond=1e-10) if flat.size else np.eye(len(units))
        if not basis.size:
            return None
        used_units = [
            np.einsum("ja,jbc->abc", basis, np.array([keep.T @ unit[k] @ keep for unit in units]))
            for k, keep in enumerate(kept)
        ]
        return cls(basis, used_units, [keep.T @ m @ keep for keep, m in zip(kept, inside, strict=True)], kept)

    def lift(self, matrices: list[Array]) -> float:
        """The smallest t >= 0 for which ``Z_k + t Z_k(inside) >= 0``, all k, on what is kept."""
        from scipy.linalg import eigh  # slow to import

        worst = [
            float(eigh(-(keep.T @ m @ keep), at, eigvals_only=True)[-1])
            for m, at, keep in zip(matrices, self.inside, self.kept, strict=True)
            if keep.size
        ]
        return max([0.0, *worst])

    def cuts(self, p: Array) -> list[Array]:
        """Unit normals a of ``a'y = u'Z_k(basis y) u >= 0`` for all eigenvectors u of the matrices of p."""
        y, found = self.basis.T @ p, []
        for unit in self.units:
            if not unit[0].size:
                continue
            for u in np.linalg.eigh(np.tensordot(y, unit, axes=1))[1].T:
                normal = unit @ u @ u
                size = float(np.linalg.norm(normal))
                if size > 0:
                    found.append(normal / size)
        return found


def energy_shares(robot: Robot) -> Array:
    """Mean of ``tr M(q)`` over random poses as a form of the standard parameters, shape (10 n,).

    ``tr M(q) = sum_j e_j'(Y(q, 0, e_j) - Y(q, 0, 0)) pi`` with the regressor Y: twice the kinetic energy, summed over
    unit velocities of single joints.
    """
    model, n = Model(robot), len(robot.joints)
    q = np.repeat(np.random.default_rng(0).uniform(-np.pi, np.pi, (_POSES, n)), n + 1, axis=0)
    ddq = np.tile(np.vstack([np.zeros(n), np.eye(n)]), (_POSES, 1))
    Y = model.regressor(q, np.zeros_like(q), ddq).reshape(_POSES, n + 1, n, -1)
    return np.asarray(np.einsum("pjjk->k", Y[:, 1:] - Y[:, :1]) / _POSES)
