"""Bounds on physical quantities of links: masses, centres of mass, extent, inertias; all that any link obeys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError
from casid.inertia import MOMENTS, TENSOR_INDEX
from casid.retrieval._region import Facts, Quadric
from casid.retrieval._variables import LinkVariables, LinkView
from casid.retrieval.constraints._constraint import Constraint, ScalarRow, Setting, Side

#: What `sensible_bounds` assumes where a description has no bounds: kg a link, times the nominal mass, radius [m].
LARGEST_MASS, NOMINAL_TIMES, SMALLEST_RADIUS = 100.0, 4.0, 1.0
_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class LinkConstraint(Constraint):
    """Bounds on a physical quantity of links: the expression follows from the links and cannot be replaced.

    Attributes
    ----------
    links : tuple of LinkView
        Links that the quantity belongs to.
    """

    expression: ca.SX = field(init=False)
    links: tuple[LinkView, ...] = ()

    def moved(self, x: ca.SX, to: ca.SX, links: Sequence[LinkView]) -> Constraint:
        """See `Constraint.moved`: the same quantity of other links."""
        return replace(self, links=tuple(links[link.index] for link in self.links))


@dataclass(frozen=True, eq=False)
class TotalMass(LinkConstraint):
    """``lower <= sum of the links' masses <= upper`` [kg]; of one link or of several."""

    quantity: ClassVar[str] = "total mass"
    unit: ClassVar[str] = "kg"
    step: ClassVar[float] = 0.1

    def _quantity(self) -> ca.SX:
        return ca.SX(ca.sum1(ca.vertcat(*[link.mass for link in self.links])))

    def add_facts(self, facts: Facts) -> None:
        facts.total_within(self.links, float(self.lower[0]), float(self.upper[0]))


@dataclass(frozen=True, eq=False)
class MassBounds(TotalMass):
    """``lower <= m <= upper`` [kg] of one link."""

    quantity: ClassVar[str] = "mass"
    hard_in_algorithm_1: ClassVar[bool] = True

    def add_facts(self, facts: Facts) -> None:
        facts.within("mass", self.links[0], float(self.lower[0]), float(self.upper[0]))


def mass_bounds(link: LinkView, lower: float | None = None, upper: float | None = None) -> MassBounds:
    """``lower <= m <= upper`` [kg]; bounds not given are those of the robot description."""
    own = link.bounds.mass
    low, high = own[0] if lower is None else lower, own[1] if upper is None else upper
    return MassBounds(f"{link.name} mass", low, high, links=(link,))


def total_mass(
    links: LinkVariables | Iterable[LinkView], lower: float = 0.0, upper: float = np.inf, label: str = "total mass"
) -> TotalMass:
    """``lower <= sum of the links' masses <= upper`` [kg] (Gaz et al. 2019, eq. 30); of all links or of some."""
    return TotalMass(label, lower, upper, links=tuple(links))


@dataclass(frozen=True, eq=False)
class ComBox(LinkConstraint):
    """``lower <= c <= upper`` [m], axis by axis; for the solver linear: ``l - m lower >= 0``, ``m upper - l >= 0``."""

    quantity: ClassVar[str] = "centre of mass"
    entries: ClassVar[Sequence[str]] = _AXES
    unit: ClassVar[str] = "m"
    step: ClassVar[float] = 0.01
    hard_in_algorithm_1: ClassVar[bool] = True

    def _quantity(self) -> ca.SX:
        return self.links[0].com

    def quotient(self) -> tuple[ca.SX, LinkView]:
        return self.links[0].first_moment, self.links[0]

    def add_facts(self, facts: Facts) -> None:
        facts.within("com", self.links[0], self.lower, self.upper)


def com_box(
    link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None, label: str | None = None
) -> ComBox:
    """``lower <= c <= upper`` [m], axis by axis, in the link frame; bounds not given are those of the description.

    Linear for the solver: ``l - m lower >= 0``.
    """
    own = link.bounds.com
    low, high = own[:, 0] if lower is None else lower, own[:, 1] if upper is None else upper
    return ComBox(label or f"{link.name} com", low, high, links=(link,))


@dataclass(frozen=True, eq=False)
class GyrationBound(LinkConstraint):
    """``tr(Sigma) / m <= radius^2`` [m^2]; for the solver linear, ``radius^2 m - tr(L)/2 >= 0``."""

    quantity: ClassVar[str] = "extent"
    unit: ClassVar[str] = "m^2"
    step: ClassVar[float] = 0.01

    def _quantity(self) -> ca.SX:
        return ca.trace(self.links[0].inertia) / 2 / self.links[0].mass

    def quotient(self) -> tuple[ca.SX, LinkView]:
        return ca.SX(ca.trace(self.links[0].inertia) / 2), self.links[0]

    def add_facts(self, facts: Facts) -> None:
        facts.reach_below(self.links[0], float(self.upper[0]))


def gyration_bound(link: LinkView, radius: float) -> GyrationBound:
    """``tr(Sigma) / m <= radius^2`` [m^2]: the mean square distance of a link's mass from the link-frame origin.

    Linear for the solver, ``tr(L)/2 <= radius^2 m``. A generous radius excludes no real body, keeps what the data do
    not determine within reason, and gives the certificate a bounded region.

    Raises
    ------
    ProblemError
        If the radius is not positive and finite.
    """
    if not (np.isfinite(radius) and radius > 0):
        raise ProblemError(f"constraint '{link.name} extent': the radius must be positive and finite, got {radius}")
    return GyrationBound(f"{link.name} extent", upper=radius**2, links=(link,))


@dataclass(frozen=True, eq=False)
class InertiaBounds(LinkConstraint):
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` [kg.m^2]; for the solver ``m (L - bound) - steiner``, no division."""

    quantity: ClassVar[str] = "inertia"
    entries: ClassVar[Sequence[str]] = tuple(_AXES[i] + _AXES[j] for i, j in TENSOR_INDEX)
    unit: ClassVar[str] = "kg.m^2"
    step: ClassVar[float] = 0.01
    hard_in_algorithm_1: ClassVar[bool] = True
    kept_in_relaxation: ClassVar[bool] = True

    def _quantity(self) -> ca.SX:
        tensor = self.links[0].inertia_com
        return ca.vertcat(*[tensor[i, j] for i, j in TENSOR_INDEX])

    def own_rows(self, setting: Setting) -> list[ScalarRow] | None:
        """Rows for the solver, those that the triangle inequality implies left out.

        With J > 0 the diagonal of I is positive and ``|Ixy| <= Izz / 2``, so that non-positive lower bounds of the
        diagonal, and bounds of ``Ixy`` beyond half the upper bound of ``Izz``, are redundant.
        """
        link = self.links[0]
        if not setting.positive_mass[link.index]:
            return None
        implied, found = setting.triangle[link.index] and self.weight is None, []
        for entry, (i, j) in enumerate(TENSOR_INDEX):
            sides: tuple[tuple[float, Side], ...] = (
                (float(self.lower[entry]), "lower"),
                (float(self.upper[entry]), "upper"),
            )
            for bound, side in sides:
                if np.isfinite(bound) and not (implied and self._implied(entry, bound, side)):
                    row = link.mass * (link.inertia[i, j] - bound) - _steiner(link, i, j)
                    low, high = (0.0, np.inf) if side == "lower" else (-np.inf, 0.0)
                    found.append(ScalarRow(row, low, high, False, entry, side, link.index))
        return found

    def _implied(self, entry: int, bound: float, side: Side) -> bool:
        i, j = TENSOR_INDEX[entry]
        if i == j:
            return side == "lower" and bound <= 0
        reach = self.upper[MOMENTS[3 - i - j]] / 2
        return bool(abs(bound) >= reach and (bound <= 0 if side == "lower" else bound >= 0))

    def quadric(self, entry: int, setting: Setting) -> Quadric:
        i, j = TENSOR_INDEX[entry]
        inertia, square = np.zeros(6), np.zeros((3, 3))
        inertia[entry] = 1.0
        if i == j:
            square[[a for a in range(3) if a != i], [a for a in range(3) if a != i]] = -1.0
        else:
            square[i, j] = square[j, i] = 0.5
        return Quadric(self.links[0].index, 1, inertia, np.zeros(3), 0.0, square)

    def add_facts(self, facts: Facts) -> None:
        facts.within("inertia_com", self.links[0], self.lower, self.upper)

    def with_secants(self, com: NDArray[np.float64]) -> tuple[Constraint, tuple[ca.SX, ...]]:
        """Upper bounds of the diagonal as secants ``ly^2/m <= (a + b) ly - a b m``; products of inertia left out."""
        link = self.links[0]
        diagonal = np.isin(np.arange(6), MOMENTS)
        lower, rows = np.where(diagonal, self.lower, -np.inf), []
        for axis, entry in enumerate(MOMENTS):
            across = [a for a in range(3) if a != axis]
            box = com[link.index]
            if np.isfinite(self.upper[entry]) and np.isfinite(box[across]).all():
                steiner = sum(
                    (box[a].sum() * link.first_moment[a] - box[a].prod() * link.mass for a in across), ca.SX(0)
                )
                rows.append(self.upper[entry] - (link.parameters[entry] - steiner))
        if not np.isfinite(lower).any():
            lower = np.where(diagonal, -1e6, -np.inf)  # a constraint must bound something; inertias are positive
        return replace(self, lower=lower, upper=np.full(6, np.inf)), tuple(rows)


def inertia_bounds(link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> InertiaBounds:
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` about the centre of mass [kg.m^2].

    Lower bounds of the diagonal are convex. Upper ones are not, ``m (Lxx - upper) <= ly^2 + lz^2``; over a CoM box the
    certificate replaces them by the secant ``ly^2/m <= (a + b) ly - a b m``.
    """
    own = link.bounds.inertia_com
    low, high = own[:, 0] if lower is None else lower, own[:, 1] if upper is None else upper
    return InertiaBounds(f"{link.name} inertia", low, high, links=(link,))


def _steiner(link: LinkView, i: int, j: int) -> ca.SX:
    """Mass times the Steiner term of entry ij."""
    moment = link.first_moment
    if i != j:
        return -moment[i] * moment[j]
    return sum((moment[a] ** 2 for a in range(3) if a != i), ca.SX(0))


def robot_bounds(variables: LinkVariables) -> tuple[Constraint, ...]:
    """All bounds that the robot description gives: masses, centres of mass, inertias, total mass."""
    constraints: list[Constraint] = []
    for link in variables.links:
        own = link.bounds
        makers = (own.mass, mass_bounds), (own.com, com_box), (own.inertia_com, inertia_bounds)
        constraints += [make(link) for known, make in makers if np.isfinite(known).any()]
    lower, upper = variables.robot.total_mass
    bounded = lower > 0 or np.isfinite(upper)
    return (*constraints, *([total_mass(variables, lower, upper)] if bounded else ()))


def sensible_bounds(
    variables: LinkVariables, heaviest: float | None = None, radius: float | None = None
) -> tuple[Constraint, ...]:
    """`robot_bounds`, and generous limits of mass and extent for links that it leaves unbounded.

    Parameters
    ----------
    variables
        Of the problem.
    heaviest
        Mass that no link exceeds whose mass the description does not limit [kg], or four times its nominal mass where
        that is more. Default: 1 kg, or 100 kg where the nominal mass is not known; no limit where that of the total
        mass bounds each link.
    radius
        Of gyration about the link frame's origin [m]. Default: 1 m, or twice the length of the robot's longest
        placement.
    """
    robot = variables.robot
    if radius is None:
        lengths = [np.linalg.norm(p[:3, 3]) for joint in robot.joints for p in (joint.placement, joint.link_placement)]
        radius = max(SMALLEST_RADIUS, 2.0 * float(max(lengths)))
    limited = heaviest is None and np.isfinite(robot.total_mass[1])
    found = {constraint.label: constraint for constraint in robot_bounds(variables)}
    for view, link in zip(variables.links, robot.links, strict=True):
        own: list[Constraint] = [gyration_bound(view, radius)]
        if not limited and not np.isfinite(view.bounds.mass[1]):  # in place of a lower bound alone, of the same label
            nominal = None if link.inertial is None else NOMINAL_TIMES * link.inertial.mass
            least = heaviest if heaviest is not None else LARGEST_MASS if nominal is None else 1.0
            own.append(mass_bounds(view, max(float(view.bounds.mass[0]), 0.0), max(least, nominal or 0.0)))
        found.update((constraint.label, constraint) for constraint in own)
    return tuple(found.values())
