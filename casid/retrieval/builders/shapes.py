"""Where a link's centre of mass can be: cylinder, truncated cone, sphere, ellipsoid, convex hull of points; either-or.

Each builder returns constraints on ``link.com``, with the box around the shape, which says nothing new but scales the
solver and bounds the certificate's region. All but `either` describe convex sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError
from casid.retrieval.constraints import Constraint, com_box
from casid.retrieval.variables import LinkView

Array = NDArray[np.float64]


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
    unit = axis / height
    away = link.com - ca.DM(first)
    along = ca.dot(ca.DM(unit), away)
    across = away - along * ca.DM(unit)
    radius = radii[0] + (radii[1] - radii[0]) / height * along
    spread = np.sqrt(np.maximum(1 - unit**2, 0.0))
    ends = np.stack(
        [first - radii[0] * spread, first + radii[0] * spread, last - radii[1] * spread, last + radii[1] * spread]
    )
    return (
        Constraint(label, radius**2 - ca.sumsqr(across), lower=0.0),
        # linear in the unknowns: 0 <= m s <= m h
        Constraint(f"{label}: height", ca.vertcat(*_heights(link, unit, first, height)), lower=0.0),
        _box(link, label, ends.min(axis=0), ends.max(axis=0)),
    )


def com_in_sphere(link: LinkView, centre: ArrayLike, radius: float) -> tuple[Constraint, ...]:
    """Inside the sphere [m]."""
    label = f"{link.name} com in sphere"
    middle, size = _point(centre, label, "centre"), _positive(radius, label, "radius")
    return (
        Constraint(label, size**2 - ca.sumsqr(link.com - ca.DM(middle)), lower=0.0),
        _box(link, label, middle - size, middle + size),
    )


def com_in_ellipsoid(
    link: LinkView, centre: ArrayLike, semi_axes: ArrayLike, rotation: ArrayLike | None = None
) -> tuple[Constraint, ...]:
    """Inside the ellipsoid with these semi-axes [m], along the columns of ``rotation`` (default: the link's axes)."""
    label = f"{link.name} com in ellipsoid"
    middle, axes, turn = ellipsoid(label, centre, semi_axes, rotation)
    along = ca.DM(turn.T) @ (link.com - ca.DM(middle))
    reach = np.sqrt(((turn * axes) ** 2).sum(axis=1))
    return (
        Constraint(label, 1.0 - ca.sumsqr(along / ca.DM(axes)), lower=0.0),
        _box(link, label, middle - reach, middle + reach),
    )


def com_in_hull(link: LinkView, points: ArrayLike) -> tuple[Constraint, ...]:
    """Inside the convex hull of points, shape (K, 3), in the link frame [m]; linear in the unknowns: ``n'l <= d m``.

    The vertices of a mesh (`casid.retrieval.builders.mesh.read_stl`) give the convex hull of the link.
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
        Constraint(label, rows, lower=0.0),
        _box(link, label, vertices.min(axis=0), vertices.max(axis=0)),
    )


def either(label: str, *options: Sequence[Constraint]) -> Constraint:
    """At least one of several sets of constraints holds: bolted here, or bolted there.

    Every option is a sequence of hard constraints; ``method=Branches()`` solves one problem an option, so
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
        for constraint in option:
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
        least = rows[0]
        for row in rows[1:]:
            least = ca.fmin(least, row)
        smallest.append(least)
    best = smallest[0]
    for other in smallest[1:]:
        best = ca.fmax(best, other)
    return Constraint(label, best, lower=0.0)


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


def _heights(link: LinkView, unit: Array, first: Array, height: float) -> tuple[ca.SX, ca.SX]:
    along = ca.dot(ca.DM(unit), link.first_moment) - float(unit @ first) * link.mass
    return along, height * link.mass - along


def _box(link: LinkView, label: str, low: Array, high: Array) -> Constraint:
    return com_box(link, low, high, label=f"{label}: box")


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
