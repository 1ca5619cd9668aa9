"""A box for a link's centre of mass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.retrieval.constraints.constraint import Constraint, ScalarRow, Setting
from casid.retrieval.constraints.facts import Facts
from casid.retrieval.variables import LinkView

_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class ComBox(Constraint):
    """``lower <= c <= upper`` [m], axis by axis; for the solver linear: ``l - m lower >= 0``, ``m upper - l >= 0``."""

    links: tuple[LinkView, ...] = ()

    unit: ClassVar[str] = "m"
    step: ClassVar[float] = 0.01
    hard_in_algorithm_1: ClassVar[bool] = True

    def _own_expression(self) -> ca.SX:
        return self.links[0].com

    def _entry_name(self, entry: int) -> str:
        return f"{self.label} {_AXES[entry]}"

    def _rows(self, setting: Setting) -> Iterable[ScalarRow]:
        link = self.links[0]
        if not setting.positive_mass[link.index]:
            yield from super()._rows(setting)
            return
        for axis in range(3):
            moment, low, high = link.first_moment[axis], float(self.lower[axis]), float(self.upper[axis])
            if np.isfinite(low):
                yield ScalarRow(moment - low * link.mass, 0.0, np.inf, True, axis, "lower", link.index)
            if np.isfinite(high):
                yield ScalarRow(high * link.mass - moment, 0.0, np.inf, True, axis, "upper", link.index)

    def _tell(self, facts: Facts) -> None:
        facts.com_within(self.links[0], self.lower, self.upper)

    def _moved(self, links: Sequence[LinkView]) -> Constraint:
        there = links[self.links[0].index]
        return replace(self, links=(there,), expression=there.com)


def com_box(
    link: LinkView, lower: ArrayLike | None = None, upper: ArrayLike | None = None, label: str | None = None
) -> ComBox:
    """``lower <= c <= upper`` [m], axis by axis, in the link frame; bounds not given are those of the description.

    The solver sees it as linear: ``l - m lower >= 0``.
    """
    own = link.bounds.com
    low, high = own[:, 0] if lower is None else lower, own[:, 1] if upper is None else upper
    return ComBox(label or f"{link.name} com", link.com, low, high, links=(link,))
