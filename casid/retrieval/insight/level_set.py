"""Linear functions minimised over all sets that explain the data, with a proven bound: what `intervals` is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.retrieval.bound.certificate import dual_bound
from casid.retrieval.bound.recheck import hard_violation, violations
from casid.retrieval.bound.region import link_regions
from casid.retrieval.constraints import Constraint
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.program.nlp import LiftedProgram, Point
from casid.retrieval.program.rows import LinearRows, NonlinearRows, Row, split_rows
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions

Array = NDArray[np.float64]
#: Where bound and attained value agree to this share of the quantity's prior range, no other attempt is made.
_ENOUGH = 1e-7
_DIAGONAL = (0, 3, 5)


@dataclass(frozen=True, eq=False)
class _Search:
    """A program whose minimum over the level set is looked for.

    The exact one, or the one with secants for inertias' upper bounds.
    """

    linear: LinearRows
    nonlinear: NonlinearRows
    program: LiftedProgram
    solvers: tuple[ca.Function, ...]


class LevelSet:
    """All feasible sets of a problem with a sum of squares up to ``optimum + tolerance``.

    Linear functions are minimised over it.
    """

    def __init__(self, problem: Problem, solution: Solution, tolerance: float, options: SolveOptions) -> None:
        self.problem, self.options = problem, options
        self.limit = solution.objective + tolerance
        self.prepared = Prepared(problem, None, options)
        self.exact = self._search(problem)
        secants = with_secants(problem)
        self.outer = self.exact if secants is problem else self._search(secants)
        self.point = solution.standard_parameters
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
            linear,
            rows,
            self.prepared.cones,
            self.prepared.nominal,
            self.prepared.pulled,
            4 * self.options.times,
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
                        return bound, attained, point
        return bound, attained, point

    def prior(self, form: Array) -> tuple[float, float]:
        """Range of ``form'x`` by the problem's own bounds, parameter by parameter."""
        low, high = self._prior_box
        ends = np.stack([np.where(form == 0, 0.0, form * low), np.where(form == 0, 0.0, form * high)])
        return float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())

    def least_mass(self, link: int) -> float:
        """Proven lower bound of a link's mass over the set [kg]."""
        if link not in self._least_mass:
            mass = np.eye(len(self.point))[10 * link + 9]
            self._least_mass[link] = max(self.minimum(mass)[0], self.problem.cones[link].margin, 1e-9)
        return self._least_mass[link]

    def ratio_prior(self, form: Array, link: int) -> tuple[float, float]:
        """Range by the box of the centre of mass, where the form has no other entries."""
        com = link_regions(self.problem)[link].com
        others = np.delete(form, range(10 * link + 6, 10 * link + 10))
        if others.any():
            return -np.inf, np.inf
        part = form[10 * link + 6 : 10 * link + 9, None]
        ends = np.where(part == 0, 0.0, part * np.where(part == 0, 0.0, com))
        constant = float(form[10 * link + 9])
        return float(ends.min(axis=1).sum()) + constant, float(ends.max(axis=1).sum()) + constant

    def _bound(self, form: Array, x: Array, point: Point, scale: float, search: _Search) -> float:
        linear, curved = search.program.row_multipliers(point, scale)
        objective = self.problem.objective
        weight = max(float(curved[-1]), 0.0) / self.limit  # nu, in units of form'x per unit of the sum of squares
        slope = objective.gradient(x)
        value, _, _, _ = dual_bound(
            self.problem,
            x,
            form + weight * slope,
            search.linear,
            linear,
            search.nonlinear,
            curved[:-1],
            self.prepared.nominal,
            self.options.times,
            relaxation=self.prepared.relaxation if search.nonlinear.size else None,
        )
        return value + weight * (objective(x) - float(slope @ x) - self.limit)

    def _explains(self, x: Array) -> bool:
        feasible = hard_violation(self.problem, violations(self.problem, x)) <= self.options.feasibility
        return feasible and self.problem.objective(x) <= self.limit * (1 + 1e-6)

    @property
    def _sizes(self) -> Array:
        low, high = self._prior_box
        size = np.where(np.isfinite(high - low), (high - low) / 2, np.maximum(np.abs(self.prepared.nominal), 1e-3))
        return np.asarray(size)

    @property
    def _prior_box(self) -> tuple[Array, Array]:
        lows, highs = [], []
        for cone, region in zip(self.problem.cones, link_regions(self.problem), strict=True):
            low, high = -region.box.copy(), region.box.copy()
            if cone.kind != "none":
                low[[0, 3, 5]] = 0.0
            low[9], high[9] = region.mass
            mass = region.mass[1]
            low[6:9] = np.minimum(region.com[:, 0] * mass, 0.0) if np.isfinite(mass) else -np.inf
            high[6:9] = np.maximum(region.com[:, 1] * mass, 0.0) if np.isfinite(mass) else np.inf
            lows.append(low)
            highs.append(high)
        extras = np.array([*self.problem.variables.extras.values()]).reshape(-1, 2)
        return np.concatenate([*lows, extras[:, 0]]), np.concatenate([*highs, extras[:, 1]])


def with_secants(problem: Problem) -> Problem:
    """The problem with each upper bound of an inertia replaced by its secant over the box of the centre of mass.

    A linear row.

    Constraints keep their places. Bounds on products of inertia are left out. The same problem if there is nothing to
    replace.
    """
    constraints, rows = list(problem.constraints), []
    for index, constraint in enumerate(problem.constraints):
        if constraint.quantity != "inertia_com" or constraint.weight is not None:
            continue
        diagonal = np.isin(np.arange(6), _DIAGONAL)
        lower = np.where(diagonal, constraint.lower, -np.inf)
        upper = np.full(6, np.inf)
        link = problem.variables.links[constraint.links[0]]
        com = link_regions(problem)[link.index].com
        for axis, entry in enumerate(_DIAGONAL):
            across = [a for a in range(3) if a != axis]
            if np.isfinite(constraint.upper[entry]) and np.isfinite(com[across]).all():
                steiner = sum(
                    (com[a].sum() * link.first_moment[a] - com[a].prod() * link.mass for a in across), ca.SX(0)
                )
                rows.append(constraint.upper[entry] - (link.parameters[entry] - steiner))
        if not np.isfinite(lower).any():
            lower = np.where(diagonal, -1e6, -np.inf)  # a constraint must bound something; inertias are positive
        constraints[index] = replace(constraint, lower=lower, upper=upper)
    if not rows:
        return problem
    secants = Constraint("secants of inertia bounds", ca.vertcat(*rows), lower=0.0)
    return replace(problem, constraints=(*constraints, secants, *problem.cones))  # type: ignore[arg-type]
