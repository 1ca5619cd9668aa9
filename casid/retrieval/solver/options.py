"""How a problem is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casid.retrieval.solution import Tolerances


@dataclass(frozen=True)
class SolveOptions:
    """How a problem is solved.

    Attributes
    ----------
    certified_gap : float
        Relative gap up to which a solution counts as certified.
    feasibility : float
        Largest violation, on re-check in physical units, of a solution.
    target_gap : float
        Relative gap that the barrier aims at.
    restarts : int
        Further attempts, from other starts, where one fails.
    max_iterations : int
        Of each call of IPOPT.
    initial_gradient : float
        Size of the scaled objective's gradient at the nominal body in the first call.
    search_factor : float
        How many times as large as the nominal body a link may become that the problem does not bound.
    proximal : bool
        Add a proximal term that draws such links to the nominal body, ever so slightly: they have no other reason to be
        of any size.
    ipopt : mapping
        Further options of IPOPT for the first call.
    direct : bool
        Take the fast way (`casid.retrieval.solver.determined`) where the optimum is a single point and no start is
        given; of these options it heeds ``certified_gap`` and ``feasibility``.
    """

    certified_gap: float = 1e-6
    feasibility: float = 1e-8
    target_gap: float = 3e-8
    restarts: int = 4
    max_iterations: int = 300
    initial_gradient: float = 10.0
    search_factor: float = 1e6
    proximal: bool = True
    ipopt: Mapping[str, Any] | None = None
    direct: bool = True

    @property
    def tolerances(self) -> Tolerances:
        """What counts as certified and as feasible."""
        return Tolerances(self.certified_gap, self.feasibility)
