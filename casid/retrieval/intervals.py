r"""How much the data and the constraints pin each parameter down.

Its smallest and largest value over all sets that explain the data.

For a linear quantity c'x (a standard parameter, a mass, the torque at a pose) ::

    minimise c'x   subject to   ||R x - r||^2 + constant <= F = optimum + tolerance,   hard constraints, J_k(x) >=
    margin 1

is convex where the constraints are. **Bound.** For any point x and ``nu >= 0``, every feasible z has ::

    c'z >= c'z + nu (q(z) - F) >= nu (q(x) - grad q(x)'x - F) + min (c + nu grad q(x))'z

and the last minimum is bounded by duality as in `casid.retrieval.certificate`, in numpy. Each end of each interval so
comes with a proof that no set beyond it explains the data, and with a set that attains it (up to the gap between the
two).

A quantity that is linear over a link's mass, as a coordinate of its centre of mass, ``(a'x)/m``, is found by
Dinkelbach's steps: ``a'x - t m`` is minimised, t is moved to the ratio at the minimum; a bound v on the former gives
``(a'x)/m >= t + min(0, v) / min m``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError, SolveError
from casid.retrieval.certificate import dual_bound
from casid.retrieval.constraints import Constraint
from casid.retrieval.nlp import LiftedProgram, Point
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.recheck import hard_violation, violations
from casid.retrieval.region import link_regions
from casid.retrieval.rows import LinearRows, NonlinearRows, Row, split_rows
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions
from casid.retrieval.tolerance import indistinguishable

Array = NDArray[np.float64]
#: Where bound and attained value agree to this share of the quantity's prior range, no other attempt is made.
_ENOUGH = 1e-7
_DIAGONAL = (0, 3, 5)


@dataclass(frozen=True, eq=False)
class ParameterInterval:
    """Range of one quantity.

    Attributes
    ----------
    name : str
    low, high : float
        Proven: no set that explains the data has a smaller or larger value.
    attained_low, attained_high : float
        Values of sets that explain the data.
    prior : tuple of float
        Range by the problem's bounds alone, infinite where there are none.
    low_point, high_point : ndarray, shape (N,)
        Those sets.
    """

    name: str
    low: float
    high: float
    attained_low: float
    attained_high: float
    prior: tuple[float, float]
    low_point: Array
    high_point: Array

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low

    @property
    def slack(self) -> float:
        """What of the width is not attained: how far the bounds may be from the true ends."""
        return max(self.attained_low - self.low, 0.0) + max(self.high - self.attained_high, 0.0)

    @property
    def known(self) -> float:
        """``1 - width / prior width``.

        0 where the data say nothing beyond the bounds, 1 where they pin the value down.
        """
        before = self.prior[1] - self.prior[0]
        return (
            float(np.clip(1.0 - self.width / before, 0.0, 1.0)) if np.isfinite(before) and before > 0 else float("nan")
        )


@dataclass(frozen=True, eq=False)
class Intervals:
    """Ranges of many quantities.

    Attributes
    ----------
    entries : tuple of ParameterInterval
    problem : Problem
    optimum, tolerance : float
        Sets count as explaining the data up to ``optimum + tolerance``.
    time : float
        [s]
    """

    entries: tuple[ParameterInterval, ...]
    problem: Problem
    optimum: float
    tolerance: float
    time: float

    def __getitem__(self, name: str) -> ParameterInterval:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise ProblemError(
            f"no interval of '{name}' was computed; there are {', '.join(e.name for e in self.entries[:8])}, ..."
        )

    def certified(self, share: float = 0.01) -> int:
        """Number of ends whose proven bound is within this share of the width (or rounding) of an attained value."""
        count = 0
        for e in self.entries:
            allowed = share * e.width + 1e-9 * max(abs(e.low), abs(e.high), 1e-3)
            count += int(abs(e.attained_low - e.low) <= allowed) + int(abs(e.high - e.attained_high) <= allowed)
        return count


def parameter_intervals(
    problem: Problem,
    quantities: Mapping[str, ca.SX] | None = None,
    tolerance: float | None = None,
    solution: Solution | None = None,
    sd: ArrayLike | None = None,
    options: SolveOptions | None = None,
    limit: float | None = None,
) -> Intervals:
    """Smallest and largest value of each quantity over all feasible sets that explain the data.

    Parameters
    ----------
    problem
        Soft constraints are left out: they do not exclude anything.
    quantities
        Name -> expression of the problem's variables, linear in them or linear over one link's mass. Default: every
        unknown, i.e. the standard parameters ``Lxx1 ... m<n>`` and the extras.
    tolerance
        Allowed increase of the sum of squares beyond its smallest value. Default: `indistinguishable`.
    solution
        Of the problem, if it is already there.
    sd
        Standard deviations of the residuals, for the default tolerance.
    limit
        In place of the tolerance: largest sum of squares, not below the optimum.

    Raises
    ------
    ProblemError
        If a quantity is neither linear nor linear over a mass, depends on nothing, or the tolerance is not positive.
    SolveError
        If the problem has no solution.
    """
    began = perf_counter()
    options = options or SolveOptions()
    if any(c.weight is not None for c in problem.constraints):
        hard = tuple(c for c in problem.constraints if c.weight is None)
        problem, solution = replace(problem, constraints=(*hard, *problem.cones)), None  # type: ignore[arg-type]
    if solution is None:
        solution = Prepared(problem, None, options).solve()
    if solution.status not in ("optimal", "feasible"):
        raise SolveError(
            f"problem '{problem.name}': intervals need a feasible solution, this one is {solution.status}", solution
        )
    if limit is not None:
        tolerance = limit - solution.objective
    if tolerance is None:
        tolerance = indistinguishable(problem, solution.objective, sd)
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ProblemError(f"the tolerance must be positive and finite, got {tolerance}")
    forms = _standard_forms(problem) if quantities is None else _forms(problem, quantities)
    search = LevelSet(problem, solution, tolerance, options)
    entries = tuple(search.interval(name, *form) for name, form in forms.items())
    return Intervals(entries, problem, solution.objective, float(tolerance), perf_counter() - began)


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
                    if outcome.success:
                        break
        return bound, attained, point

    def interval(self, name: str, form: Array, link: int | None) -> ParameterInterval:
        """Range of ``form'x``, or of ``form'x / m`` of a link."""
        if link is not None:
            return self._ratio_interval(name, form, link)
        low, at_low, low_point = self.minimum(form)
        high, at_high, high_point = self.minimum(-form)
        return ParameterInterval(name, low, -high, at_low, -at_high, self.prior(form), low_point, high_point)

    def prior(self, form: Array) -> tuple[float, float]:
        """Range of ``form'x`` by the problem's own bounds, parameter by parameter."""
        low, high = self._prior_box
        ends = np.stack([np.where(form == 0, 0.0, form * low), np.where(form == 0, 0.0, form * high)])
        return float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())

    def _ratio_interval(self, name: str, form: Array, link: int) -> ParameterInterval:
        ends = []
        for sign in (1.0, -1.0):
            mass = np.eye(len(form))[10 * link + 9]
            point = self.point
            t = float(sign * form @ point / point[10 * link + 9])
            for _ in range(30):
                bound, _, found = self.minimum(sign * form - t * mass)
                ratio = float(sign * form @ found / found[10 * link + 9])
                if ratio >= t - 1e-9 * max(1.0, abs(t)):
                    break
                t, point = ratio, found
            if link not in self._least_mass:
                self._least_mass[link] = max(self.minimum(mass)[0], self.problem.cones[link].margin, 1e-9)
            # a little below t the minimum is certainly positive, up to the solver's accuracy: prove it there
            proven = t + min(0.0, bound) / self._least_mass[link]
            for step in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
                lower = t - step * max(abs(t), 1e-2)
                if lower <= proven:
                    break
                if self.minimum(sign * form - lower * mass)[0] >= 0.0:
                    proven = lower
                    break
            ends.append((proven, t, point))
        (low, at_low, low_point), (high, at_high, high_point) = ends
        prior = self._ratio_prior(form, link)
        return ParameterInterval(
            name, max(low, prior[0]), min(-high, prior[1]), at_low, -at_high, prior, low_point, high_point
        )

    def _ratio_prior(self, form: Array, link: int) -> tuple[float, float]:
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
            self.prepared.relaxation if search.nonlinear.size else None,
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


def _standard_forms(problem: Problem) -> dict[str, tuple[Array, int | None]]:
    size = problem.variables.size
    return {name: (np.eye(size)[k], None) for k, name in enumerate(problem.variables.names)}


def _forms(problem: Problem, quantities: Mapping[str, ca.SX]) -> dict[str, tuple[Array, int | None]]:
    """Linear form of each quantity, and the link whose mass divides it."""
    x = problem.variables.x
    found: dict[str, tuple[Array, int | None]] = {}
    for name, expression in quantities.items():
        if not isinstance(expression, ca.SX) or expression.numel() != 1:
            raise ProblemError(f"quantity '{name}': expected a scalar casadi.SX of the problem's variables")
        if not ca.depends_on(expression, x):
            raise ProblemError(f"quantity '{name}' does not depend on any variable")
        form = _linear_form(expression, x)
        if form is not None:
            found[name] = (form, None)
            continue
        for link in range(len(problem.variables)):
            form = _linear_form(expression * x[10 * link + 9], x)
            if form is not None:
                found[name] = (form, link)
                break
        else:
            raise ProblemError(
                f"quantity '{name}' is neither linear in the parameters nor linear over one link's mass: no certified "
                f"interval is known for it"
            )
    return found


def _linear_form(expression: ca.SX, x: ca.SX) -> Array | None:
    """Form f with ``expression = f'x``, found at random points; None if there is none."""
    rng = np.random.default_rng(3)
    probe = ca.Function("probe", [x], [expression, ca.gradient(expression, x)])
    form: Array | None = None
    for _ in range(3):
        point = rng.uniform(0.5, 2.0, x.numel())
        value, gradient = probe(point)
        slope: Array = np.array(ca.densify(gradient)).reshape(-1)
        if not np.isfinite(slope).all() or abs(float(value) - slope @ point) > 1e-9 * (1 + np.abs(slope) @ point):
            return None
        if form is not None and np.abs(slope - form).max() > 1e-9 * (1 + np.abs(form).max()):
            return None
        form = slope
    return form
