"""A limit on a link's extent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np

from casid.errors import ProblemError
from casid.retrieval.constraints.constraint import Constraint, ScalarRow, Setting
from casid.retrieval.constraints.facts import Facts
from casid.retrieval.variables import LinkView


@dataclass(frozen=True, eq=False)
class GyrationBound(Constraint):
    """``tr(Sigma) / m <= radius^2`` [m^2]; for the solver linear, ``radius^2 m - tr(L)/2 >= 0``."""

    links: tuple[LinkView, ...] = ()

    unit: ClassVar[str] = "m^2"
    step: ClassVar[float] = 0.01

    def _own_expression(self) -> ca.SX:
        return _mean_square(self.links[0])

    def _rows(self, setting: Setting) -> Iterable[ScalarRow]:
        link, most = self.links[0], float(self.upper[0])
        if not setting.positive_mass[link.index] or np.isfinite(self.lower[0]):
            yield from super()._rows(setting)
            return
        yield ScalarRow(most * link.mass - ca.trace(link.inertia) / 2, 0.0, np.inf, True, 0, "upper", link.index)

    def _tell(self, facts: Facts) -> None:
        facts.reach_below(self.links[0], float(self.upper[0]))

    def _moved(self, links: Sequence[LinkView]) -> Constraint:
        there = links[self.links[0].index]
        return replace(self, links=(there,), expression=_mean_square(there))


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
    return GyrationBound(f"{link.name} extent", _mean_square(link), upper=radius**2, links=(link,))


def _mean_square(link: LinkView) -> ca.SX:
    return ca.trace(link.inertia) / 2 / link.mass
