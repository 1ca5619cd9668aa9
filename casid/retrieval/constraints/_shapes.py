"""Constraints of what is known of a link: shapes that hold its centre of mass or its body, symmetry, equality, meshes.

Each shape of a centre of mass comes with the box around it, which is redundant, but scales the solver and bounds the
certificate's region. All constraints but `either` describe convex sets.

Softened, a shape is one constraint: the distance outside [m], of the farthest of its faces; it is priced times the
link's mass, ``m d(l/m)``, which is convex in the unknowns while the distance alone is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import ProblemError
from casid.expressions import affine_rows
from casid.retrieval._variables import LinkView
from casid.retrieval.constraints._constraint import ComBox, Constraint, Constraints, ScalarRow, Setting, Side, flattened

#: Curvature radius of a soft shape at its axis, where a norm has no slope, as a share of its size.
_ROUND = 1e-6


@dataclass(frozen=True, eq=False)
class Known(Constraint):
    """A constraint whose entries have known units: one for all, or one each."""

    units: Sequence[str] = ()

    def unit_of(self, entry: int) -> str:
        """See `Constraint.unit_of`."""
        return self.units[entry % len(self.units)]


@dataclass(frozen=True, eq=False)
class _Height(Known):
    part_of_shape = True


@dataclass(frozen=True, eq=False)
class _Box(ComBox):
    part_of_shape = True


@dataclass(frozen=True, eq=False)
class Shape(Known):
    """A set of centres of mass: hard as it is stated; soft by the distance outside, ``outside / m <= 0`` [m].

    Attributes
    ----------
    outside : SX, shape (K, 1)
        Mass times the distance outside each face [kg.m]: convex and homogeneous in the first moment and the mass.
    link : LinkView
    """

    outside: ca.SX = field(kw_only=True)
    link: LinkView = field(kw_only=True)
    shared = True

    def soften(self, weight: float) -> Shape:
        """See `Constraint.soften`."""
        if not self.hard:
            return replace(self, weight=weight)
        return replace(
            self, expression=self.outside / self.link.mass, lower=-np.inf, upper=0.0, weight=weight, units=("m",)
        )

    def moved(self, x: ca.SX, to: ca.SX, links: Sequence[LinkView]) -> Constraint:
        """See `Constraint.moved`."""
        if self.hard:
            return super().moved(x, to, links)
        expression, outside = ca.substitute([self.expression, self.outside], [x], [to])
        return replace(self, expression=expression, outside=outside, link=links[self.link.index])

    def own_rows(self, setting: Setting) -> Iterable[ScalarRow]:
        """Times the mass: the distance outside where soft; where hard the expression, which is then concave."""
        at, hard = self.link.index, self.weight is None
        if hard and (None not in affine_rows(self.expression, setting.x) or not setting.positive_mass[at]):
            return super().own_rows(setting)
        rows = self.link.mass * (self.expression - self.lower) if hard else self.outside
        side: Side = "lower" if hard else "upper"
        ends = (0.0, np.inf) if hard else (-np.inf, 0.0)
        return [
            ScalarRow(row, *ends, form is not None, entry, side, at)
            for entry, (row, form) in enumerate(zip(ca.vertsplit(rows), affine_rows(rows, setting.x), strict=True))
        ]

    def tangent(self, entry: int, x: ca.SX, point: Array) -> Array:
        """See `Constraint.tangent`."""
        slope = ca.Function("slope", [x], [ca.jacobian(self.outside[entry], x)])(point)
        return np.array(ca.densify(slope)).reshape(-1)


def _norm(vector: ca.SX, mass: ca.SX, size: float) -> ca.SX:
    """Length of a vector [kg.m], less at most ``_ROUND size m``: smooth where it vanishes, and convex."""
    least = _ROUND * size * mass
    return ca.sqrt(ca.sumsqr(vector) + least**2) - least


def com_in_cylinder(link: LinkView, start: ArrayLike, end: ArrayLike, radius: float) -> tuple[Constraint, ...]:
    """Inside the cylinder whose axis runs from ``start`` to ``end``, in the link frame [m]."""
    return com_in_cone(link, start, end, radius, radius, "cylinder")


def com_in_cone(
    link: LinkView,
    start: ArrayLike,
    end: ArrayLike,
    start_radius: float,
    end_radius: float,
    name: str = "truncated cone",
) -> tuple[Constraint, ...]:
    """Inside the truncated cone whose axis runs from ``start`` to ``end``; each end has its radius [m].

    With s the height of the centre of mass along the axis of length h: ``r(s)^2 - |distance to the axis|^2 >= 0, 0 <=
    s <= h``.
    """
    label = f"{link.name} com in {name}"
    first, last = _point(start, label, "start"), _point(end, label, "end")
    radii = _positive(start_radius, label, "radius", zero=True), _positive(end_radius, label, "radius", zero=True)
    axis = last - first
    height = float(np.linalg.norm(axis))
    if height == 0 or max(radii) == 0:
        raise ProblemError(
            f"constraint '{label}': the shape has no volume (height {height:g} m, radii {radii[0]:g}, {radii[1]:g} m)"
        )
    unit, slope = axis / height, (radii[1] - radii[0]) / height
    away = link.com - ca.DM(first)
    along = ca.dot(ca.DM(unit), away)
    across = away - along * ca.DM(unit)
    radius = radii[0] + slope * along
    low = ca.dot(ca.DM(unit), link.first_moment) - float(unit @ first) * link.mass
    high = height * link.mass - low
    aside = link.first_moment - ca.DM(first) * link.mass
    side = _norm(aside - low * ca.DM(unit), link.mass, max(radii)) - radii[0] * link.mass - slope * low
    outside = ca.vertcat(side / np.hypot(1.0, slope), -low, -high)
    spread = np.sqrt(np.maximum(1 - unit**2, 0.0))
    ends = np.stack(
        [first - radii[0] * spread, first + radii[0] * spread, last - radii[1] * spread, last + radii[1] * spread]
    )
    return (
        Shape(label, radius**2 - ca.sumsqr(across), lower=0.0, units=("m^2",), outside=outside, link=link),
        # linear in the unknowns: 0 <= m s <= m h
        _Height(f"{label}: height", ca.vertcat(low, high), lower=0.0, units=("kg.m",)),
        _box(link, label, ends.min(axis=0), ends.max(axis=0)),
    )


def com_in_sphere(link: LinkView, centre: ArrayLike, radius: float) -> tuple[Constraint, ...]:
    """Inside the sphere [m]."""
    label = f"{link.name} com in sphere"
    middle, size = _point(centre, label, "centre"), _positive(radius, label, "radius")
    outside = _norm(link.first_moment - ca.DM(middle) * link.mass, link.mass, size) - size * link.mass
    inside = size**2 - ca.sumsqr(link.com - ca.DM(middle))
    return (
        Shape(label, inside, lower=0.0, units=("m^2",), outside=outside, link=link),
        _box(link, label, middle - size, middle + size),
    )


def com_in_ellipsoid(
    link: LinkView, centre: ArrayLike, semi_axes: ArrayLike, rotation: ArrayLike | None = None
) -> tuple[Constraint, ...]:
    """Inside the ellipsoid with these semi-axes [m], along the columns of ``rotation`` (default: the link's axes).

    Softened, the distance outside is the share by which it exceeds the ellipsoid, times the smallest semi-axis.
    """
    label = f"{link.name} com in ellipsoid"
    middle, axes, turn = ellipsoid(label, centre, semi_axes, rotation)
    along = ca.DM(turn.T) @ (link.com - ca.DM(middle))
    moment = ca.DM(turn.T) @ (link.first_moment - ca.DM(middle) * link.mass) / ca.DM(axes)
    outside = float(axes.min()) * (_norm(moment, link.mass, 1.0) - link.mass)
    reach = np.sqrt(((turn * axes) ** 2).sum(axis=1))
    return (
        Shape(label, 1.0 - ca.sumsqr(along / ca.DM(axes)), lower=0.0, units=("",), outside=outside, link=link),
        _box(link, label, middle - reach, middle + reach),
    )


def com_in_hull(link: LinkView, points: ArrayLike) -> tuple[Constraint, ...]:
    """Inside the convex hull of points (the vertices of a mesh), shape (K, 3), in the link frame [m].

    Linear in the unknowns: ``n'l <= d m``.
    """
    from scipy.spatial import ConvexHull, QhullError  # imported late: it takes its time

    label = f"{link.name} com in hull"
    vertices = np.asarray(points, dtype=float)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
        raise ProblemError(f"constraint '{label}': expected finite points of shape (K, 3), got shape {vertices.shape}")
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        raise ProblemError(
            f"constraint '{label}': {len(vertices)} points span no volume; give at least four that are not coplanar"
        ) from None
    planes = np.unique(hull.equations.round(12), axis=0)
    rows = -(ca.DM(planes[:, :3]) @ link.first_moment + ca.DM(planes[:, 3]) * link.mass)
    return (
        Shape(label, rows, lower=0.0, units=("kg.m",), outside=-rows, link=link),
        _box(link, label, vertices.min(axis=0), vertices.max(axis=0)),
    )


def either(label: str, *options: Constraints) -> Constraint:
    """At least one of several sets of constraints holds: bolted here, or bolted there.

    Every option is a hard constraint, a relation or several; ``method="branches"`` solves one problem an option, so
    that the best one is found and certified. ``max over options of min over rows >= 0`` in CasADi terms.

    Raises
    ------
    ProblemError
        If there are fewer than two options, or one is empty or soft.
    """
    if len(options) < 2:
        raise ProblemError(f"constraint '{label}': give at least two options, got {len(options)}")
    smallest = []
    for number, option in enumerate(options, start=1):
        rows = []
        for constraint in flattened(option, f"constraint '{label}'"):
            if constraint.weight is not None:
                raise ProblemError(
                    f"constraint '{label}': '{constraint.label}' of option {number} is soft; options must be hard"
                )
            for entry in range(constraint.size):
                if np.isfinite(constraint.lower[entry]):
                    rows.append(constraint.expression[entry] - constraint.lower[entry])
                if np.isfinite(constraint.upper[entry]):
                    rows.append(constraint.upper[entry] - constraint.expression[entry])
        if not rows:
            raise ProblemError(f"constraint '{label}': option {number} has no constraint")
        smallest.append(reduce(ca.fmin, rows))
    return Constraint(label, reduce(ca.fmax, smallest), lower=0.0)


def ellipsoid(
    label: str, centre: ArrayLike, semi_axes: ArrayLike, rotation: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Checked centre (3,), semi-axes (3,) and rotation (3, 3)."""
    middle = _point(centre, label, "centre")
    axes = _point(np.broadcast_to(np.asarray(semi_axes, dtype=float), (3,)), label, "semi-axes")
    if (axes <= 0).any():
        raise ProblemError(f"constraint '{label}': semi-axes must be positive, got {axes.tolist()}")
    turn = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    if turn.shape != (3, 3) or not np.allclose(turn @ turn.T, np.eye(3), atol=1e-9):
        raise ProblemError(f"constraint '{label}': the rotation must be an orthogonal 3 x 3 matrix")
    return middle, axes, turn


def _box(link: LinkView, label: str, low: Array, high: Array) -> Constraint:
    return _Box(f"{label}: box", low, high, links=(link,))


def _point(value: ArrayLike, label: str, what: str) -> Array:
    point = np.asarray(value, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ProblemError(f"constraint '{label}': {what} must be three finite numbers [m], got {value!r}")
    return point


def _positive(value: float, label: str, what: str, zero: bool = False) -> float:
    if not (np.isfinite(value) and (value > 0 or (zero and value == 0))):
        raise ProblemError(
            f"constraint '{label}': the {what} must be {'non-negative' if zero else 'positive'}, got {value}"
        )
    return float(value)


_AXES = "xyz"


def symmetric_link(link: LinkView, plane: Literal["xy", "xz", "yz"], offset: float = 0.0) -> Constraint:
    """Mirror symmetry about a plane of the link frame, shifted by ``offset`` along its normal [m].

    The first moment and the products of inertia across the plane vanish: with normal n, ``l_n = m offset`` and
    ``Sigma_na = offset l_a``, where ``Sigma_na = -L_na``.
    """
    if plane not in ("xy", "xz", "yz"):
        raise ProblemError(f"link '{link.name}': the plane of symmetry is 'xy', 'xz' or 'yz', got '{plane}'")
    normal = next(axis for axis in range(3) if _AXES[axis] not in plane)
    rows = [link.first_moment[normal] - offset * link.mass]
    rows += [link.inertia[normal, a] + offset * link.first_moment[a] for a in range(3) if a != normal]
    units = ("kg.m", "kg.m^2", "kg.m^2")
    return Known(f"{link.name} symmetric about {plane}", ca.vertcat(*rows), 0.0, 0.0, units=units)


def axisymmetric_link(link: LinkView, axis: Literal["x", "y", "z"]) -> Constraint:
    """A body of revolution about an axis of the link frame: its centre of mass on it, its other moments equal."""
    if axis not in ("x", "y", "z"):
        raise ProblemError(f"link '{link.name}': the axis of symmetry is 'x', 'y' or 'z', got '{axis}'")
    k = _AXES.index(axis)
    a, b = (k + 1) % 3, (k + 2) % 3
    inertia, moment = link.inertia, link.first_moment
    rows = [moment[a], moment[b], inertia[0, 1], inertia[0, 2], inertia[1, 2], inertia[a, a] - inertia[b, b]]
    units = ("kg.m",) * 2 + ("kg.m^2",) * 4
    return Known(f"{link.name} of revolution about {axis}", ca.vertcat(*rows), 0.0, 0.0, units=units)


def equal_links(first: LinkView, second: LinkView) -> Constraint:
    """Two links are the same part: all ten parameters, each in its own link frame, are equal."""
    if first.index == second.index:
        raise ProblemError(f"equal links: '{first.name}' was given twice")
    units = ("kg.m^2",) * 6 + ("kg.m",) * 3 + ("kg",)
    rows = first.parameters - second.parameters
    return Known(f"{first.name} equals {second.name}", rows, 0.0, 0.0, units=units)


def body_in_ellipsoid(
    link: LinkView,
    centre: ArrayLike,
    semi_axes: ArrayLike,
    rotation: ArrayLike | None = None,
    density: float | None = None,
) -> tuple[Constraint, ...]:
    """The link's mass lies within an ellipsoid (Wensing, Kim, Slotine 2018), nowhere denser than ``density`` [kg/m^3].

    With the ellipsoid ``[r; 1]' Q [r; 1] >= 0``, a mass distribution inside it has ``tr(J Q) >= 0``; linear in the
    unknowns, and exact: every consistent J that meets it has one.

    With a density d, let y be the coordinates in which the ellipsoid is the unit ball, M its mass when it is full, and
    q any quadratic of y. A distribution of a density between 0 and d has ``int q dm <= M mean(max(q, 0))``, the mean
    over the ball: it is largest where all of q > 0 is full. These rows are linear as well, and no such body misses
    one. They are taken for ``q = +-(s - a^2)`` with the squared distances s from the centre, from planes through it and
    from lines through it, normal or parallel to each axis and each bisector of two axes, a = 0.2, 0.4, 0.6, 0.8: mass
    at the surface alone is excluded, and more mass in a smaller part than that can hold. They are necessary, not
    sufficient.
    """
    label = f"{link.name} within its ellipsoid"
    middle, axes, turn = ellipsoid(label, centre, semi_axes, rotation)
    to_ball = np.eye(4)
    to_ball[:3, :3] = turn.T / axes[:, None]
    to_ball[:3, 3] = -to_ball[:3, :3] @ middle
    J = ca.DM(to_ball) @ link.pseudo_inertia @ ca.DM(to_ball).T
    inside = Constraint(label, J[3, 3] - ca.trace(J[:3, :3]), lower=0.0)
    if density is None:
        return (inside,)
    if not (np.isfinite(density) and density > 0):
        raise ProblemError(f"constraint '{label}': the density must be positive [kg/m^3], got {density}")
    most = density * 4 / 3 * np.pi * float(axes.prod())
    rows = ca.vertcat(*_density_rows(J / most))
    return (
        inside,
        Constraint(f"{link.name} mass within its ellipsoid", link.mass, upper=most),
        Constraint(f"{link.name} density within its ellipsoid", rows, lower=0.0),
    )


#: Distances a of `body_in_ellipsoid`, in units of the ball's radius: the rows are tangents of what a mass allows.
#: Nine of them, and more directions, left the same answer to five digits.
_DISTANCES = (0.2, 0.4, 0.6, 0.8)


def _density_rows(J: ca.SX) -> Iterator[ca.SX]:
    """Rows >= 0 of a pseudo-inertia in the coordinates of the ball, in units of the full ball's mass."""
    mass, total = J[3, 3], ca.trace(J[:3, :3])

    def both(square: ca.SX, a: float, beyond: float, mean: float) -> Iterator[ca.SX]:
        """Of ``s - a^2`` and its negative; ``beyond``: the ball's mean of ``max(s - a^2, 0)``, ``mean``: of s."""
        moment = square - a * a * mass
        yield beyond - moment
        yield beyond - (mean - a * a) + moment

    lines = [np.array(v, dtype=float) for v in product((-1, 0, 1), repeat=3) if sum(map(abs, v)) in (1, 2)]
    for a in _DISTANCES:
        yield from both(total, a, 3 * ((1 - a**5) / 5 - a * a * (1 - a**3) / 3), 3 / 5)
        for line in lines[: len(lines) // 2]:  # the others are their opposites
            n = ca.DM(line / np.linalg.norm(line))
            along = ca.dot(n, J[:3, :3] @ n)
            yield from both(along, a, 1 / 5 - a**2 + a**3 - a**5 / 5, 1 / 5)
            yield from both(total - along, a, 2 / 5 * (1 - a * a) ** 2.5, 2 / 5)
