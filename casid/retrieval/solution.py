"""What a solve returns: parameters, their certificate, and how they came about."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from casid.inertia import from_standard
from casid.retrieval.problem import Problem

if TYPE_CHECKING:
    from casid.retrieval.insight.explain import Explanation

Array = NDArray[np.float64]
Status = Literal["optimal", "feasible", "infeasible", "failed"]


@cache
def _found_versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("casid", "casadi", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


@dataclass(frozen=True, eq=False)
class LinkParameters:
    """A link's retrieved values in its link frame: mass [kg], centre of mass [m], inertia about it [kg.m^2]."""

    name: str
    mass: float
    com: Array
    inertia_com: Array

    @property
    def principal_moments(self) -> Array:
        """Eigenvalues of the inertia about the centre of mass, ascending, shape (3,)."""
        return np.asarray(np.linalg.eigvalsh(self.inertia_com))


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved problem.

    Attributes
    ----------
    problem : Problem
    status : str
        ``optimal``: certified; ``feasible``: all hard constraints hold, the gap is open (nonconvex constraints);
        ``infeasible``, ``failed``: do not use the numbers.
    objective : float
        Plain sum of squares at the solution.
    penalty : float
        Price of the violations of soft constraints.
    lower_bound : float
        Proven lower bound of objective + penalty (`casid.retrieval.bound.certificate`); -inf if none was found.
    gap : float
        ``(objective + penalty - lower_bound) / (objective + penalty)``.
    certified : bool
        The gap is within the tolerance and every hard constraint holds on re-check.
    standard_parameters : ndarray, shape (N,)
        Read-only; standard parameters, then the extras.
    violations : mapping of str to float
        Violation of each constraint, re-checked in numpy and in physical units.
    multipliers : mapping of str to ndarray
        Multipliers of each constraint's solver rows (> 0 at an upper bound), in units of the objective.
    iterations, restarts, starts : int
        IPOPT's iterations over all attempts; attempts beyond the first; starts of the multi-start this is the best of.
    build_time, solve_time : float
        [s]
    seed : int or None
        Of the random start.
    search_region : mapping of str to float
        Links without bounds -> how many times their nominal body the lower bound lets them be; usually empty.
    solver_status : str
        IPOPT's own words.
    """

    problem: Problem
    status: Status
    objective: float
    penalty: float
    lower_bound: float
    gap: float
    certified: bool
    standard_parameters: Array
    violations: Mapping[str, float]
    max_violation: float
    multipliers: Mapping[str, Array]
    iterations: int
    restarts: int
    build_time: float
    solve_time: float
    starts: int
    seed: int | None
    solver_status: str
    search_region: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: dict(_found_versions()))

    def __post_init__(self) -> None:
        parameters = np.array(self.standard_parameters, dtype=float)
        parameters.setflags(write=False)
        object.__setattr__(self, "standard_parameters", parameters)

    @property
    def total(self) -> float:
        """Objective plus penalty: what was minimised."""
        return self.objective + self.penalty

    def rank(self) -> tuple[bool, bool, float]:
        """Sort key: certified first, then feasible, then by what was minimised (or by violation)."""
        usable = self.status in ("optimal", "feasible")
        return (not self.certified, not usable, self.total if usable else self.max_violation)

    @cached_property
    def link_parameters(self) -> tuple[LinkParameters, ...]:
        """Mass, centre of mass and inertia about it of every link."""
        result = []
        for k, link in enumerate(self.problem.variables.robot.links):
            mass, com, inertia = from_standard(self.standard_parameters[10 * k : 10 * k + 10])
            result.append(LinkParameters(link.name, mass, com, inertia))
        return tuple(result)

    def explain(self) -> Explanation:
        """Active constraints and what relaxing them would gain, branches of if-else.

        What is left open (`casid.retrieval.insight.explain`).
        """
        from casid.retrieval.insight.explain import explain

        return explain(self)

    @property
    def extras(self) -> dict[str, float]:
        """Values of the unknowns beyond the standard parameters."""
        names = self.problem.variables.extras
        values = self.standard_parameters[10 * len(self.problem.variables) :]
        return {name: float(value) for name, value in zip(names, values, strict=True)}
