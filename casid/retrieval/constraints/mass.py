"""Bounds on the mass of a link, and on the sum of some links' masses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np

from casid.retrieval.constraints.constraint import Constraint, ScalarRow, Setting
from casid.retrieval.constraints.facts import Facts
from casid.retrieval.variables import LinkVariables, LinkView


@dataclass(frozen=True, eq=False)
class TotalMass(Constraint):
    """``lower <= sum of the links' masses <= upper`` [kg]; of one link or of several."""

    links: tuple[LinkView, ...] = ()

    unit: ClassVar[str] = "kg"
    step: ClassVar[float] = 0.1

    def _own_expression(self) -> ca.SX:
        return _sum(self.links)

    def _rows(self, setting: Setting) -> Iterable[ScalarRow]:
        yield ScalarRow(self.expression, float(self.lower[0]), float(self.upper[0]), True, 0)

    def _tell(self, facts: Facts) -> None:
        facts.total_within(self.links, float(self.lower[0]), float(self.upper[0]))

    def _moved(self, links: Sequence[LinkView]) -> Constraint:
        there = tuple(links[link.index] for link in self.links)
        return replace(self, links=there, expression=_sum(there))


@dataclass(frozen=True, eq=False)
class MassBounds(TotalMass):
    """``lower <= m <= upper`` [kg] of one link."""

    hard_in_algorithm_1: ClassVar[bool] = True

    def _tell(self, facts: Facts) -> None:
        facts.mass_within(self.links[0], float(self.lower[0]), float(self.upper[0]))


def mass_bounds(link: LinkView, lower: float | None = None, upper: float | None = None) -> MassBounds:
    """``lower <= m <= upper`` [kg]; bounds not given are those of the robot description."""
    own = link.bounds.mass
    low, high = own[0] if lower is None else lower, own[1] if upper is None else upper
    return MassBounds(f"{link.name} mass", link.mass, low, high, links=(link,))


def total_mass(
    links: LinkVariables | Iterable[LinkView], lower: float = 0.0, upper: float = np.inf, label: str = "total mass"
) -> TotalMass:
    """``lower <= sum of the links' masses <= upper`` [kg] (Gaz et al. 2019, eq. 30); of all links or of some."""
    views = tuple(links)
    return TotalMass(label, _sum(views), lower, upper, links=views)


def _sum(links: Sequence[LinkView]) -> ca.SX:
    return ca.SX(ca.sum1(ca.vertcat(*[link.mass for link in links])))
