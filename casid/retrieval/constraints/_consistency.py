"""Physical consistency of a link: its cone and margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from casid.errors import ProblemError
from casid.inertia._cones import CONES, ConsistencyCone, Free, Full, Semi
from casid.retrieval._variables import LinkView

#: Names of the notions of physical consistency.
ConsistencyKind = Literal["full", "semi", "none"]

#: Default margin of physical consistency, ``J >= margin 1`` (SI units), and its largest share of the second moments
#: ``tr(Sigma)`` that a body of the link's bounds can have: links of grams and millimetres get a smaller one.
DEFAULT_MARGIN, MARGIN_SHARE = 1e-6, 1e-4


@dataclass(frozen=True, eq=False)
class PhysicalConsistency:
    """A link's cone and margin.

    Attributes
    ----------
    link : int
    name : str
        Of the link.
    cone : ConsistencyCone
        `Full` (J >= margin 1), `Semi` (6x6 spatial inertia >= margin 1) or `Free`; also by name.
    margin : float

    Raises
    ------
    ProblemError
        For an unknown name, or a margin that is negative or not finite.
    """

    link: int
    name: str
    cone: ConsistencyCone
    margin: float = DEFAULT_MARGIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "cone", consistency_cone(self.cone, f"link '{self.name}'"))
        if not (np.isfinite(self.margin) and self.margin >= 0):
            raise ProblemError(f"link '{self.name}': the margin must be finite and >= 0, got {self.margin}")

    @property
    def label(self) -> str:
        """Name in reports."""
        return f"{self.name} {self.cone.matrix_name}"

    @property
    def constrains(self) -> bool:
        """Whether it restricts the link's parameters."""
        return self.cone.constrains


def scaled_margin(second_moment: float) -> float:
    """Default margin of a link whose ``tr(Sigma)`` about its centre is of this size [kg.m^2], infinite if not known."""
    return float(min(DEFAULT_MARGIN, MARGIN_SHARE * second_moment))


def consistency_cone(cone: ConsistencyCone | str, where: str) -> ConsistencyCone:
    """The cone of a name, or the cone itself."""
    if not isinstance(cone, str):
        return cone
    if cone not in CONES:
        raise ProblemError(f"{where}: consistency '{cone}' is none of {', '.join(repr(name) for name in CONES)}")
    return CONES[cone]


def pseudo_inertia(link: LinkView, margin: float = DEFAULT_MARGIN) -> PhysicalConsistency:
    """``J >= margin 1``: positive mass, positive inertia and the triangle inequality (Wensing 2018)."""
    return PhysicalConsistency(link.index, link.name, Full(), margin)


#: The triangle inequality (Gaz et al. 2019, eq. 16) with m > 0, I > 0 *is* a positive definite pseudo-inertia.
triangle_inequality = pseudo_inertia


def spatial_inertia(link: LinkView, margin: float = DEFAULT_MARGIN) -> PhysicalConsistency:
    """``[[L, S(l)'], [S(l), m 1]] >= margin 1``: positive mass and inertia only (Sousa 2014, eq. 3.18-3.21)."""
    return PhysicalConsistency(link.index, link.name, Semi(), margin)


def no_consistency(link: LinkView) -> PhysicalConsistency:
    """Lifts the default: any numbers, physical or not."""
    return PhysicalConsistency(link.index, link.name, Free(), 0.0)
