"""A problem made ready for the solver: options, rows, cones, scale, lifted program and starting points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError
from casid.inertia._parameter_vector import link_slice
from casid.retrieval._problem import Problem
from casid.retrieval._rows import split_rows
from casid.retrieval._solution import Tolerances
from casid.retrieval.bound._cuts import Relaxation
from casid.retrieval.constraints._constraint import FEASIBILITY
from casid.retrieval.program._blocks import Cone, FeasibleSet
from casid.retrieval.program._nlp import LiftedProgram
from casid.retrieval.program._starts import nominal_parameters, random_parameters

Array = NDArray[np.float64]
#: Share of its search region at which a link that nothing bounds gets a nominal body of its own size.
_OUTGROWN = 0.1


@dataclass(frozen=True)
class SolveOptions:
    """Options of every solve.

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
        Add a very small proximal term that draws such links to the nominal body; nothing else determines their size.
    ipopt : mapping
        Further options of IPOPT for the first call.
    direct : bool
        Take the fast way (`casid.retrieval.program._determined`) where the optimum is a single point and no start is
        given; of these options it uses ``certified_gap`` and ``feasibility``.
    """

    certified_gap: float = 1e-6
    feasibility: float = FEASIBILITY
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


class BuiltProblem:
    """A problem with its rows, cones and lifted program.

    Parameters
    ----------
    problem
        What to solve.
    nominal
        Fully consistent parameters that set the scale of the variables, shape (N,). Default: `nominal_parameters`.
    options
        See `SolveOptions`.
    """

    def __init__(self, problem: Problem, nominal: ArrayLike | None = None, options: SolveOptions | None = None) -> None:
        self.problem, self.options = problem, options or SolveOptions()
        self.nominal = nominal_parameters(problem) if nominal is None else checked_point(problem, nominal, "nominal")
        self.linear, self.nonlinear = split_rows(problem)
        self.cones = tuple(
            Cone.around(entry, self.nominal[link_slice(entry.link)]) for entry in problem.cones if entry.constrains
        )
        #: Links that no bound limits.
        self.unbounded = tuple(
            entry.link
            for entry, region in zip(problem.cones, problem.regions, strict=True)
            if not np.isfinite(region.trace if entry.constrains else region.box).all()
        )
        self.feasible_set = FeasibleSet(self.linear, self.nonlinear, self.cones, self.nominal)
        self.program = LiftedProgram(
            problem.variables.x,
            problem.objective,
            self.feasible_set,
            self.unbounded,
            4 * self.options.search_factor,
        )

    def starting_point(self, start: ArrayLike | None, seed: int | None, attempt: int = 0) -> Array:
        """Where an attempt starts, shape (N,): the given point, the nominal bodies, or a random point.

        Raises
        ------
        ProblemError
            If the given point has a wrong shape, or a constraint is NaN there.
        """
        if attempt == 0 and start is not None:
            return self._defined(checked_point(self.problem, start, "start"))
        if attempt == 0 and seed is None:
            return self._defined(self.nominal)
        rng = np.random.default_rng([0 if seed is None else seed, attempt])
        for _ in range(20):
            x = random_parameters(self.problem, rng)
            if self._nan_constraint(x) is None:
                return x
        return self._defined(x)

    def _nan_constraint(self, x: Array) -> str | None:
        """Label of a constraint that has no value at x."""
        if not self.nonlinear.size or np.isfinite(self.nonlinear.values(self.problem.variables.x, x)).all():
            return None
        for label, value in self.problem.values(x).items():
            if not np.isfinite(value).all():
                return label
        return None

    def _defined(self, x: Array) -> Array:
        label = self._nan_constraint(x)
        if label is not None:
            raise ProblemError(
                f"constraint '{label}' is NaN or infinite at the starting point; pass a start where it is defined, or "
                "rewrite the expression (guard square roots, logarithms and divisions)"
            )
        return x

    @property
    def is_regularised(self) -> bool:
        """Whether a proximal term acts on links that nothing bounds."""
        return bool(self.unbounded) and self.options.proximal

    def size_of(self, x: Array) -> float:
        """How many times as large as its nominal value the largest link or extra is that nothing bounds."""
        coned = {cone.link: cone for cone in self.cones}
        sizes = [1.0]
        for k in self.unbounded:
            link = link_slice(k)
            if k in coned:
                sizes.append(self._link_size(coned[k], x))
            else:
                sizes.append(float(np.abs(x[link]).max() / np.abs(self.nominal[link]).max()))
        standard = self.problem.variables.standard_size
        for position, bounds in enumerate(self.problem.variables.extras.values(), start=standard):
            if not np.isfinite(bounds).all():
                sizes.append(float(abs(x[position]) / max(1.0, abs(self.nominal[position]))))
        return max(sizes)

    def grown(self, x: Array) -> Array | None:
        """The nominal point with larger bodies where x nearly leaves the search region; None if it does not."""
        grown = self.nominal.copy()
        for cone in self.cones:
            link = link_slice(cone.link)
            size = self._link_size(cone, x)
            if cone.link in self.unbounded and size > _OUTGROWN * self.options.search_factor:
                grown[link] *= size
        return None if np.array_equal(grown, self.nominal) else grown

    @staticmethod
    def _link_size(cone: Cone, x: Array) -> float:
        """How many times as large as its nominal body a link is: ``tr Jt / 4``."""
        return float(np.sum(cone.factor(x[link_slice(cone.link)]) ** 2)) / 4

    @cached_property
    def relaxation(self) -> Relaxation:
        """Linear rows that hold wherever the nonlinear constraints do."""
        return Relaxation(self.problem)


def checked_point(problem: Problem, point: ArrayLike, what: str) -> Array:
    """A point of a problem's unknowns, shape (N,), read-only.

    Raises
    ------
    ProblemError
        For a wrong shape, or numbers that are not finite.
    """
    try:
        x = np.array(point, dtype=float)
    except (TypeError, ValueError):
        raise ProblemError(f"{what}: expected {problem.variables.size} numbers, got {type(point).__name__}") from None
    if x.shape != (problem.variables.size,):
        raise ProblemError(f"{what}: expected {problem.variables.size} numbers, got shape {x.shape}")
    if not np.isfinite(x).all():
        name = problem.variables.names[int(np.flatnonzero(~np.isfinite(x))[0])]
        raise ProblemError(f"{what}: '{name}' is NaN or infinite")
    x.setflags(write=False)
    return x
