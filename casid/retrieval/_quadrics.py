r"""Constraints that are quadratic in one link's parameters, and linear rows that every feasible point obeys.

Many constraints a user writes become, times a power of the link's mass, a homogeneous quadratic form of its ten
parameters: a centre of mass inside a sphere, cylinder, ellipsoid or cone, ``r^2 - cy^2 - cz^2 >= 0``; an entry of the
inertia about it. Over m > 0 they read ::

    a'L + b'l + d m + l'P l / m >= 0        (L: six entries of the inertia about the origin)

* No L, and ``Q = [[P, b/2], [b'/2, d]]`` with one positive eigenvalue: a second-order cone. One nappe of it is convex,
  and ``y'Q z >= 0`` for any y, z in it (the reversed Cauchy-Schwarz inequality): its tangents hold everywhere.
* In general with ``P = sum p v v'``: where p < 0 the tangent ``(v'l)^2/m >= 2 t v'l - t^2 m``; where p > 0 the secant
  over the range of the centre of mass, ``(v'l)^2/m <= (alpha + beta) v'l - alpha beta m``, with
  ``alpha <= v'c <= beta``. For products of two coordinates also McCormick's envelopes.

The form is read off the expression's structure (`casid.expressions._polynomial`): sums, products, division by the mass,
integer powers; nothing is sampled, and what saturates, jumps or bends is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions._polynomial import quadratic_form
from casid.inertia._parameter_vector import link_slice, mass_index, standard_size

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quadric:
    """``inertia'L + moment'l + mass m + l'P l / m - offset``.

    Which is ``m^(power - 1)`` times the user's expression less its bound.

    Attributes
    ----------
    link, power : int
    inertia : ndarray, shape (6,)
    moment : ndarray, shape (3,)
    mass : float
    square : ndarray, shape (3, 3)
        P, symmetric.
    offset : float
    """

    link: int
    power: int
    inertia: Array
    moment: Array
    mass: float
    square: Array
    offset: float = 0.0

    @property
    def linear(self) -> bool:
        """Whether nothing but linear terms is left: ``m^(power - 1)`` times the expression is linear."""
        return not self.square.any() and self.offset == 0.0

    def numerator(self, x: ca.SX) -> ca.SX:
        """``inertia'L + moment'l + mass m`` of the unknowns x."""
        form = ca.sparsify(ca.DM(self._linear()))
        return ca.dot(form, x[link_slice(self.link)])

    def minus(self, bound: float) -> Quadric | None:
        """The form of ``expression - bound``; None where the bound's term has no place in it."""
        if bound == 0.0:
            return self
        if self.power == 2:
            return replace(self, mass=self.mass - bound)
        return replace(self, offset=self.offset + bound) if self.power == 1 else None

    def negated(self) -> Quadric:
        """The form with the sign changed: for upper bounds."""
        return replace(
            self, inertia=-self.inertia, moment=-self.moment, mass=-self.mass, square=-self.square, offset=-self.offset
        )

    def lorentz(self, com: Array) -> Array | None:
        """Q, shape (4, 4), if this is a second-order cone and all of the box ``com`` lies on one nappe's side.

        Else None.
        """
        if np.abs(self.inertia).max() > 0 or self.offset != 0.0:
            return None
        Q = np.block([[self.square, self.moment[:, None] / 2], [self.moment[None, :] / 2, np.array([[self.mass]])]])
        values, vectors = np.linalg.eigh(Q)
        if values[-1] <= 0 or (values[:-1] > 1e-12 * values[-1]).any() or not np.isfinite(com).all():
            return None
        axis = Q @ vectors[:, -1]  # side = axis' y: one nappe is where it is positive
        ends = np.stack([axis[:3, None] * com])[0]
        low, high = ends.min(axis=1).sum() + axis[3], ends.max(axis=1).sum() + axis[3]
        return Q if low >= 0 or high <= 0 else None

    def is_concave(self) -> bool:
        """Whether P <= 0: then the form is concave and its tangents hold everywhere."""
        values = np.linalg.eigvalsh(self.square)
        return bool(values[-1] <= 1e-12 * max(1e-300, np.abs(values).max()))

    def is_convex_set(self, com: Array) -> bool:
        """Whether the points that meet the bound form a convex set, as far as these rules can tell."""
        return self.is_concave() or self.lorentz(com) is not None

    def cuts(self, com: Array, point: Array) -> list[Array]:
        """Rows f, shape (10,), with ``f'x_link >= offset`` at every feasible point.

        Tight near a link's parameters ``point``.

        Parameters
        ----------
        com
            Box of the centre of mass, shape (3, 2), infinite where free.
        point
            Ten parameters with positive mass.
        """
        centre = point[6:9] / point[9]
        Q = self.lorentz(com)
        if Q is not None:
            form = np.zeros(10)
            form[6:] = 2 * Q @ self._inside(Q, com, centre)
            return [form]
        rows = []
        form = self._linear()
        values, vectors = np.linalg.eigh(self.square)
        for p, v in zip(values, vectors.T, strict=True):
            if abs(p) <= 1e-13 * np.abs(values).max():
                continue
            if p < 0:
                t = float(v @ centre)
                form[6:9] += p * 2 * t * v
                form[9] -= p * t * t
            else:
                ends = np.where(v[:, None] == 0, 0.0, v[:, None] * np.where(v[:, None] == 0, 0.0, com))
                low, high = ends.min(axis=1).sum(), ends.max(axis=1).sum()
                if not (np.isfinite(low) and np.isfinite(high)):
                    return self._mccormick(com)
                form[6:9] += p * (low + high) * v
                form[9] -= p * low * high
        rows.append(form)
        return rows + self._mccormick(com)

    def _linear(self) -> Array:
        return np.concatenate([self.inertia, self.moment, [self.mass]])

    def _inside(self, Q: Array, com: Array, centre: Array) -> Array:
        """``[c; 1]``, or the first point of the nappe on the box's side on the way from it to the cone's axis."""
        vector = np.linalg.eigh(Q)[1][:, -1]
        axis = vector if (Q @ vector) @ np.append(com.mean(axis=1), 1.0) >= 0 else -vector
        y = np.append(centre, 1.0)
        a, b, c = float(axis @ Q @ axis), 2 * float(axis @ Q @ y), float(y @ Q @ y)
        if c >= 0 and b >= 0:
            return y
        t = (-b + np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
        return np.asarray(y + t * (1 + 1e-9) * axis)

    def _mccormick(self, com: Array) -> list[Array]:
        """Both envelopes of ``2 P_ij c_i c_j`` if P is a single off-diagonal pair."""
        pairs = [(i, j) for i in range(3) for j in range(i) if self.square[i, j] != 0]
        if len(pairs) != 1 or np.abs(np.diag(self.square)).max() > 0:
            return []
        ((i, j),) = pairs
        p = 2 * self.square[i, j]
        (a, b), (c, d) = com[i], com[j]
        # p > 0 bounds c_i c_j from above, p < 0 from below
        corners = ((a, d), (b, c)) if p > 0 else ((a, c), (b, d))
        rows = []
        for u, w in corners:
            if np.isfinite([u, w]).all():
                form = self._linear()
                form[6 + j] += p * u
                form[6 + i] += p * w
                form[9] -= p * u * w
                rows.append(form)
        return rows


def find_quadric(expression: ca.SX, x: ca.SX, links: int) -> Quadric | None:
    """The form of a scalar expression of the unknowns x of so many links, by its structure; None if it has none."""
    used = [k for k, depends in enumerate(ca.which_depends(expression, x, 1, False)) if depends]
    touched = {k // 10 for k in used}
    if len(touched) != 1 or max(used) >= standard_size(links):
        return None
    link = touched.pop()
    own = range(link_slice(link).start, link_slice(link).stop)
    found = quadratic_form(expression, x, own, mass_index(link))
    if found is None or np.abs(found.matrix[:6, :9]).max() > 0:
        return None
    H = found.matrix
    return Quadric(link, found.power, 2 * H[:6, 9], 2 * H[6:9, 9], float(H[9, 9]), H[6:9, 6:9].copy())
