r"""Ranges of parameters over all sets that explain the data, and the tolerance that defines these sets.

For a linear quantity c'x (a standard parameter, a mass, the torque at a pose) ::

    minimise c'x   subject to   ||R x - r||^2 + constant <= F = optimum + tolerance,   hard constraints,
                           J_k(x) >= margin 1

is convex where the constraints are. **Bound.** For any point x and ``nu >= 0``, every feasible z has ::

    c'z >= c'z + nu (q(z) - F) >= nu (q(x) - grad q(x)'x - F) + min (c + nu grad q(x))'z

and the last minimum is bounded by duality as in `casid.retrieval.bound._certificate`, in numpy. Each end of each
interval comes with a proof that no set beyond it explains the data, and with a set that attains it (up to the gap
between the two).

A quantity that is linear over a link's mass, as a coordinate of its centre of mass, ``(a'x)/m``, is found by
Dinkelbach's steps: ``a'x - t m`` is minimised, t is moved to the ratio at the minimum; a bound v on the former gives
``(a'x)/m >= t + min(0, v) / min m``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.display import Displayed
from casid.errors import ProblemError, SolveError
from casid.expressions import polynomials
from casid.inertia import mass_index
from casid.retrieval._objectives import chi_square
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval._variables import UnknownVariableError
from casid.retrieval.insight._level_set import LevelSet

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
    if optimum <= 1e-11 * problem.objective.size or samples <= rank:
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
        return (
            float(np.clip(1.0 - self.width / before, 0.0, 1.0)) if np.isfinite(before) and before > 0 else float("nan")
        )


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
    problem.require_squares("intervals")
    options = options or SolveOptions()
    if any(c.weight is not None for c in problem.constraints):
        problem, solution = problem.without(*(c.label for c in problem.constraints if not c.hard)), None
    if solution is None:
        solution = PreparedProblem(problem, None, options).solve()
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
    least = 1e-11 * problem.objective.size
    if solution.objective + tolerance < least:
        raise ProblemError(f"the tolerance {tolerance:.3g} is below rounding; allow at least {least:.3g}")
    forms = _standard_forms(problem) if quantities is None else _forms(problem, quantities)
    search = LevelSet(problem, solution, tolerance, options)
    entries = tuple(_interval(search, name, form, link) for name, (form, link) in forms.items())
    return Intervals(
        entries, problem, solution.objective, float(tolerance), perf_counter() - began, search.search_region
    )


def _interval(search: LevelSet, name: str, form: Array, link: int | None) -> ParameterInterval:
    """Range of ``form'x``, or of ``form'x / m`` of a link."""
    if link is None:
        low, at_low, low_point = search.minimum(form)
        high, at_high, high_point = search.minimum(-form)
        return ParameterInterval(name, low, -high, at_low, -at_high, search.prior(form), low_point, high_point)
    low, at_low, low_point = _least_ratio(search, form, link)
    high, at_high, high_point = _least_ratio(search, -form, link)
    prior = search.ratio_prior(form, link)
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
    for _ in range(30):
        bound, _, found = search.minimum(form - t * mass)
        if not found[mass_index(link)] > 0:
            break
        ratio = float(form @ found / found[mass_index(link)])
        if ratio >= t - 1e-9 * max(1.0, abs(t)):
            break
        t, point = ratio, found
    least = search.least_mass(link)
    proven = t if bound >= 0 else t + bound / least if least > 0 else -np.inf
    # A little below t the minimum is positive: where that can be proven, the division by the mass costs nothing.
    for step in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        lower = t - step * max(abs(t), 1e-2)
        if lower <= proven:
            break
        if search.minimum(form - lower * mass)[0] >= 0.0:
            return lower, t, point
    return proven, t, point


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
        for link in _links_of_positive_mass(problem):
            form = _linear_form(expression, x, mass_index(link))
            if form is not None:
                found[name] = (form, link)
                break
        else:
            raise ProblemError(
                f"quantity '{name}' is neither linear in the parameters nor linear over one link's mass: no certified "
                f"interval is known for it"
            )
    return found


def _links_of_positive_mass(problem: Problem) -> list[int]:
    return [k for k, positive in enumerate(problem.setting.positive_mass) if positive]


def _linear_form(expression: ca.SX, x: ca.SX, over: int | None = None) -> Array | None:
    """Form f with ``expression = f'x``, or ``f'x / x[over]``, by its structure; None if there is none."""
    (found,) = polynomials(expression, x, () if over is None else (over,))
    if found is None:
        return None
    cleared = found if over is None else found.times_power(over, 1)
    if cleared.degrees != {1} or cleared.lowest_power < 0:
        return None
    form = np.zeros(x.numel())
    for monomial, coefficient in cleared.terms.items():
        form[monomial[0][0]] = float(coefficient)
    return form
