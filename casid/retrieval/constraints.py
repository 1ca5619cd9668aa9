"""Constraints on link quantities: the builders of every retrieval problem, and any CasADi expression with bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError
from casid.inertia import TENSOR_INDEX
from casid.retrieval.variables import LinkVariables, LinkView

Quantity = Literal["", "mass", "com", "inertia_com", "total_mass", "gyration"]
ConsistencyKind = Literal["full", "semi", "none"]

#: Default margin of physical consistency: ``J >= margin 1`` (SI units).
DEFAULT_MARGIN = 1e-6


def _bound(value: ArrayLike, size: int, label: str, side: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise ProblemError(f"constraint '{label}': {side} bound must be a number or an array of numbers") from None
    if array.size not in (1, size):
        raise ProblemError(f"constraint '{label}': expected 1 or {size} {side} bounds, got {array.size}")
    if np.isnan(array).any():
        raise ProblemError(f"constraint '{label}': {side} bound is NaN")
    array = np.full(size, array[0]) if array.size == 1 else array.copy()
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Constraint:
    """``lower <= expression <= upper``, entry by entry.

    Attributes
    ----------
    label : str
        Its name in reports and errors.
    expression : SX
        Any CasADi expression of the problem's variables; a matrix is taken entry by entry, by columns. Expressions that
        are linear in the unknowns (mass, first moment, inertia about the origin, pseudo-inertia) keep the problem
        convex and its certificate tight. A bound that jumps (`casadi.if_else`) is allowed: only the branch taken at the
        present point acts on the solver, so use several starts.
    lower, upper : ndarray
        Infinite where free.
    weight : float or None
        ``None`` for a hard constraint; for a soft one the price of a unit of violation (exact l1 penalty, by slacks).
    quantity : str
        Set by the builders: which physical quantity this bounds. The solver then uses an equivalent better-behaved form
        (``l - m lower >= 0`` for a centre of mass) and the re-check plain numpy.
    links : tuple of int
        Set by the builders: positions of the links concerned.
    """

    label: str
    expression: ca.SX
    lower: Any = -np.inf  # numbers and arrays alike: broadcast below
    upper: Any = np.inf
    weight: float | None = None
    quantity: Quantity = ""
    links: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label:
            raise ProblemError(f"a constraint needs a label, a non-empty string; got {self.label!r}")
        if not isinstance(self.expression, ca.SX):
            raise ProblemError(
                f"constraint '{self.label}': the expression must be a casadi.SX of link quantities, got "
                f"{type(self.expression).__name__}"
            )
        size = int(self.expression.numel())
        if size == 0:
            raise ProblemError(f"constraint '{self.label}': the expression is empty")
        object.__setattr__(self, "expression", ca.densify(ca.vec(self.expression)))
        for side in ("lower", "upper"):
            object.__setattr__(self, side, _bound(getattr(self, side), size, self.label, side))
        crossing = np.flatnonzero((self.lower > self.upper) | (self.lower == np.inf) | (self.upper == -np.inf))
        if crossing.size:
            entry = "" if size == 1 else f" of entry {crossing[0]}"
            raise ProblemError(
                f"constraint '{self.label}': bounds cross: lower{entry} = {self.lower[crossing[0]]:.6g} exceeds "
                f"upper{entry} = {self.upper[crossing[0]]:.6g}"
            )
        if np.isinf(self.lower).all() and np.isinf(self.upper).all():
            raise ProblemError(f"constraint '{self.label}' bounds nothing: give lower, upper or both")
        if self.weight is not None and not (np.isfinite(self.weight) and self.weight > 0):
            raise ProblemError(f"constraint '{self.label}': the weight must be positive and finite, got {self.weight}")

    @property
    def size(self) -> int:
        """Number of scalar entries."""
        return int(self.lower.size)

    def violation(self, value: ArrayLike) -> float:
        """Largest amount by which a value of the expression leaves its bounds; infinite if the value is NaN."""
        value = np.asarray(value, dtype=float).reshape(-1)
        excess = np.maximum(self.lower - value, value - self.upper)
        return float("inf") if np.isnan(excess).any() else float(max(excess.max(), 0.0))


@dataclass(frozen=True, eq=False)
class PhysicalConsistency:
    """A link's cone: ``full`` (J >= margin 1), ``semi`` (6x6 spatial inertia >= margin 1) or ``none``."""

    link: int
    name: str
    kind: ConsistencyKind
    margin: float = DEFAULT_MARGIN

    def __post_init__(self) -> None:
        if self.kind not in ("full", "semi", "none"):
            raise ProblemError(f"link '{self.name}': consistency '{self.kind}' is none of 'full', 'semi', 'none'")
        if not (np.isfinite(self.margin) and self.margin >= 0):
            raise ProblemError(f"link '{self.name}': the margin must be finite and >= 0, got {self.margin}")

    @property
    def label(self) -> str:
        """Name in reports."""
        return f"{self.name} {'pseudo-inertia' if self.kind == 'full' else 'spatial inertia'}"


def soften(constraint: Constraint, weight: float) -> Constraint:
    """The same constraint, soft: each unit of violation costs ``weight`` in the objective (exact l1 penalty).

    The unit is that of the expression, except for `com_box` (kg.m: the violation of ``l - m lower >= 0``) and
    `inertia_bounds` (kg^2.m^2: that of ``m (I - lower) >= 0``), whose solver forms are softened.
    """
    return replace(constraint, weight=weight)


def mass_bounds(link: LinkView, lower: float | None = None, upper: float | None = None) -> Constraint:
    """``lower <= m <= upper`` [kg]; bounds not given are those of the robot description."""
    own = link.bounds.mass
    return Constraint(
        f"{link.name} mass",
        link.mass,
        own[0] if lower is None else lower,
        own[1] if upper is None else upper,
        quantity="mass",
        links=(link.index,),
    )


def com_box(link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> Constraint:
    """``lower <= c <= upper`` [m], axis by axis, in the link frame.

    The solver sees it as linear: ``l - m lower >= 0``.
    """
    own = link.bounds.com
    return Constraint(
        f"{link.name} com",
        link.com,
        own[:, 0] if lower is None else lower,
        own[:, 1] if upper is None else upper,
        quantity="com",
        links=(link.index,),
    )


def inertia_bounds(link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> Constraint:
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` about the centre of mass [kg.m^2].

    Lower bounds of the diagonal are convex. Upper ones are not, ``m (Lxx - upper) <= ly^2 + lz^2``; over a CoM box the
    certificate replaces them by the secant ``ly^2/m <= (a + b) ly - a b m``.
    """
    own = link.bounds.inertia_com
    tensor = link.inertia_com
    six = ca.vertcat(*[tensor[i, j] for i, j in TENSOR_INDEX])
    return Constraint(
        f"{link.name} inertia",
        six,
        own[:, 0] if lower is None else lower,
        own[:, 1] if upper is None else upper,
        quantity="inertia_com",
        links=(link.index,),
    )


def gyration_bound(link: LinkView, radius: float) -> Constraint:
    """``tr(Sigma) / m <= radius^2`` [m^2]: the mean square distance of a link's mass from the link-frame origin.

    Linear for the solver, ``tr(L)/2 <= radius^2 m``. A generous radius excludes no real body, keeps what the data do
    not determine within reason, and gives the certificate a bounded region.
    """
    trace = ca.trace(link.inertia) / 2
    return Constraint(
        f"{link.name} extent", trace / link.mass, upper=np.array([radius**2]), quantity="gyration", links=(link.index,)
    )


def total_mass(
    links: LinkVariables | Iterable[LinkView], lower: float = 0.0, upper: float = np.inf, label: str = "total mass"
) -> Constraint:
    """``lower <= sum of the links' masses <= upper`` [kg] (Gaz et al. 2019, eq. 30); of all links or of some."""
    links = tuple(links)
    return Constraint(
        label,
        ca.sum1(ca.vertcat(*[k.mass for k in links])),
        lower,
        upper,
        quantity="total_mass",
        links=tuple(k.index for k in links),
    )


def pseudo_inertia(link: LinkView, margin: float = DEFAULT_MARGIN) -> PhysicalConsistency:
    """``J >= margin 1``: positive mass, positive inertia and the triangle inequality (Wensing 2018)."""
    return PhysicalConsistency(link.index, link.name, "full", margin)


#: The triangle inequality (Gaz et al. 2019, eq. 16) with m > 0, I > 0 *is* a positive definite pseudo-inertia.
triangle_inequality = pseudo_inertia


def spatial_inertia(link: LinkView, margin: float = DEFAULT_MARGIN) -> PhysicalConsistency:
    """``[[L, S(l)'], [S(l), m 1]] >= margin 1``: positive mass and inertia only (Sousa 2014, eq. 3.5)."""
    return PhysicalConsistency(link.index, link.name, "semi", margin)


def no_consistency(link: LinkView) -> PhysicalConsistency:
    """Lifts the default: any numbers, physical or not."""
    return PhysicalConsistency(link.index, link.name, "none", 0.0)


def robot_bounds(variables: LinkVariables) -> tuple[Constraint, ...]:
    """All bounds that the robot description gives: masses, centres of mass, inertias, total mass."""
    constraints: list[Constraint] = []
    for link in variables.links:
        for bounds, build in (
            (link.bounds.mass, mass_bounds),
            (link.bounds.com, com_box),
            (link.bounds.inertia_com, inertia_bounds),
        ):
            if np.isfinite(bounds).any():
                constraints.append(build(link))
    lower, upper = variables.robot.total_mass
    if lower > 0 or np.isfinite(upper):
        constraints.append(total_mass(variables, lower, upper))
    return tuple(constraints)


#: What `sensible_bounds` assumes where a description is silent: kg a link, times the nominal mass, smallest radius [m].
LARGEST_MASS, NOMINAL_TIMES, SMALLEST_RADIUS = 100.0, 4.0, 1.0


def sensible_bounds(variables: LinkVariables) -> tuple[Constraint, ...]:
    """`robot_bounds`, and generous limits of mass and extent for links that it leaves unbounded.

    A link without bounds on its mass weighs at most four times its nominal mass, or 100 kg where none is known; its
    radius of gyration about the link frame's origin is at most 1 m, or twice the length of the robot's longest
    placement.
    """
    constraints = list(robot_bounds(variables))
    heavy = [c for c in constraints if c.quantity in ("mass", "total_mass") and np.isfinite(c.upper).all()]
    bounded = {k for c in heavy for k in c.links}
    joints = variables.robot.joints
    lengths = [np.linalg.norm(p[:3, 3]) for joint in joints for p in (joint.placement, joint.link_placement)]
    radius = max(SMALLEST_RADIUS, 2.0 * float(max(lengths)))
    for view, link in zip(variables.links, variables.robot.links, strict=True):
        if view.index not in bounded:
            most = LARGEST_MASS if link.inertial is None else max(NOMINAL_TIMES * link.inertial.mass, 1.0)
            constraints = [c for c in constraints if not (c.quantity == "mass" and c.links == (view.index,))]
            constraints.append(mass_bounds(view, max(float(view.bounds.mass[0]), 0.0), most))
        constraints.append(gyration_bound(view, radius))
    return tuple(constraints)
