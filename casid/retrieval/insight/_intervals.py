r"""Ranges of parameters over all sets that explain the data, and the tolerance that defines these sets.

For a linear quantity c'x (a standard parameter, a mass, the torque at a pose) ::

    minimise c'x   subject to   ||R x - r||^2 + constant <= F = optimum + tolerance,   hard constraints,
                           J_k(x) >= margin 1

is convex where the constraints are. **Bound.** For any point x and ``nu >= 0``, every feasible z has ::

    c'z >= c'z + nu (q(z) - F) >= nu (q(x) - grad q(x)'x - F) + min (c + nu grad q(x))'z

and the last minimum is bounded by duality as in `casid.retrieval._bound`, in numpy. Each end of each
interval comes with a proof that no set beyond it explains the data, and with a set that attains it (up to the gap
between the two).

A quantity that is linear over a link's mass, as a coordinate of its centre of mass, ``(a'x)/m``, is found by
Dinkelbach's steps: ``a'x - t m`` is minimised, t is moved to the ratio at the minimum; a bound v on the former gives
``(a'x)/m >= t + min(0, v) / min m``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE, Array
from casid.display import Displayed
from casid.errors import ProblemError, SolveError
from casid.expressions import polynomials
from casid.inertia import link_slice, mass_index, moment_slice, pseudo_inertia
from casid.retrieval._bound import Dual, Search, dual_bound
from casid.retrieval._objectives import PERFECT, chi_square
from casid.retrieval._problem import NonlinearRows, Problem, split_rows
from casid.retrieval._region import region_box
from casid.retrieval._solution import ENOUGH, EXPLAINED, Solution, checked_bound
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval._variables import UnknownVariableError
from casid.retrieval.constraints._constraint import Constraint
from casid.retrieval.program._nlp import FeasibleSet, LiftedProgram, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def indistinguishable(problem: Problem, optimum: float, sd: ArrayLike | None = None, confidence: float = 0.95) -> float:
    """Increase of the sum of squares that measurement noise alone explains.

    With standard deviations s_i of the residuals (of the identified coefficients), the noise's own sum of squares is
    ``sum s_i^2 chi^2_1``. Its quantile is taken from the chi-square distribution of the same mean and variance
    (Satterthwaite): ``S / f`` times that of ``f = S^2 / sum s_i^4`` degrees of freedom, ``S = sum s_i^2``. Without
    them, the residual variance ``s^2 = optimum / (samples - rank)`` takes their place, and the increase is ``s^2
    chi^2_rank``; ``samples`` from the problem's coefficients, else the number of residuals (then s^2 is ``optimum /
    residuals``).

    Parameters
    ----------
    problem
        Its ``coefficients`` provide the standard deviations if ``sd`` is not given.
    optimum
        Smallest sum of squares.
    sd
        One a residual of the objective, same units.
    confidence
        Of the quantile.

    Raises
    ------
    ProblemError
        If the number of standard deviations is not that of the residuals, one is not positive, or the noise level
        is not known.
    """
    if not 0 < confidence < 1:
        raise ProblemError(f"the confidence must lie between 0 and 1, got {confidence}")
    residuals = len(problem.objective.target)
    given = problem.coefficients
    if sd is None and given is not None and given.sd is not None:
        sd = given.sd[given.used]
    if sd is not None:
        spread = np.asarray(sd, dtype=float)
        if spread.shape != (residuals,) or not np.isfinite(spread).all() or (spread < 0).any() or not spread.any():
            raise ProblemError(
                f"sd: expected {residuals} non-negative numbers, one a residual of '{problem.name}', got shape "
                f"{spread.shape}"
            )
        total = float((spread**2).sum())
        freedom = total**2 / float((spread**4).sum())
        return total / freedom * chi_square(freedom, 1 - confidence)
    rank = int(np.linalg.matrix_rank(problem.objective.matrix))
    samples = residuals + rank if given is None or given.samples is None else given.samples
    if optimum <= PERFECT * problem.objective.size or samples <= rank:
        raise ProblemError(
            f"problem '{problem.name}': the noise level cannot be estimated from a perfect fit; give the "
            "tolerance, or the standard "
            f"deviations sd of its residuals"
        )
    return optimum / (samples - rank) * chi_square(rank, 1 - confidence)


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

        0 where the data add nothing to the bounds, 1 where they determine the value.
        """
        before = self.prior[1] - self.prior[0]
        return float(np.clip(1.0 - self.width / before, 0.0, 1.0)) if 0 < before < np.inf else float("nan")


@dataclass(frozen=True, eq=False)
class Intervals(Displayed):
    """Ranges of many quantities.

    Attributes
    ----------
    entries : tuple of ParameterInterval
    problem : Problem
    optimum, tolerance : float
        Sets count as explaining the data up to ``optimum + tolerance``.
    time : float
        [s]
    search_region : mapping of str to float
        Links and extras that the problem does not bound -> how many times their nominal size the proofs let them be;
        usually empty.
    """

    entries: tuple[ParameterInterval, ...]
    problem: Problem
    optimum: float
    tolerance: float
    time: float
    search_region: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> ParameterInterval:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise UnknownVariableError(
            f"no interval of '{name}' was computed; there are {', '.join(e.name for e in self.entries[:8])}, ..."
        )

    def __contains__(self, name: object) -> bool:
        return any(entry.name == name for entry in self.entries)

    def plot(self) -> tuple[Axes, ...]:
        """Draw each range, its proven ends, and the bounds that it lies in."""
        return self._plot("intervals")

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
    progress: Callable[[int, int], object] = lambda done, of: None,
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
    progress
        Called with how many of all quantities are done.

    Raises
    ------
    ProblemError
        If a quantity is neither linear nor linear over a mass, depends on nothing, or the tolerance is not positive.
    SolveError
        If the problem has no solution.
    """
    began = perf_counter()
    problem.require_squares("intervals")
    options = options or SolveOptions()
    if any(c.weight is not None for c in problem.constraints):
        problem, solution = problem.without(*(c.label for c in problem.constraints if not c.hard)), None
    if solution is None:
        solution = PreparedProblem(problem, None, options).solve()
    if not solution.usable:
        raise SolveError(
            f"problem '{problem.name}': intervals need a feasible solution, this one is {solution.status}", solution
        )
    if limit is not None:
        tolerance = limit - solution.objective
    if tolerance is None:
        tolerance = indistinguishable(problem, solution.objective, sd)
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ProblemError(f"the tolerance must be positive and finite, got {tolerance}")
    least = 1e-11 * problem.objective.size
    if solution.objective + tolerance < least:
        raise ProblemError(f"the tolerance {tolerance:.3g} is below rounding; allow at least {least:.3g}")
    unknowns = zip(problem.variables.names, np.eye(problem.variables.size), strict=True)
    forms = {name: (row, None) for name, row in unknowns} if quantities is None else _forms(problem, quantities)
    search = LevelSet(problem, solution, tolerance, options)
    entries: list[ParameterInterval] = []
    for name, (form, link) in forms.items():
        progress(len(entries), len(forms))
        entries.append(_interval(search, name, form, link))
    return Intervals(
        tuple(entries), problem, solution.objective, float(tolerance), perf_counter() - began, search.search_region
    )


def _interval(search: LevelSet, name: str, form: Array, link: int | None) -> ParameterInterval:
    """Range of ``form'x``, or of ``form'x / m`` of a link."""
    least = search.minimum if link is None else partial(_least_ratio, search, link=link)
    prior = search.prior(form) if link is None else search.ratio_prior(form, link)
    low, at_low, low_point = least(form)
    high, at_high, high_point = least(-form)
    return ParameterInterval(
        name, max(low, prior[0]), min(-high, prior[1]), at_low, -at_high, prior, low_point, high_point
    )


def _least_ratio(search: LevelSet, form: Array, link: int) -> tuple[float, float, Array]:
    """Proven lower bound of ``form'x / m``, the value attained, and where."""
    mass = np.eye(len(form))[mass_index(link)]
    point = search.point
    if not point[mass_index(link)] > 0:
        point = search.minimum(-mass)[2]
    if not point[mass_index(link)] > 0:
        name = search.problem.variables.links[link].name
        raise ProblemError(f"link '{name}' weighs nothing in every set that explains the data: it has no such ratio")
    t = float(form @ point / point[mass_index(link)])

    def smaller(_: float, x: Array) -> bool:
        """Whether the point has a noticeably smaller ratio: from there the search begins anew."""
        m = x[mass_index(link)]
        return bool(m > 0 and form @ x / m < t - ALIKE * max(1.0, abs(t)))

    for _ in range(30):
        bound, _, found = search.minimum(form - t * mass, smaller)
        if not smaller(bound, found):
            break
        t, point = float(form @ found / found[mass_index(link)]), found
    least = search.least_mass(link)
    proven = t if bound >= 0 else t + bound / least if least > 0 else -np.inf
    # A little below t the minimum is positive: where that can be proven, the division by the mass costs nothing.
    for step in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        lower = t - step * max(abs(t), 1e-2)
        if lower <= proven:
            break
        if search.minimum(form - lower * mass, lambda bound, _: bound >= 0.0)[0] >= 0.0:
            return lower, t, point
    return proven, t, point


def _forms(problem: Problem, quantities: Mapping[str, ca.SX]) -> dict[str, tuple[Array, int | None]]:
    """Linear form of each quantity, and the link whose mass divides it."""
    x = problem.variables.x
    found: dict[str, tuple[Array, int | None]] = {}
    for name, expression in quantities.items():
        if not isinstance(expression, ca.SX) or expression.numel() != 1:
            raise ProblemError(f"quantity '{name}': expected a scalar casadi.SX of the problem's variables")
        if not ca.depends_on(expression, x):
            raise ProblemError(f"quantity '{name}' does not depend on any variable")
        positive = [k for k, known in enumerate(problem.setting.positive_mass) if known]
        for link in (None, *positive):
            form = _linear_form(expression, x, None if link is None else mass_index(link))
            if form is not None:
                found[name] = (form, link)
                break
        else:
            raise ProblemError(
                f"quantity '{name}' is neither linear in the parameters nor linear over one link's mass: no certified "
                f"interval is known for it"
            )
    return found


def _linear_form(expression: ca.SX, x: ca.SX, over: int | None = None) -> Array | None:
    """Form f with ``expression = f'x``, or ``f'x / x[over]``, by its structure; None if there is none."""
    (found,) = polynomials(expression, x, () if over is None else (over,))
    if found is None:
        return None
    cleared = found if over is None else found.times_power(over, 1)
    if cleared.degrees != {1} or cleared.lowest_power < 0:
        return None
    form = np.zeros(x.numel())
    for entry, coefficient in cleared.linear.items():
        form[entry] = float(coefficient)
    return form


@dataclass(frozen=True, eq=False)
class _Search:
    """A program whose minimum over the level set is looked for: the exact one, or one with secants in place of rows."""

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
        linear, own = split_rows(problem)
        program = LiftedProgram(
            problem.variables.x,
            problem.objective,
            FeasibleSet(linear, own, self.prepared.cones, self.prepared.nominal),
            self.prepared.unbounded,
            4 * self.options.search_factor,
            ceiling=self.limit,
        )
        most = self.options.max_iterations
        solvers = (
            program.solver({"tol": 1e-9, "max_iter": most, "mu_strategy": "adaptive"}),
            program.solver({"tol": 1e-11, "acceptable_tol": 1e-9, "max_iter": min(most, 150)}),
        )
        return _Search(own, program, solvers)

    def minimum(
        self, form: Array, ended: Callable[[float, Array], bool] = lambda bound, x: False
    ) -> tuple[float, float, Array]:
        """Proven lower bound of ``form'x``, the value attained, and where; as far as ``ended(bound, x)`` asks."""
        scale = 1.0 / max(float(np.abs(form) @ self._sizes), 1e-12)
        bound, attained, point = self.prior(form)[0], float(form @ self.point), self.point
        for search in dict.fromkeys((self.exact, self.outer)):
            for solver in search.solvers:
                for start in (self.point, self.prepared.nominal):
                    outcome = search.program.solve(solver, search.program.start(start), 0.0, 0.0, scale * form)
                    if not np.isfinite(outcome.point.w).all():
                        continue
                    x = search.program.parameters(outcome.point.w)
                    bound = max(bound, self._bound(form, x, outcome.point, scale, search))
                    if float(form @ x) < attained and self._explains(x):
                        attained, point = float(form @ x), x
                    if (attained - bound) * scale <= ENOUGH or ended(bound, point):
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
            mass, entry = np.eye(len(self.point))[mass_index(link)], self.problem.cones[link]
            # by consistency alone: a diagonal entry of a matrix >= margin 1
            self._least_mass[link] = max(self.minimum(mass)[0], entry.margin if entry.constrains else 0.0)
        return self._least_mass[link]

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
        weight = max(float(point.multipliers[-1]) / scale, 0.0) / self.limit  # nu, in form'x per unit of squares
        slope = objective.gradient(x)
        relaxed = self.prepared.relaxation, search.nonlinear, curved, x
        dual = Dual.of(search.program.linear, linear).with_cuts(*relaxed)
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
        return feasible and self.problem.objective(x) <= self.limit * (1 + EXPLAINED)

    @property
    def _sizes(self) -> Array:
        low, high = self._prior_box
        size = np.where(np.isfinite(high - low), (high - low) / 2, np.maximum(np.abs(self.prepared.nominal), 1e-3))
        return np.asarray(size)

    @cached_property
    def _prior_box(self) -> tuple[Array, Array]:
        problem = self.problem
        low, high, _ = region_box(problem.regions, [*problem.variables.extras.values()], [0.0] * len(problem.cones))
        for k, (entry, region) in enumerate(zip(problem.cones, problem.regions, strict=True)):
            if entry.cone.positive_mass:
                low[link_slice(k)][[0, 3, 5]] = 0.0
            mass, moment = region.mass[1], moment_slice(k)
            if region.positive_mass:
                low[moment] = np.minimum(region.com[:, 0] * mass, 0.0) if np.isfinite(mass) else -np.inf
                high[moment] = np.maximum(region.com[:, 1] * mass, 0.0) if np.isfinite(mass) else np.inf
        return low, high


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
