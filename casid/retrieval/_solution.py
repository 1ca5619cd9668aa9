"""Solutions: parameters and a proven bound; all else follows from them and the problem. Results, gaps, conflicts."""

from __future__ import annotations

import platform
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from casid.arrays import Array, read_only
from casid.display import Displayed
from casid.errors import BoundWarning, ProblemError, SolveError
from casid.expressions import evaluate
from casid.inertia import LinkParameters, Parameters
from casid.retrieval._problem import Problem, Row
from casid.retrieval._variables import UnknownVariableError, in_unknowns
from casid.retrieval.constraints._constraint import FEASIBILITY
from casid.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative excess of a bound over the value of a feasible point that its own tolerances (1e-8 of violation) explain.
EXPLAINED = 1e-6
#: Gap between a bound and what is attained at which no other attempt is made, relative to what each is compared with.
ENOUGH = 1e-7


class ParameterResult(ABC):
    """A result that is a set of parameters; all other forms of the same numbers follow from `parameters`."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """All parameters by name, read-only."""

    @property
    def standard_parameters(self) -> Array:
        """``Lxx1 ... m<n>``, shape (10 n,), read-only."""
        return self.parameters.standard

    @property
    def extras(self) -> dict[str, float]:
        """Values of the parameters that belong to no link (friction, rotors, ...), by name."""
        return dict(self.parameters.terms)

    @property
    def links(self) -> Mapping[str, LinkParameters]:
        """Mass, centre of mass and inertia about it of every link, by name, in the robot's order."""
        return self.parameters.links

    @property
    def link_parameters(self) -> tuple[LinkParameters, ...]:
        """The entries of `links`, in the robot's order."""
        return tuple(self.parameters.links.values())


def relative_gap(value: float, bound: float, negligible: float) -> float:
    """``(value - bound) / max(|value|, negligible)``.

    Parameters
    ----------
    value
        What was minimised, at a feasible point.
    bound
        Proven lower bound of it, -inf if there is none.
    negligible
        Value that counts as zero (`LeastSquares.negligible`): the relative error of a smaller one is not defined.

    Returns
    -------
    float
        No feasible point is better than the value by more than this share of it. >= 0 up to rounding.
    """
    return float((value - bound) / max(abs(value), negligible))


def checked_bound(bound: float, value: float, negligible: float, what: str) -> float:
    """A lower bound, compared with the value that a feasible point attains.

    Returns
    -------
    float
        The bound; the value, where the bound exceeds it within tolerances; -inf and a `BoundWarning` where it exceeds
        it by more, because the bound is then wrong.
    """
    if not bound > value:
        return bound
    if bound - value <= EXPLAINED * max(abs(value), negligible):
        return value
    warnings.warn(
        f"{what}: its lower bound {bound:.9g} exceeds the value {value:.9g} of a feasible point and is discarded",
        BoundWarning,
        stacklevel=3,
    )
    return float("-inf")


class InfeasibleError(SolveError):
    """The constraints of a problem cannot be met together, and this is proven.

    Attributes
    ----------
    conflicting : tuple of str
        The bounds that exclude each other, in words.
    relaxation : mapping of str to float
        Bound -> by how much to loosen it, in its own units (kg, m, kg.m^2, or the expression's).
    """

    def __init__(
        self, message: str, conflicting: tuple[str, ...], relaxation: dict[str, float], solution: object | None = None
    ) -> None:
        super().__init__(message, solution)
        self.conflicting = conflicting
        self.relaxation = relaxation

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.conflicting, self.relaxation, self.solution))


@dataclass(frozen=True)
class Conflict:
    """Bounds that exclude each other, and the smallest relaxation that was found.

    Attributes
    ----------
    conflicting : tuple of str
    relaxation : mapping of str to float
        Bound in words -> by how much to loosen it.
    advice : tuple of str
        The same in words, with units.
    proven : bool
        No point can meet them, within the region where there is one; else none was found near the starts.
    region : mapping of str to str
        What the proof leaves out: links and extras that nothing bounds -> how large they may be, in words.
    """

    conflicting: tuple[str, ...]
    relaxation: Mapping[str, float]
    advice: tuple[str, ...]
    proven: bool
    region: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> str:
        """The conflict and its smallest relaxation, as a sentence."""
        if not self.proven:
            start = "no feasible point was found near; the smallest relaxation found"
        elif len(self.conflicting) > 1:
            start = f"{self.conflicting[0]} conflicts with {', '.join(self.conflicting[1:])}; the smallest relaxation"
        else:
            first = ", ".join(self.conflicting) or "the constraints"
            start = f"{first} cannot be met by any physically consistent body; the smallest relaxation"
        words = f"{start} that satisfies all: {', '.join(self.advice)}"
        return words + self._within() if self.proven and self.region else words

    def _within(self) -> str:
        """The region of the proof, and what bounds beyond it usually are."""
        alike: dict[str, list[str]] = {}
        for name, limit in self.region.items():
            alike.setdefault(limit, []).append(name)
        limits = " and ".join(
            f"{', '.join(names) if len(names) <= 3 else f'{names[0]} ... {names[-1]} ({len(names)} in all)'} {limit}"
            for limit, names in alike.items()
        )
        return (
            f". The proof holds for {limits}, which nothing else bounds; a larger body may meet it. Bounds beyond that "
            "are mostly a slip of units: kg, m and kg.m^2 are expected, not g (a factor of 1e3), mm (1e3 of a "
            "length, 1e6 of an inertia), or g.mm^2 (1e9)"
        )

    def error(self, name: str, solution: object) -> SolveError:
        """The exception for the problem of that name."""
        message = f"problem '{name}': {self.words()}"
        if not self.proven:
            return SolveError(message, solution)
        return InfeasibleError(message, self.conflicting, dict(self.relaxation), solution)


Status = Literal["optimal", "feasible", "stopped", "infeasible", "failed"]


_VERSIONS = {
    "python": platform.python_version(),
    "casid": __version__,
    "casadi": ca.CasadiMeta.version(),
    "numpy": np.__version__,
}


@dataclass(frozen=True)
class Tolerances:
    """What counts as certified and as feasible.

    Attributes
    ----------
    gap : float
        Largest relative gap of a certified solution.
    feasibility : float
        Largest violation, on re-check in physical units.
    """

    gap: float = 1e-6
    feasibility: float = FEASIBILITY


@dataclass(frozen=True, eq=False, repr=False)
class Solution(ParameterResult, Displayed):
    """A point of a problem, a proven bound, and what follows from them. Made by `assess` only.

    Attributes
    ----------
    problem : Problem
    x : ndarray, shape (N,)
        All unknowns, read-only: standard parameters, then the extras.
    lower_bound : float
        Proven lower bound of objective + penalty (`casid.retrieval._bound`); -inf if none was found.
    multipliers : mapping of str to ndarray
        Multipliers of each constraint's solver rows (> 0 at an upper bound), in units of the objective.
    converged : bool
        Whether the solver reported a (local) optimum.
    conflict : Conflict or None
        Why no feasible point was found, where the reason is known.
    search_region : mapping of str to float
        Links without bounds -> how many times their nominal body the lower bound lets them be; usually empty.
    tolerances : Tolerances
    iterations, restarts, starts : int
        IPOPT's iterations over all attempts; attempts beyond the first; starts of the multi-start this is the best of.
    build_time, solve_time : float
        [s]
    seed : int or None
        Of the random start.
    solver_status : str
        Status that the solver reported.
    trace : tuple
        Steps of the method, where it takes several: see the method.
    tried : str
        Ways to a certificate that were taken, with their gaps, and what to try next where none closed it.
    """

    problem: Problem
    x: Array
    lower_bound: float
    multipliers: Mapping[str, Array]
    converged: bool = True
    conflict: Conflict | None = None
    search_region: Mapping[str, float] = field(default_factory=dict)
    tolerances: Tolerances = Tolerances()
    iterations: int = 0
    restarts: int = 0
    starts: int = 1
    build_time: float = 0.0
    solve_time: float = 0.0
    seed: int | None = None
    solver_status: str = ""
    trace: tuple[Any, ...] = ()
    tried: str = ""
    versions: Mapping[str, str] = field(default_factory=_VERSIONS.copy)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", read_only(self.x))
        object.__setattr__(self, "search_region", dict(self.search_region))

    def __repr__(self) -> str:
        return (
            f"<Solution of '{self.problem.name}': {self.status}, objective {self.objective:.6g}"
            f"{f' + {self.penalty:.3g}' if self.penalty else ''}, gap {self.gap:.1e}, "
            f"largest violation {self.max_violation:.1e}>"
        )

    # ------------------------------------------------------------------ values

    def value(self, expression: ca.SX | ca.MX) -> Any:
        """Value of an expression of the problem's variables: a number, or an array of the expression's shape."""
        expression = in_unknowns(expression, "solution.value(...)")
        if not isinstance(expression, ca.SX):
            raise ProblemError(f"solution.value(...): expected a casadi.SX or MX, got {type(expression).__name__}")
        self.problem.variables.check_symbols(expression, "solution.value(...)")
        values = evaluate(expression, self.problem.variables.x, self.x)
        return float(values[0]) if values.size == 1 else values.reshape(expression.shape, order="F")

    def derivative(self, of: str, side: Literal["lower", "upper"] | None = None) -> Any:
        """Derivative of the optimum (objective plus penalty), by the envelope theorem at the certified point.

        ``df*/dp = dL/dp`` with ``L = f + multipliers' rows``: CasADi's derivative of the expressions in p.

        Parameters
        ----------
        of
            Name of a parameter of the problem, or label of a constraint.
        side
            Bound of that constraint.

        Returns
        -------
        float, or ndarray with one entry of the constraint each

        Raises
        ------
        ProblemError
            If the solution is not certified, or neither a parameter nor a constraint has that name.
        """
        problem, variables = self.problem, self.problem.variables
        if not self.certified:
            raise ProblemError(f"problem '{problem.name}': only a certified optimum has derivatives; {self.status}")
        if side is not None:
            return self._bound_slopes(of)[side]
        symbol, total = variables.parameter(of), 0.0
        for label, expression in problem.templates.items():
            slope = variables.settled(ca.jacobian(ca.densify(ca.vec(expression)), symbol))
            at = np.asarray(evaluate(ca.densify(slope), variables.x, self.x)).reshape(-1)
            # both bounds moved alike are the expression moved the other way
            weights = -sum(self._bound_slopes(label).values()) if label else np.ones(1)
            total += float(weights @ at)
        return total

    def _bound_slopes(self, label: str) -> dict[str, Array]:
        """Derivatives of the Lagrangian in the bounds of a constraint: its rows are affine in them."""
        problem, x = self.problem, self.problem.variables.x
        own = next((c for c in problem.constraints if c.label == label), None)
        if own is None:
            raise ProblemError(f"problem '{problem.name}' has no constraint '{label}'")
        rows = sorted(own.solver_rows(problem.setting), key=lambda row: not row.linear)
        lam, found = self.multipliers[label], {}
        for side, outward in (("lower", -1e-3), ("upper", 1e-3)):
            given = getattr(own, side)
            step = outward * np.where(np.isfinite(given), np.maximum(np.abs(given), 1.0), 1.0)
            moved = replace(own, **{side: given + step})
            others = sorted(moved.solver_rows(problem.setting), key=lambda row: not row.linear)
            slopes = np.zeros(own.size)
            for k, (row, other) in enumerate(zip(rows, others, strict=True)):
                change = evaluate(ca.densify(other.expression - row.expression), x, self.x)[0]
                ends = (row.upper, other.upper) if lam[k] > 0 else (row.lower, other.lower)
                bound = ends[1] - ends[0] if np.isfinite(ends).all() else 0.0
                slopes[row.entry] += lam[k] * (change - bound) / step[row.entry]
            found[side] = slopes
        return found

    def row_multipliers(self, rows: Iterable[Row]) -> list[float]:
        """Multiplier of each of all rows of the problem, linear ones first (`split_rows`); 0 where none is known."""
        known = {label: iter(values.tolist()) for label, values in self.multipliers.items()}
        return [next(known.get(row.label, iter(())), 0.0) if row.constraint >= 0 else 0.0 for row in rows]

    def __getitem__(self, name: str) -> float:
        """Value of an unknown by its name, e.g. ``m7`` or ``fv1``.

        Raises
        ------
        UnknownVariableError
            If the problem has no such unknown; also a `KeyError`.
        """
        if name not in self:
            names = self.problem.variables.names
            raise UnknownVariableError(f"there is no unknown '{name}'; there are {names[0]} ... {names[-1]}")
        return self.parameters[name]

    def __contains__(self, name: object) -> bool:
        return name in self.problem.variables.names

    @cached_property
    def parameters(self) -> Parameters:
        """All unknowns by name: the standard parameters, then the extras."""
        variables = self.problem.variables
        return Parameters(variables.names, self.x, tuple(link.name for link in variables))

    # ------------------------------------------------------------------ pictures

    def plot_links(self) -> tuple[Axes, ...]:
        """Draw the links as ellipsoids of uniform density, from two sides."""
        return self._plot("links")

    def plot_fit(self) -> tuple[Axes, ...]:
        """Draw each coefficient, given and fitted, and the differences.

        Raises
        ------
        ProblemError
            If the problem was made from samples, which mean nothing one by one.
        """
        return self._plot("fit")

    # ------------------------------------------------------------------ quality

    @cached_property
    def objective(self) -> float:
        """Sum of squares, or the value of the problem's own expression (`Problem.value`)."""
        return self.problem.value(self.x)

    @cached_property
    def penalty(self) -> float:
        """Price of the violations of soft constraints."""
        prices = self.problem.prices(self.x)
        return sum(price for label, price in prices.items() if label not in self.problem.objective_labels)

    @property
    def total(self) -> float:
        """Objective plus penalty: what was minimised."""
        return self.objective + self.penalty

    @cached_property
    def violations(self) -> Mapping[str, float]:
        """Violation of each constraint, re-checked in numpy and in physical units (`Problem.violations`)."""
        return self.problem.violations(self.x)

    @cached_property
    def max_violation(self) -> float:
        """Largest violation of what is hard."""
        return self.problem.hard_violation(self.violations)

    @cached_property
    def gap(self) -> float:
        """``(total - lower_bound) / max(|total|, negligible)``, see `relative_gap`; infinite at infeasible points."""
        if not self.feasible:
            return float("inf")
        return relative_gap(self.total, self.lower_bound, self.problem.objective.negligible(self.x))

    @cached_property
    def feasible(self) -> bool:
        """Every hard constraint holds on re-check (`Problem.met`)."""
        return self.problem.met(self.violations, self.tolerances.feasibility)

    @property
    def certified(self) -> bool:
        """The gap is within the tolerance and every hard constraint holds on re-check."""
        return self.feasible and self.gap <= self.tolerances.gap

    @property
    def status(self) -> Status:
        """How good it is.

        ``optimal``: certified; ``feasible``: all hard constraints hold, the gap is open; ``stopped``: they hold, but
        the solver did not converge and better points are to be expected near; ``infeasible``: proven that no point
        meets the constraints; ``failed``: no feasible point was found. Only the first two are `usable`.
        """
        if self.certified:
            return "optimal"
        if self.feasible and self.converged:
            return "feasible"
        if self.conflict is not None and self.conflict.proven:
            return "infeasible"
        return "stopped" if self.feasible else "failed"

    @property
    def usable(self) -> bool:
        """``optimal`` or ``feasible``."""
        return self.status in ("optimal", "feasible")

    def rank(self) -> tuple[bool, bool, bool, float]:
        """Sort key: certified first, then usable, then feasible, then by what was minimised (or by violation)."""
        value = self.total if self.feasible else self.max_violation
        return (not self.certified, not self.usable, not self.feasible, value)

    def or_raise(self) -> Solution:
        """The solution itself, if it is usable.

        Raises
        ------
        SolveError
            If it is not; `InfeasibleError` where the constraints are proven to exclude each other.
        """
        if self.usable:
            return self
        if self.conflict is not None:
            raise self.conflict.error(self.problem.name, self)
        tried = self.restarts + 1 if self.starts == 1 else self.starts
        starts = f"from {tried} start{'s' if tried > 1 else ''}"
        if self.feasible:
            found = f"the solver did not converge {starts} (its last point is feasible)"
        else:
            found = f"no feasible point was found {starts} (largest violation {self.max_violation:.3g}"
            unphysical = self.max_violation <= self.tolerances.feasibility
            found += ", more than half of a small body's margin)" if unphysical else ")"
        advice = "give a start, or soften a constraint"
        if self.problem.conditions:
            advice = f"try the method 'branches', which enumerates the branches of if-else; or {advice}"
        raise SolveError(f"problem '{self.problem.name}': {found}; {advice}", self)


def assess(
    problem: Problem,
    x: Array,
    lower_bound: float = -np.inf,
    *,
    multipliers: Mapping[str, Array] | None = None,
    **work: Any,
) -> Solution:
    """The solution that a point and a bound are: the only place where a `Solution` is made.

    A bound above the value of the point itself, if that is feasible, is discarded with a `BoundWarning`; a sum of
    squares is never smaller than the part of it that no x can change.

    Parameters
    ----------
    problem, x, lower_bound
    multipliers
        Of the problem's constraints, where they are known.
    work
        Tolerances, convergence, iterations, times, seed, ...: further fields of `Solution`.
    """
    least = problem.objective.constant
    known = {c.label: (multipliers or {}).get(c.label, np.zeros(0)) for c in problem.constraints}
    made = Solution(problem, x, float(max(lower_bound, least)), known, **work)
    if not made.feasible:
        return made
    negligible = problem.objective.negligible(made.x)
    excess = problem.excess(made.x)
    sound = checked_bound(made.lower_bound - excess, made.total, negligible, f"problem '{problem.name}'")
    least -= excess
    object.__setattr__(made, "lower_bound", float(max(sound, least)) if made.total >= least else -np.inf)
    return made


#: What follows from the problem, the point and the bound alone.
_COMPUTED = ("objective", "penalty", "violations", "max_violation", "feasible", "gap", "parameters")


def annotated(solution: Solution, **work: Any) -> Solution:
    """The solution with other fields about the work (iterations, times, conflict, ...); nothing is computed again."""
    made = replace(solution, **work)
    made.__dict__.update({name: solution.__dict__[name] for name in _COMPUTED if name in solution.__dict__})
    return made


def reassess(
    solution: Solution,
    *,
    problem: Problem | None = None,
    x: Array | None = None,
    lower_bound: float | None = None,
    **changes: Any,
) -> Solution:
    """The solution with another problem, point or bound: re-checked, with the work that led to it kept.

    Of the multipliers, those of constraints that the problem has are kept.
    """
    given = {"problem": problem, "x": x, "lower_bound": lower_bound}
    changes |= {name: value for name, value in given.items() if value is not None}
    return assess(**{**{f.name: getattr(solution, f.name) for f in fields(solution)}, **changes})
