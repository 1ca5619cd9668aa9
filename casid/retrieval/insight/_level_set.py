"""Linear functions minimised over all sets that explain the data, with a proven bound: what `intervals` is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.inertia import link_slice, mass_index, moment_slice, pseudo_inertia
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import Problem
from casid.retrieval._rows import LinearRows, NonlinearRows, Row, split_rows
from casid.retrieval._solution import Solution, checked_bound
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval.bound._certificate import Dual, Search, dual_bound
from casid.retrieval.constraints._constraint import Constraint
from casid.retrieval.program._nlp import FeasibleSet, LiftedProgram, Point

#: Where bound and attained value agree to this share of the quantity's prior range, no other attempt is made.
_ENOUGH = 1e-7


@dataclass(frozen=True, eq=False)
class _Search:
    """A program whose minimum over the level set is looked for: the exact one, or one with secants in place of rows."""

    linear: LinearRows
    nonlinear: NonlinearRows
    program: LiftedProgram
    solvers: tuple[ca.Function, ...]


class LevelSet:
    """All feasible points of a problem with a sum of squares up to ``optimum + tolerance``."""

    def __init__(self, problem: Problem, solution: Solution, tolerance: float, options: SolveOptions) -> None:
        self.problem, self.options = problem, options
        self.limit = solution.objective + tolerance
        self.prepared = PreparedProblem(problem, None, options, tighten=False)
        self.exact = self._search(problem)
        secants = with_secants(problem)
        self.outer = self.exact if secants is problem else self._search(secants)
        self.point = solution.x
        self.search_region: dict[str, float] = {}
        self._least_mass: dict[int, float] = {}

    def _search(self, problem: Problem) -> _Search:
        x, objective, size = problem.variables.x, problem.objective, problem.variables.size
        linear, own = split_rows(problem)
        fit = (
            ca.sumsqr(ca.sparsify(ca.DM(objective.matrix)) @ x - ca.DM(objective.target)) + objective.constant
        ) / self.limit
        rows = NonlinearRows(
            ca.vertcat(own.expression, fit),
            np.append(own.lower, -np.inf),
            np.append(own.upper, 1.0),
            (*own.rows, Row(-1, 0, None, "fit")),
        )
        program = LiftedProgram(
            x,
            LeastSquares(np.zeros((0, size)), np.zeros(0)),
            FeasibleSet(linear, rows, self.prepared.cones, self.prepared.nominal),
            self.prepared.unbounded,
            4 * self.options.search_factor,
        )
        program.nonlinear_scale[-1] = 1.0  # the fit is already relative to its limit
        most = self.options.max_iterations
        solvers = (
            program.solver({"tol": 1e-9, "max_iter": most, "mu_strategy": "adaptive"}),
            program.solver({"tol": 1e-11, "acceptable_tol": 1e-9, "max_iter": min(most, 150)}),
        )
        return _Search(linear, own, program, solvers)

    def minimum(self, form: Array) -> tuple[float, float, Array]:
        """Proven lower bound of ``form'x``, the value attained, and where."""
        scale = 1.0 / max(float(np.abs(form) @ self._sizes), 1e-12)
        bound, attained, point = self.prior(form)[0], float(form @ self.point), self.point
        for search in (self.exact, self.outer) if self.outer is not self.exact else (self.exact,):
            for solver in search.solvers:
                for start in (self.point, self.prepared.nominal):
                    outcome = search.program.solve(solver, search.program.start(start), 0.0, 0.0, scale * form)
                    if not np.isfinite(outcome.point.w).all():
                        continue
                    x = search.program.parameters(outcome.point.w)
                    bound = max(bound, self._bound(form, x, outcome.point, scale, search))
                    if float(form @ x) < attained and self._explains(x):
                        attained, point = float(form @ x), x
                    if (attained - bound) * scale <= _ENOUGH:
                        return self._sound(form, bound, attained, scale, point), attained, point
        return self._sound(form, bound, attained, scale, point), attained, point

    def _sound(self, form: Array, bound: float, attained: float, scale: float, point: Array) -> float:
        """The bound; the prior one where a point of the set contradicts it, or lies outside its search region."""
        if bound > attained and not self._within_region(point):
            return self.prior(form)[0]
        return max(checked_bound(bound, attained, 1.0 / scale, "an interval's end"), self.prior(form)[0])

    def _within_region(self, x: Array) -> bool:
        """Whether a point lies in the search region, ``tr(J0^-1 J) <= 4 factor`` of each link that has one."""
        for k, link in enumerate(self.problem.variables):
            factor = self.search_region.get(link.name, np.inf)
            nominal, own = (pseudo_inertia(part[link_slice(k)]) for part in (self.prepared.nominal, x))
            if float(np.trace(np.linalg.solve(nominal, own))) > 4 * factor:
                return False
        extras = x[self.problem.variables.standard_size :]
        limits = [self.search_region.get(name, np.inf) for name in self.problem.variables.extras]
        return bool(np.all(np.abs(extras) <= limits))

    def prior(self, form: Array) -> tuple[float, float]:
        """Range of ``form'x`` by the problem's own bounds, parameter by parameter."""
        low, high = self._prior_box
        used = np.flatnonzero(form)  # zero times an infinite bound is zero
        ends = np.stack([form[used] * low[used], form[used] * high[used]])
        return float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())

    def least_mass(self, link: int) -> float:
        """Proven lower bound of a link's mass over the set [kg]; 0 where there is none."""
        if link not in self._least_mass:
            mass = np.eye(len(self.point))[mass_index(link)]
            self._least_mass[link] = max(self.minimum(mass)[0], self._margin(link), 0.0)
        return self._least_mass[link]

    def _margin(self, link: int) -> float:
        """Least mass by consistency alone: a diagonal entry of a matrix >= margin 1."""
        entry = self.problem.cones[link]
        return entry.margin if entry.constrains else 0.0

    def ratio_prior(self, form: Array, link: int) -> tuple[float, float]:
        """Range by the box of the centre of mass, where the form has no other entries."""
        com = self.problem.regions[link].com
        others = np.delete(form, range(moment_slice(link).start, mass_index(link) + 1))
        if others.any():
            return -np.inf, np.inf
        part = form[moment_slice(link), None]
        ends = part * np.where(part == 0, 0.0, com)
        constant = float(form[mass_index(link)])
        return float(ends.min(axis=1).sum()) + constant, float(ends.max(axis=1).sum()) + constant

    def _bound(self, form: Array, x: Array, point: Point, scale: float, search: _Search) -> float:
        linear, curved = search.program.row_multipliers(point, scale)
        objective = self.problem.objective
        weight = max(float(curved[-1]), 0.0) / self.limit  # nu, in units of form'x per unit of the sum of squares
        slope = objective.gradient(x)
        dual = Dual.of(search.linear, linear)
        if search.nonlinear.size:
            dual = dual.joined(Dual.relaxed(self.prepared.relaxation, search.nonlinear, curved[:-1], x))
        found = dual_bound(
            self.problem, form + weight * slope, dual, Search(self.prepared.nominal, self.options.search_factor)
        )
        self.search_region.update(found.search_region)
        # what rounding can have added: a few units in the last place of the largest terms
        terms = found.terms + weight * (objective(x) + float(np.abs(slope) @ np.abs(x)) + self.limit)
        rounding = 16 * np.finfo(float).eps * terms
        return found.value + weight * (objective(x) - float(slope @ x) - self.limit) - rounding

    def _explains(self, x: Array) -> bool:
        feasible = self.problem.met(self.problem.violations(x), self.options.feasibility)
        return feasible and self.problem.objective(x) <= self.limit * (1 + 1e-6)

    @property
    def _sizes(self) -> Array:
        low, high = self._prior_box
        size = np.where(np.isfinite(high - low), (high - low) / 2, np.maximum(np.abs(self.prepared.nominal), 1e-3))
        return np.asarray(size)

    @property
    def _prior_box(self) -> tuple[Array, Array]:
        lows, highs = [], []
        for entry, region in zip(self.problem.cones, self.problem.regions, strict=True):
            low, high = -region.box.copy(), region.box.copy()
            if entry.cone.positive_mass:
                low[[0, 3, 5]] = 0.0
            low[9], high[9] = region.mass
            mass = region.mass[1]
            if region.positive_mass:
                low[6:9] = np.minimum(region.com[:, 0] * mass, 0.0) if np.isfinite(mass) else -np.inf
                high[6:9] = np.maximum(region.com[:, 1] * mass, 0.0) if np.isfinite(mass) else np.inf
            lows.append(low)
            highs.append(high)
        extras = np.array([*self.problem.variables.extras.values()]).reshape(-1, 2)
        return np.concatenate([*lows, extras[:, 0]]), np.concatenate([*highs, extras[:, 1]])


def with_secants(problem: Problem) -> Problem:
    """The problem with constraints replaced by their outer approximation by linear rows, where they have one.

    Over the boxes of the centres of mass; constraints keep their places. The same problem if nothing is replaced.
    """
    com = np.array([region.com for region in problem.regions])
    pairs = [c.with_secants(com) if c.hard else (c, ()) for c in problem.constraints]
    rows = [row for _, own in pairs for row in own]
    if not rows:
        return problem
    secants = Constraint("secants of the bounds", ca.vertcat(*rows), lower=0.0)
    return replace(problem, constraints=(*(constraint for constraint, _ in pairs), secants))
