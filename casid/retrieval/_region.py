"""What every feasible body obeys: ranges, bounds on tr J(x), and rows of constraints quadratic in its parameters.

The certificate multiplies the gradient that its multipliers leave over by the bounds on tr J(x). A link without such
bounds gets an explicit search region, which the certificate states.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.expressions import quadratic_form
from casid.inertia import MOMENTS, ConsistencyCone, link_slice, mass_index, moment_slice, standard_size
from casid.retrieval._variables import Box, LinkVariables, LinkView


@dataclass(frozen=True, eq=False)
class Quadric:
    """``form'x_link + l'P l / m - offset``.

    Which is ``m^(power - 1)`` times the user's expression less its bound.

    Attributes
    ----------
    link, power : int
    form : ndarray, shape (10,)
    square : ndarray, shape (3, 3)
        P, symmetric.
    offset : float
    """

    link: int
    power: int
    form: Array
    square: Array
    offset: float = 0.0

    @property
    def linear(self) -> bool:
        """Whether nothing but linear terms is left: ``m^(power - 1)`` times the expression is linear."""
        return not self.square.any() and self.offset == 0.0

    def numerator(self, x: ca.SX) -> ca.SX:
        """``form'x_link`` of the unknowns x."""
        return ca.dot(ca.sparsify(ca.DM(self.form)), x[link_slice(self.link)])

    def minus(self, bound: float) -> Quadric | None:
        """The form of ``expression - bound``; None where the bound's term has no place in it."""
        if bound == 0.0:
            return self
        if self.power == 2:
            return replace(self, form=np.append(self.form[:9], self.form[9] - bound))
        return replace(self, offset=self.offset + bound) if self.power == 1 else None

    def negated(self) -> Quadric:
        """The form with the sign changed: for upper bounds."""
        return replace(self, form=-self.form, square=-self.square, offset=-self.offset)

    def lorentz(self, com: Array) -> Array | None:
        """Q, shape (4, 4), if this is a second-order cone and all of the box ``com`` lies on one nappe's side.

        Else None.
        """
        if self.form[:6].any() or self.offset != 0.0:
            return None
        Q = np.diag(np.append(np.zeros(3), self.form[9]))
        Q[:3, :3], Q[:3, 3], Q[3, :3] = self.square, self.form[6:9] / 2, self.form[6:9] / 2
        values, vectors = np.linalg.eigh(Q)
        if values[-1] <= 0 or (values[:-1] > ROUNDING * values[-1]).any() or not np.isfinite(com).all():
            return None
        axis = Q @ vectors[:, -1]  # side = axis' y: one nappe is where it is positive
        ends = axis[:3, None] * com
        low, high = ends.min(axis=1).sum() + axis[3], ends.max(axis=1).sum() + axis[3]
        return Q if low >= 0 or high <= 0 else None

    def is_convex_set(self, com: Array) -> bool:
        """Whether the points that meet the bound form a convex set: P <= 0, a concave form, or a cone's nappe."""
        values = np.linalg.eigvalsh(self.square)
        return bool(values[-1] <= ROUNDING * np.abs(values).max()) or self.lorentz(com) is not None

    def cuts(self, com: Array, point: Array) -> Iterator[Array]:
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
            yield form
            return
        form, (values, vectors) = self.form.copy(), self._axes
        bent = np.abs(values) > ROUNDING * np.abs(values).max()
        low = high = centre @ vectors  # touched where p < 0, cut from end to end where p > 0
        convex = bent & (values > 0)
        if convex.any():
            v = vectors.T[convex, :, None]
            ends = v * np.where(v == 0, 0.0, com)
            low, high = low.copy(), high.copy()
            low[convex], high[convex] = ends.min(axis=2).sum(axis=1), ends.max(axis=2).sum(axis=1)
        if np.isfinite(low).all() and np.isfinite(high).all():
            p = np.where(bent, values, 0.0)
            form[6:9] += vectors @ (p * (low + high))
            form[9] -= p @ (low * high)
            yield form
        yield from self._mccormick(com)

    def secant_errors(self, com: Array, centre: Array) -> Array:
        """How far the secants over the box are from the form at a centre of mass, an axis each, shape (3,)."""
        values, vectors = self._axes
        convex = (vectors**2 @ np.maximum(values, 0.0)).round(15)
        inside = np.clip(centre[:, None], com[:, :1], com[:, 1:])[:, 0]
        return np.asarray(convex * (inside - com[:, 0]) * (com[:, 1] - inside))

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of P."""
        values, vectors = np.linalg.eigh(self.square)
        return values, vectors

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
                form = self.form.copy()
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
    return Quadric(link, found.power, np.append(2 * H[:9, 9], H[9, 9]), H[6:9, 6:9].copy())


class Facts:
    """Ranges of link quantities, collected from constraints; infinite where nothing is known.

    Ranges of a link that is not one of these unknowns (a view of a shifted or substituted body) are ignored.

    Attributes
    ----------
    mass : ndarray, shape (n, 2)
        [kg]
    com : ndarray, shape (n, 3, 2)
        [m]
    inertia_com : ndarray, shape (n, 6, 2)
        ``Ixx Ixy Ixz Iyy Iyz Izz`` about the centre of mass [kg.m^2].
    reach : ndarray, shape (n,)
        Largest ``tr(Sigma) / m``, the mean square distance of a link's mass from the link-frame origin [m^2].
    totals : list of (tuple of int, float, float)
        Links, and the range of their masses' sum [kg].
    """

    def __init__(self, variables: LinkVariables) -> None:
        n = len(variables)
        self._variables = variables
        self.mass: Array = np.tile([-np.inf, np.inf], (n, 1))
        self.com: Array = np.tile([-np.inf, np.inf], (n, 3, 1))
        self.inertia_com: Array = np.tile([-np.inf, np.inf], (n, 6, 1))
        self.reach: Array = np.full(n, np.inf)
        self.totals: list[tuple[tuple[int, ...], float, float]] = []

    def second_moment(self, link: int) -> float:
        """``tr(Sigma)`` of the largest mass, a uniform box in its range of centres, or of its extent; else infinite."""
        heaviest = float(self.mass[link, 1])
        for links, _, upper in self.totals:
            if link in links:
                heaviest = min(heaviest, upper)
        edges, reach = self.com[link, :, 1] - self.com[link, :, 0], float(self.reach[link])
        square = min(float(edges @ edges) / 12 if (edges > 0).all() else np.inf, reach if reach > 0 else np.inf)
        return heaviest * square if heaviest > 0 and np.isfinite(square) else float("inf")

    def within(
        self, what: Literal["mass", "com", "inertia_com"], link: LinkView, lower: ArrayLike, upper: ArrayLike
    ) -> None:
        """``lower <= quantity <= upper`` of the attribute of that name, shapes (), (3,) and (6,)."""
        if self._knows(link, {"mass": slice(9, 10), "com": slice(6, 10), "inertia_com": slice(0, 10)}[what]):
            own = getattr(self, what)[link.index]
            own[..., 0], own[..., 1] = np.maximum(own[..., 0], lower), np.minimum(own[..., 1], upper)

    def reach_below(self, link: LinkView, most: float) -> None:
        """``tr(Sigma) / m <= most``."""
        if self._knows(link, slice(0, 10)):
            self.reach[link.index] = min(self.reach[link.index], most)

    def total_within(self, links: Sequence[LinkView], lower: float, upper: float) -> None:
        """``lower <= sum of the masses <= upper``."""
        if all(self._knows(link, slice(9, 10)) for link in links):
            self.totals.append((tuple(link.index for link in links), lower, upper))

    def _knows(self, link: LinkView, entries: slice) -> bool:
        own = self._variables.links
        return link.index < len(own) and bool(
            ca.is_equal(link.parameters[entries], own[link.index].parameters[entries], 1)
        )


@dataclass(frozen=True, eq=False)
class LinkRegion:
    """Limits that every feasible point respects, infinite where there are none.

    Attributes
    ----------
    mass : tuple of float
        Lower and upper [kg].
    com : ndarray, shape (3, 2)
        [m]
    trace : float
        Upper bound of tr J = tr(I)/2 + m |c|^2 + m (mixed SI units).
    box : ndarray, shape (10,)
        Upper bound of each standard parameter's absolute value.
    """

    mass: tuple[float, float]
    com: Array
    trace: float
    box: Array

    @property
    def positive_mass(self) -> bool:
        """Whether no feasible body has a negative mass."""
        return self.mass[0] >= 0


def link_regions(facts: Facts, cones: Sequence[ConsistencyCone]) -> tuple[LinkRegion, ...]:
    """Region of every link, implied by the hard constraints and by each link's cone."""
    masses = facts.mass.copy()
    for k, cone in enumerate(cones):
        if cone.positive_mass:
            masses[k, 0] = max(masses[k, 0], 0.0)
    for links, _, upper in facts.totals:
        for k in links:
            others = sum(masses[j, 0] for j in links if j != k)
            masses[k, 1] = min(masses[k, 1], upper - others)
    return tuple(_region(facts, k, masses[k], cone) for k, cone in enumerate(cones))


def com_quotients(link: int, com: Array) -> dict[tuple[int, int], Array]:
    """Boxes of a link's centre of mass, shape (..., 3, 2), as ranges of first moment over mass."""
    return {(moment_slice(link).start + axis, mass_index(link)): com[..., axis, :] for axis in range(3)}


def region_box(
    regions: Sequence[LinkRegion], extras: Sequence[tuple[float, float]], margins: Sequence[float] | None = None
) -> Box:
    """Bounds of all unknowns, shape (N,) each, and those of their quotients first moment over mass.

    Parameters
    ----------
    regions
        One a link.
    extras
        Bounds of the unknowns behind the links' parameters.
    margins
        Least eigenvalue of each link's pseudo-inertia, 0 where it need not be positive: the mass is at least as large,
        the diagonal of the inertia twice. ``None``: bounds of absolute values only.
    """
    lows, highs, quotients = [], [], dict[tuple[int, int], Array]()
    for k, region in enumerate(regions):
        low, high = -region.box, region.box.copy()
        if margins is not None:
            low[-1], high[-1] = region.mass
            if margins[k] > 0:
                low[MOMENTS], low[-1] = 2 * margins[k], max(region.mass[0], margins[k])
        lows.append(low)
        highs.append(high)
        quotients.update(com_quotients(k, region.com))
    ends = np.array(extras, dtype=float).reshape(-1, 2)
    return np.concatenate([*lows, ends[:, 0]]), np.concatenate([*highs, ends[:, 1]]), quotients


def _region(facts: Facts, k: int, mass: Array, cone: ConsistencyCone) -> LinkRegion:
    com, inertia, reach = facts.com[k], facts.inertia_com[k], float(facts.reach[k])
    consistent = cone.positive_mass
    mass_max = float(np.abs(mass).max())
    com_max = np.abs(com).max(axis=1)
    upper = inertia[MOMENTS, 1].copy()
    if cone.triangle:  # one principal moment is at most the sum of the other two
        for axis in range(3):
            upper[axis] = min(upper[axis], upper[(axis + 1) % 3] + upper[(axis + 2) % 3])
    moment = np.array([_product(mass_max, c) for c in com_max])
    steiner = np.array([_product(mass_max, sum(com_max[j] ** 2 for j in range(3) if j != i)) for i in range(3)])
    lower = np.zeros(3) if consistent else inertia[MOMENTS, 0]
    diagonal = np.maximum(np.abs(upper), np.abs(lower)) + steiner
    off = []
    for position, (i, j) in ((1, (0, 1)), (2, (0, 2)), (4, (1, 2))):
        own = np.abs(inertia[position]).max() + _product(mass_max, _product(com_max[i], com_max[j]))
        off.append(min(own, (diagonal[i] + diagonal[j]) / 2) if consistent else own)
    if consistent:  # tr L = 2 tr Sigma <= 2 m reach, and m |c|^2 <= tr L / 2
        diagonal = np.minimum(diagonal, 2 * _product(mass_max, reach))
        off = [min(value, _product(mass_max, reach)) for value in off]
        moment = np.minimum(moment, _product(mass_max, float(np.sqrt(max(reach, 0.0)))))
    box = np.array([diagonal[0], off[0], off[1], diagonal[1], off[2], diagonal[2], *moment, mass_max])
    trace = float(upper.sum() / 2 + mass_max + _product(mass_max, float(np.sum(com_max**2))))
    trace = min(trace, mass_max + _product(mass_max, reach))
    return LinkRegion((float(mass[0]), float(mass[1])), com, trace if consistent else np.inf, box)


def _product(a: float, b: float) -> float:
    """Product of two bounds, where zero times an infinite bound is zero."""
    return 0.0 if a == 0.0 or b == 0.0 else float(a * b)
