"""Solutions with proofs: attempts from several starts, the re-check, the certificate, the bound by relaxations.

Where constraints are not convex and the multipliers leave the gap open, a convex relaxation gives the bound. It keeps
everything that is convex and replaces the rest by linear rows that every feasible point obeys
(`casid.retrieval.bound._cuts`), made near the relaxation's own solution until nothing is cut off any more. Each
relaxation is solved and certified as any problem is, so its bound does not depend on the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.retrieval._problem import Problem
from casid.retrieval._result import Conflict, relative_gap
from casid.retrieval._solution import Solution, annotated, assess
from casid.retrieval.bound._certificate import Certificate, Search, lower_bound
from casid.retrieval.bound._cuts import Cut, Relaxation
from casid.retrieval.constraints._constraint import Constraint
from casid.retrieval.program._elastic import find_conflict
from casid.retrieval.program._nlp import Outcome
from casid.retrieval.solver._build import BuiltProblem, SolveOptions
from casid.retrieval.solver._ipopt import LEAST_SCALE, Minimiser

Array = NDArray[np.float64]
#: How often the nominal bodies may be enlarged where links nearly leave their search region.
_GROWTHS = 3
#: Largest number of rounds of cuts; they end where this many cuts no longer improve the bound.
_ROUNDS, _MANY_CUTS = 12, 40


class PreparedProblem(BuiltProblem):
    """A problem with its program and solvers built: shared by all starts of a multi-start.

    Parameters
    ----------
    problem, nominal, options
        See `BuiltProblem`.
    tighten
        Where the constraints are not convex and the multipliers leave the gap open, bound it by convex relaxations.
    """

    def __init__(
        self,
        problem: Problem,
        nominal: ArrayLike | None = None,
        options: SolveOptions | None = None,
        tighten: bool = True,
    ) -> None:
        began = perf_counter()
        super().__init__(problem, nominal, options)
        self._minimiser, self._tighten = Minimiser(self), tighten
        self._unregularised: dict[float, Certificate] = {}
        self._relaxed: Certificate | None = None
        self._growths = _GROWTHS
        self.build_time = perf_counter() - began

    def solve(self, start: ArrayLike | None = None, seed: int | None = None, throw: bool = True) -> Solution:
        """Solve from one start, with restarts where it fails.

        Parameters
        ----------
        start
            Point to start from, shape (N,). Default: the nominal body of every link.
        seed
            Start from the random point of this seed instead.
        throw
            Raise on failure (`Solution.or_raise`); otherwise the failure is the solution's status.
        """
        began = perf_counter()
        best: Solution | None = None
        iterations = attempt = 0
        for attempt in range(self.options.restarts + 1):
            outcome, scale = self._minimiser.minimise(self.starting_point(start, seed, attempt))
            iterations += outcome.iterations
            found, _ = self._assess(outcome, scale, seed)
            if best is None or found.rank() < best.rank():
                best = found
            if best.certified or (best.status == "feasible" and self.nonlinear.size and outcome.success):
                break
            if attempt == 0 and not best.usable and self.conflict is not None and self.conflict.proven:
                break
        assert best is not None
        grown = self.grown(best.x) if best.feasible and self._growths else None
        if grown is not None:
            larger = PreparedProblem(self.problem, grown, self.options, self._tighten)
            larger._growths = self._growths - 1
            again = larger.solve(best.x, throw=False)
            iterations += again.iterations
            best = min(best, again, key=Solution.rank)
        best = annotated(
            best,
            conflict=None if best.usable else self.conflict,
            iterations=iterations,
            restarts=attempt,
            seed=seed,
            solve_time=perf_counter() - began,
        )
        return best.or_raise() if throw else best

    def _assess(self, outcome: Outcome, scale: float, seed: int | None) -> tuple[Solution, Certificate]:
        """The outcome as a solution, with the best bound that its multipliers, or a relaxation, give."""
        w = outcome.point.w
        broken = not np.isfinite(w).all()
        x = self.nominal if broken else self._perfected(self.program.parameters(w))
        linear, curved = self.program.row_multipliers(outcome.point, scale)
        work: dict[str, Any] = {
            "multipliers": self._by_label(linear, curved),
            "converged": outcome.success and not broken,
            "tolerances": self.options.tolerances,
            "build_time": self.build_time,
            "seed": seed,
            "solver_status": outcome.status,
        }
        if broken:
            return assess(self.problem, x, **work), Certificate(-np.inf, 0.0, {})
        certificate = self._certify(x, linear, curved)
        found = assess(self.problem, x, certificate.lower_bound, search_region=certificate.search_region, **work)
        if found.feasible and found.converged and not found.certified and self.nonlinear.size and self._tighten:
            if self._relaxed is None:  # found once, it holds for every start
                self._relaxed = self._tightened(x)
            if self._relaxed.lower_bound > found.lower_bound:
                certificate = self._relaxed
                region = certificate.search_region
                found = assess(self.problem, x, certificate.lower_bound, search_region=region, **work)
        return found, certificate

    def _perfected(self, x: Array) -> Array:
        """A nearly perfect fit, made perfect by the shortest step to the least-squares optimum, if that is feasible."""
        objective, basis = self.problem.objective, self.program.coordinates[0]
        value = objective(x) - objective.constant
        if self.problem.penalty(x) > 0 or not 0 < value <= LEAST_SCALE * objective.size:
            return x
        step = (
            basis @ np.linalg.lstsq(objective.matrix @ basis, objective.target - objective.matrix @ x, rcond=1e-12)[0]
        )
        moved = np.asarray(x + step)
        feasible = self.problem.met(self.problem.violations(moved), 0.1 * self.options.feasibility)
        return moved if feasible and objective(moved) - objective.constant < value else x

    def _certify(self, x: Array, linear: Array, curved: Array) -> Certificate:
        least = 1e3 if self.is_regularised else self.options.search_factor
        factor = max(least, float(10.0 ** np.ceil(np.log10(100 * self.size_of(x)))))
        relaxation = self.relaxation if self.nonlinear.size else None
        search = Search(self.nominal, factor)
        rows = self.nonlinear, curved
        own = lower_bound(self.problem, x, self.linear, linear, rows, search, relaxation=relaxation)
        total, negligible = self.problem.objective(x) + self.problem.penalty(x), self.problem.objective.negligible(x)
        if not self.is_regularised or relative_gap(total, own.lower_bound, negligible) <= self.options.certified_gap:
            return own
        # The proximal term can spoil the multipliers of unbounded links: take those of the problem without it.
        if factor not in self._unregularised:
            options = replace(self.options, search_factor=factor, proximal=False, restarts=0)
            other = PreparedProblem(self.problem, self.nominal, options, tighten=False)
            outcome, scale = other._minimiser.minimise(other.starting_point(None, None))
            self._unregularised[factor] = other._assess(outcome, scale, None)[1]
        return max(own, self._unregularised[factor].at(x), key=lambda certificate: certificate.lower_bound)

    def _tightened(self, near: Array) -> Certificate:
        """The bound by relaxations near a point; the trivial bound where the constraints are convex."""
        if not self.relaxation.nonconvex:
            return Certificate(-np.inf, 0.0, {})
        found = relaxed_bound(self.problem, near, self.nominal, self.options, self.relaxation)
        return Certificate(found.bound if np.isfinite(found.bound) else -np.inf, 0.0, found.search_region)

    @cached_property
    def conflict(self) -> Conflict | None:
        """Why the constraints cannot be met together; ``None`` if they can."""
        return find_conflict(self.problem, self.feasible_set, self.relaxation, self.options.search_factor)

    def _by_label(self, linear: Array, curved: Array) -> dict[str, Array]:
        found: dict[str, list[float]] = {c.label: [] for c in self.problem.constraints}
        for rows, values in ((self.linear.rows, linear), (self.nonlinear.rows, curved)):
            for row, value in zip(rows, values, strict=True):
                if row.constraint >= 0:
                    found[self.problem.constraints[row.constraint].label].append(float(value))
        return {label: np.array(values) for label, values in found.items()}


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Bound of a relaxation and its solution; the bound is infinite where the relaxation is proven to be empty."""

    bound: float
    x: Array | None
    search_region: dict[str, float]


def relaxed_bound(
    problem: Problem,
    near: Array,
    nominal: Array | None,
    options: SolveOptions,
    relaxation: Relaxation | None = None,
    enough: float = np.inf,
) -> Relaxed:
    """Lower bound of a problem by its convex relaxation with cuts.

    Parameters
    ----------
    near
        Point at which the first cuts are made: a solution of the problem, if there is one.
    enough
        Stop once the bound has reached this value.
    """
    relaxation = relaxation or Relaxation(problem)
    base = problem.below(*relaxation.nonconvex)
    plain = replace(options, restarts=min(options.restarts, 1))
    cuts = _cuts_at(relaxation, near)
    best, x, searched = -np.inf, None, dict[str, float]()
    for _ in range(_ROUNDS):
        found = PreparedProblem(_with_cuts(base, cuts), nominal, plain, tighten=False).solve(throw=False)
        if found.status == "infeasible":
            return Relaxed(np.inf, None, {})
        improved = found.lower_bound > best + 1e-9 * abs(best)
        if found.lower_bound > best:
            best, searched = found.lower_bound, dict(found.search_region)
        x = found.x
        new = [cut for cut in _cuts_at(relaxation, x) if cut.violated(x)]
        stalled = bool(cuts) and not improved and len(cuts) > _MANY_CUTS
        if best >= enough or not new or not found.usable or stalled:
            break
        cuts += new
    return Relaxed(best, x, searched)


def _cuts_at(relaxation: Relaxation, x: Array) -> list[Cut]:
    cuts = [cut for side in relaxation.open_sides for cut in relaxation.side_cuts(side, x)]
    return cuts + relaxation.set_cuts(x)


def _with_cuts(base: Problem, cuts: list[Cut]) -> Problem:
    if not cuts:
        return base
    forms = np.array([c.form for c in cuts])
    sizes = np.maximum(np.abs(forms).max(axis=1), 1e-12)
    rows = ca.sparsify(ca.DM(forms / sizes[:, None])) @ base.variables.x
    low = np.array([c.low for c in cuts]) / sizes
    return base.with_constraints(Constraint(base.free_label("cuts of the relaxation"), rows, lower=low))
