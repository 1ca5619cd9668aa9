"""Bounds on the entries of a link's inertia about its centre of mass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.inertia._parameters import TENSOR_INDEX
from casid.retrieval.constraints.constraint import Constraint, ScalarRow, Setting, Side
from casid.retrieval.constraints.facts import Facts
from casid.retrieval.quadrics import Quadric
from casid.retrieval.variables import LinkView

_AXES = "xyz"
_DIAGONAL = (0, 3, 5)


@dataclass(frozen=True, eq=False)
class InertiaBounds(Constraint):
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` [kg.m^2]; for the solver ``m (L - bound) - steiner``, no division."""

    links: tuple[LinkView, ...] = ()

    unit: ClassVar[str] = "kg.m^2"
    step: ClassVar[float] = 0.01
    hard_in_algorithm_1: ClassVar[bool] = True
    kept_in_relaxation: ClassVar[bool] = True

    def _own_expression(self) -> ca.SX:
        return _six(self.links[0])

    def _entry_name(self, entry: int) -> str:
        i, j = TENSOR_INDEX[entry]
        return f"{self.label} {_AXES[i]}{_AXES[j]}"

    def _rows(self, setting: Setting) -> Iterable[ScalarRow]:
        """Rows but those that the triangle inequality implies.

        With J > 0 the diagonal of I is positive and ``|Ixy| <= Izz / 2``, so that non-positive lower bounds of the
        diagonal, and bounds of ``Ixy`` beyond half the upper bound of ``Izz``, say nothing new.
        """
        link = self.links[0]
        if not setting.positive_mass[link.index]:
            yield from super()._rows(setting)
            return
        implied = setting.triangle[link.index] and self.hard
        for entry, (i, j) in enumerate(TENSOR_INDEX):
            sides: tuple[tuple[float, Side], ...] = (
                (float(self.lower[entry]), "lower"),
                (float(self.upper[entry]), "upper"),
            )
            for bound, side in sides:
                if np.isfinite(bound) and not (implied and self._implied(entry, bound, side)):
                    row = link.mass * (link.inertia[i, j] - bound) - _steiner(link, i, j)
                    low, high = (0.0, np.inf) if side == "lower" else (-np.inf, 0.0)
                    yield ScalarRow(row, low, high, False, entry, side, link.index)

    def _implied(self, entry: int, bound: float, side: Side) -> bool:
        i, j = TENSOR_INDEX[entry]
        if i == j:
            return side == "lower" and bound <= 0
        reach = self.upper[_DIAGONAL[3 - i - j]] / 2
        return bool(abs(bound) >= reach and (bound <= 0 if side == "lower" else bound >= 0))

    def _quadric(self, entry: int, setting: Setting) -> Quadric:
        i, j = TENSOR_INDEX[entry]
        inertia, square = np.zeros(6), np.zeros((3, 3))
        inertia[entry] = 1.0
        if i == j:
            square[[a for a in range(3) if a != i], [a for a in range(3) if a != i]] = -1.0
        else:
            square[i, j] = square[j, i] = 0.5
        return Quadric(self.links[0].index, 1, inertia, np.zeros(3), 0.0, square)

    def _tell(self, facts: Facts) -> None:
        facts.inertia_within(self.links[0], self.lower, self.upper)

    def _with_secants(self, com: NDArray[np.float64]) -> tuple[Constraint, tuple[ca.SX, ...]]:
        """Upper bounds of the diagonal as secants ``ly^2/m <= (a + b) ly - a b m``; products of inertia left out."""
        link = self.links[0]
        diagonal = np.isin(np.arange(6), _DIAGONAL)
        lower, rows = np.where(diagonal, self.lower, -np.inf), []
        for axis, entry in enumerate(_DIAGONAL):
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

    def _moved(self, links: Sequence[LinkView]) -> Constraint:
        there = links[self.links[0].index]
        return replace(self, links=(there,), expression=_six(there))


def inertia_bounds(link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> InertiaBounds:
    """Bounds on ``Ixx Ixy Ixz Iyy Iyz Izz`` about the centre of mass [kg.m^2].

    Lower bounds of the diagonal are convex. Upper ones are not, ``m (Lxx - upper) <= ly^2 + lz^2``; over a CoM box the
    certificate replaces them by the secant ``ly^2/m <= (a + b) ly - a b m``.
    """
    own = link.bounds.inertia_com
    low, high = own[:, 0] if lower is None else lower, own[:, 1] if upper is None else upper
    return InertiaBounds(f"{link.name} inertia", _six(link), low, high, links=(link,))


def _six(link: LinkView) -> ca.SX:
    tensor = link.inertia_com
    return ca.vertcat(*[tensor[i, j] for i, j in TENSOR_INDEX])


def _steiner(link: LinkView, i: int, j: int) -> ca.SX:
    """M times the Steiner term of entry ij."""
    moment = link.first_moment
    if i != j:
        return -moment[i] * moment[j]
    return sum((moment[a] ** 2 for a in range(3) if a != i), ca.SX(0))
