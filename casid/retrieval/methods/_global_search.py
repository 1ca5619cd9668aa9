"""Global methods: a proven gap by branching, and simulated annealing for sets with many separate valleys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import ClassVar

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.expressions import as_function
from casid.inertia import link_slice, standard_size
from casid.retrieval._combinations import combinations
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution, annotated, reassess
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval.methods._branching import Branches, close_gap
from casid.retrieval.methods._method import Direct, Method, SolveNext, SolveSeed, Start


@dataclass(frozen=True)
class Global(Method):
    """Solve, and bring the proven gap down to ``gap`` where the constraints are not convex.

    Where the direct solve leaves a gap, branches of if-else and either-or are enumerated if there are at most ``most``
    combinations; without any, what stays open is tightened by branching on boxes of the centres of mass (`close_gap`).
    When the time is over, the best bound so far is returned.

    Attributes
    ----------
    gap : float
    nodes : int
        Largest number of relaxations.
    seconds : float
        Time limit, checked between solves.
    most : int
        Largest number of combinations of branches.
    progress : callable or None
        Called with the best total, the proven bound and the number of relaxations so far.
    patience : float
        Leave the boxes after so many relaxations in which the gap has not halved.
    """

    gap: float = 0.01
    nodes: int = 60
    seconds: float = 30.0
    most: int = 16
    progress: Callable[[float, float, int], object] | None = None
    patience: float = float("inf")
    name: ClassVar[str] = "global"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`."""
        began = perf_counter()
        solution = Direct().solve(problem, start)
        gap, words = max(self.gap, start.options.certified_gap), [_words("direct", solution, began)]
        left = self.seconds - (perf_counter() - began)
        if solution.status == "infeasible" or (solution.usable and solution.gap <= gap) or left <= 0:
            return annotated(solution, tried="; ".join([*words, *_next(solution)]))
        began = perf_counter()
        if self._several(problem):
            found = Branches(self.most, gap, left).solve(problem, start)
            words.append(_words(f"branches, {len(found.trace)} combinations", found, began))
            solution = solution if found.rank() > solution.rank() and found.status != "infeasible" else found
        elif solution.usable:
            solution = close_gap(solution, gap, self.nodes, left, start.options, self.progress, self.patience)
            words.append(_words("branching on boxes of the centres of mass", solution, began))
        return annotated(solution, tried="; ".join([*words, *_next(solution)]))

    def _several(self, problem: Problem) -> bool:
        """Whether there are combinations of branches, and few enough."""
        try:
            return sum(1 for _ in islice(combinations(problem, self.most), 2)) > 1
        except ProblemError:
            return False


@dataclass(frozen=True)
class Auto(Global):
    """The way to a certificate, chosen: what `Global` does, to the gap of a certificate, within 10 s.

    Convex problems are certified by the direct solve. Only where it leaves a gap the branches of if-else and either-or,
    if they are few, or boxes of the centres of mass follow. `Solution.tried` names what was done, and what to try next.
    From random starts it is the direct method.
    """

    gap: float = 0.0
    seconds: float = 10.0
    patience: float = 12
    name: ClassVar[str] = "auto"

    def bind(self, problem: Problem, nominal: Array | None, options: SolveOptions) -> SolveSeed:
        """See `Method.bind`."""
        return Direct().bind(problem, nominal, options)

    def follow(self, first: Problem, options: SolveOptions) -> SolveNext:
        """See `Method.follow`: what the direct method certifies; else, as any problem."""
        direct = Direct().follow(first, options)

        def solve(problem: Problem) -> Solution:
            found = direct(problem)
            return found if found.certified else self.solve(problem, Start(options=options))

        return solve


def _words(what: str, solution: Solution, began: float) -> str:
    return f"{what} ({perf_counter() - began:.1f} s): {solution.status}, gap {solution.gap:.1e}"


def _next(solution: Solution) -> list[str]:
    """What to try where no certificate was found."""
    if solution.certified or solution.status == "infeasible":
        return []
    if not solution.usable:
        return ["next: give a start, or soften a constraint"]
    if solution.problem.conditions:
        return ["next: method=Branches(most=...), every combination, however long it takes"]
    return ["next: method=Global(gap=1e-6, seconds=120), or narrower boxes of the centres of mass (com_box)"]


@dataclass(frozen=True)
class SimulatedAnnealing(Method):
    """Generalised simulated annealing (SciPy's `dual_annealing`) over consistent bodies, polished by the direct method.

    Every link is parametrised by the factors of its cone (`casid.inertia.cones`), so that all points tried are
    consistent; violations of hard rows, each relative to the size of its bound, cost ``price`` times the objective at
    the nominal bodies. The bound is that of the direct method: proven, whatever the search found.

    Attributes
    ----------
    iterations : int
        Of the annealing.
    evaluations : int
        Largest number of evaluations of the objective.
    price : float
        Of a relative violation, in units of the objective at the start.
    spread : float
        Range of the factors about the nominal body (0 and 1 there).
    """

    iterations: int = 200
    evaluations: int = 20_000
    price: float = 10.0
    spread: float = 3.0
    name: ClassVar[str] = "annealing"
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.evaluations < 1 or not (self.price > 0 and self.spread > 0):
            raise ProblemError("simulated annealing: iterations, evaluations, price and spread must be positive")

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`."""
        from scipy.optimize import dual_annealing  # imported late: it takes its time

        began = perf_counter()
        prepared = PreparedProblem(problem, start.nominal, start.options)
        x0 = prepared.starting_point(start.point, start.seed)
        energy = _Energy(prepared, x0, self.price)
        centre = energy.coordinates(x0)
        bounds = np.stack([centre - self.spread, centre + self.spread], axis=1)
        found = dual_annealing(
            energy, bounds, maxiter=self.iterations, maxfun=self.evaluations, x0=centre, no_local_search=True,
            seed=0 if start.seed is None else start.seed % 2**32,
        )  # fmt: skip
        near = energy.point(np.asarray(found.x, dtype=float))
        polished = prepared.solve(start=near if energy.defined(near) else x0, throw=False)
        if not polished.usable:  # where no slope leads on, the point found may hold as it is
            candidate = reassess(polished, x=near, converged=True, conflict=None)
            polished = candidate if candidate.usable else polished
        status = f"annealing: {int(found.nfev)} evaluations, energy {float(found.fun):.6g}; {polished.solver_status}"
        return reassess(
            polished, seed=start.seed, solver_status=status, trace=(near,), solve_time=perf_counter() - began
        )


class _Energy:
    """Objective plus the price of violations, of unbounded coordinates: factors of the cones, other unknowns scaled."""

    def __init__(self, prepared: PreparedProblem, x0: Array, price: float) -> None:
        self._prepared, self._problem = prepared, prepared.problem
        self._cones = {link_slice(cone.link).start: cone for cone in prepared.cones}
        size = self._problem.variables.size
        coned = {k for first in self._cones for k in range(first, first + 10)}
        self._others = np.array([k for k in range(size) if k not in coned], dtype=int)
        self._scale = np.maximum(np.abs(x0[self._others]), 1.0)
        rows = [(r, c.weight) for c in self._problem.constraints for r in c.rows(self._problem.setting)]
        expression = ca.vertcat(ca.SX(0, 1), *[row.expression for row, _ in rows])
        self._rows = as_function(expression, self._problem.variables.x)
        self._low, self._high = np.array([r.lower for r, _ in rows]), np.array([r.upper for r, _ in rows])
        unit = price * max(self._problem.objective(x0), 1e-8 * self._problem.objective.size)
        sizes = [max([abs(b) for b in (r.lower, r.upper) if np.isfinite(b) and b] or [1.0]) for r, _ in rows]
        weights = [unit / size if weight is None else weight for (_, weight), size in zip(rows, sizes, strict=True)]
        self._weights = np.array(weights)
        extras = np.array(list(self._problem.variables.extras.values())).reshape(-1, 2)
        self._extra_low, self._extra_high = extras[:, 0], extras[:, 1]

    def coordinates(self, x: Array) -> Array:
        """Of a point."""
        factors = [cone.factor(x[first : first + 10]) for first, cone in self._cones.items()]
        return np.concatenate([*factors, x[self._others] / self._scale])

    def point(self, t: Array) -> Array:
        """At given coordinates; extras are kept within their bounds."""
        x = np.zeros(self._problem.variables.size)
        for position, (first, cone) in enumerate(self._cones.items()):
            x[first : first + 10] = cone.parameters(t[link_slice(position)])
        x[self._others] = t[standard_size(len(self._cones)) :] * self._scale
        standard = self._problem.variables.standard_size
        x[standard:] = np.clip(x[standard:], self._extra_low, self._extra_high)
        return x

    def __call__(self, t: Array) -> float:
        x = self.point(t)
        rows = np.array(self._rows(x)).reshape(-1)
        excess = np.maximum(np.maximum(self._low - rows, rows - self._high), 0.0)
        value = self._problem.objective(x) + float(self._weights @ excess)
        return value if np.isfinite(value) else 1e300

    def defined(self, x: Array) -> bool:
        """Whether every constraint has a value there."""
        return bool(np.isfinite(np.array(self._rows(x))).all())
