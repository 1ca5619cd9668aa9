"""Regression constrained to physically consistent parameters, on compressed data, and the fit it gives.

Links and friction are fitted in one step, with every constraint of the retrieval (Gaz et al. 2019, supplement, pi_OSI;
Sousa 2014, Sec. 3.5)::

    minimise  sum_j w_j^2 ||tau_j - Y_j pi||^2 + prior    subject to  J_k(pi) >= margin 1,  bounds, any expression

After a robust fit (`casid.regression.irls`) the squares are those of the weighted samples. Only the R factor of the
data enters. Scalars without any bound (offsets) are eliminated exactly beforehand; those
without any effect in the data (friction of a joint that is left out) are set to zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from types import MappingProxyType
from typing import Literal

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, ROUNDING, Array
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification._bounds import suggested_bodies
from casid.inertia import Full, Parameters, from_pseudo_inertia, link_slice, pseudo_inertia, standard_size
from casid.regression import CompressedData, Fit, quadratic
from casid.retrieval import (
    ConstraintBuilder,
    LeastSquares,
    LinearRows,
    LinkVariables,
    ParameterResult,
    PreparedProblem,
    Prior,
    Problem,
    Solution,
    SolveOptions,
    link_variables,
)
from casid.retrieval.constraints import ConsistencyKind, Constraint, PhysicalConsistency, sensible_bounds
from casid.retrieval.plausible import Believable, PlausibleBodies, believable, believable_path, noise_share, polished

Bounds = Mapping[str, tuple[float, float]]
Stated = tuple[Constraint | PhysicalConsistency, ...]


@dataclass(frozen=True, eq=False)
class FeasibleFit(ParameterResult):
    """A physically consistent fit.

    Attributes
    ----------
    fit : Fit
        The unconstrained fit with the same data and weights.
    solution : Solution
        Of the retrieval problem: status, certificate, violations. With an entropic prior it belongs to the last
        second-order model of it.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    objective : float
        ``sum_j w_j^2 ||tau_j - Y_j pi||^2``, without the prior; after a robust fit with the weights of single samples
        (``fit.objective`` is the same sum, the errors below are of all samples alike).
    prior_distance : float
        Squared distance from the prior, 0 without one.
    believable : Believable or None
        The choice among all sets that explain the data as well, if it was made; the parameters are then its own.
    active : tuple of ActiveBound
        Bounds that the parameters lie on.
    """

    fit: Fit
    solution: Solution
    values: Array
    objective: float
    prior_distance: float = 0.0
    believable: Believable | None = None
    active: tuple[ActiveBound, ...] = ()

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)

    @property
    def model(self) -> Model:
        """The model whose parameters these are."""
        return self.fit.data.model

    @property
    def data(self) -> CompressedData:
        """The data it was fitted to."""
        return self.fit.data

    @property
    def certified(self) -> bool:
        """The optimum is proven (and so is the choice near it), and every constraint holds on re-check."""
        return self.solution.certified and (self.believable is None or self.believable.certified)

    @property
    def gap(self) -> float:
        """Certified relative gap of the best fit."""
        return self.solution.gap

    @cached_property
    def beta(self) -> Array:
        """Base parameters of the fit."""
        return self.data.base.values(self.values)

    @property
    def residual_ratio(self) -> float:
        """Norm of the weighted residual over that of the unconstrained fit: what consistency costs, >= 1."""
        return float(np.sqrt(self.objective / self.fit.objective))

    @cached_property
    def relative_error(self) -> float:
        """``100 ||tau - Y pi|| / ||tau||`` over all joints [%]."""
        return self.data.relative_errors(self.beta)[0]

    @cached_property
    def relative_errors(self) -> Array:
        """The same per joint [%]."""
        return self.data.relative_errors(self.beta)[1]

    @cached_property
    def rms(self) -> Array:
        """Root mean square error of each joint [N.m]."""
        return self.data.rms(self.beta)


#: Share of a bound's size (of the row's largest term) within which it counts as reached; smallest eigenvalue over its
#: margin up to which a body does: an interior point ends above it.
REACHED, THIN = 1e-5, 2.0


@dataclass(frozen=True)
class ActiveBound:
    """A bound that a parameter set lies on.

    Attributes
    ----------
    kind : {"constraint", "parameter", "consistency"}
        An entry of a constraint; the bound of a joint term's parameter; physical consistency of a link.
    quantity : str
        Label of the constraint, name of the parameter, or label of the link's consistency.
    value : float
        Of the bounded quantity in the rows of the solver; of consistency the smallest eigenvalue of the pseudo-inertia.
    text : str
        The bound in words, e.g. ``link2 mass <= 10 kg``.
    """

    kind: Literal["constraint", "parameter", "consistency"]
    quantity: str
    value: float
    text: str


def active_bounds(problem: Problem, linear: LinearRows, x: Array) -> tuple[ActiveBound, ...]:
    """Linear bounds that x lies on, and links as thin as their margin of consistency allows.

    A joint term that cannot be negative and that the data set to zero is not listed.
    """
    found = []
    values = linear.matrix @ x
    sizes = np.maximum(np.abs(linear.matrix * x).max(axis=1, initial=0.0), 1e-9)
    away = np.minimum(np.abs(values - linear.lower), np.abs(linear.upper - values))
    extras = tuple(problem.variables.extras)
    for k in np.flatnonzero(away <= REACHED * sizes):
        row, value = linear.rows[k], float(values[k])
        if row.constraint >= 0:
            found.append(ActiveBound("constraint", problem.constraints[row.constraint].label, value, row.text))
        elif linear.lower[k] != 0.0 or abs(value) > REACHED:
            found.append(ActiveBound("parameter", extras[row.entry], value, row.text))
    for cone in problem.cones:
        if cone.cone != Full():
            continue
        smallest = float(np.linalg.eigvalsh(pseudo_inertia(x[link_slice(cone.link)]))[0])
        if smallest <= THIN * cone.margin:
            text = f"{cone.name} is as thin as physical consistency allows"
            found.append(ActiveBound("consistency", cone.label, smallest, text))
    return tuple(found)


class Statement:
    """The constraints that a builder makes for a robot: for the same unknowns the same symbols and constraints.

    Parameters
    ----------
    robot
    build
        From the unknowns to constraints; ``None``: none.
    """

    def __init__(self, robot: Robot, build: ConstraintBuilder | None) -> None:
        self._robot, self._build = robot, build
        self._made: dict[tuple[str, ...], tuple[LinkVariables, Stated]] = {}

    def about(self, extras: Bounds) -> tuple[LinkVariables, Stated]:
        """Unknowns with the joint terms' parameters ``extras`` and their bounds, and the constraints on them."""
        names = tuple(extras)
        if names not in self._made:
            variables = link_variables(self._robot, extras)
            nothing = LeastSquares(np.zeros((0, variables.size)), np.zeros(0))
            built = () if self._build is None else self._build(variables)
            stated = Problem(f"{self._robot.name} identification", variables, nothing, built)
            self._made[names] = variables, (*stated.constraints, *stated.link_consistency)
        variables, constraints = self._made[names]
        return replace(variables, extras=dict(extras)), constraints

    def names_used(self, extras: Bounds) -> set[str]:
        """Names of those of the extras that appear in a constraint."""
        expressions = [c.expression for c in self.about(extras)[1] if isinstance(c, Constraint)]
        symbols = {str(symbol) for symbol in ca.symvar(ca.vertcat(*expressions))} if expressions else set()
        return symbols & set(extras)


#: Options of IPOPT for well-scaled regressions: no scaling inside MUMPS, and an early hand-over to the polishing call.
QUICK = MappingProxyType(
    {
        "mu_strategy": "adaptive",
        "tol": 1e-3,
        "mu_target": 1e-5,
        "fast_step_computation": "yes",
        "perturb_dec_fact": 0.1,
        "mumps_permuting_scaling": 0,
        "mumps_scaling": 0,
    }
)
#: Newton steps of the entropic prior, and the relative decrease at which they stop.
PRIOR_STEPS, PRIOR_TOLERANCE = 30, 1e-11


def extra_bounds(model: Model, given: Bounds | None = None) -> dict[str, tuple[float, float]]:
    """Bounds of the terms' parameters: friction and rotor inertia not negative, the others free, then what is given.

    Raises
    ------
    ProblemError
        If ``given`` names a parameter that the model's terms do not have.
    """
    names = model.parameter_names
    bounds = {
        names[c]: (0.0 if model.term_columns[c][0].nonnegative else -np.inf, np.inf) for c in sorted(model.term_columns)
    }
    for name, pair in (given or {}).items():
        if name not in bounds:
            raise ProblemError(
                f"bounds: the model has no term parameter '{name}'; it has {', '.join(bounds) or 'none'}"
            )
        bounds[name] = (float(pair[0]), float(pair[1]))
    return bounds


def feasible_regression(
    fit: Fit,
    *,
    consistency: ConsistencyKind = "full",
    margin: float | None = None,
    constraints: ConstraintBuilder | None = sensible_bounds,
    bounds: Bounds | None = None,
    prior: Prior | None = None,
    options: SolveOptions | None = None,
) -> FeasibleFit:
    """Physically consistent parameters that fit the data best.

    Parameters
    ----------
    fit
        The unconstrained fit: its data and weights are used.
    consistency, margin
        ``full`` (``J >= margin 1``: with the triangle inequality) or ``semi`` (m > 0, I > 0 only; Sousa 2014, eq.
        3.18-3.21). The margin is by default 1e-6, less for tiny links, see `Problem`.
    constraints
        From the unknowns to constraints; default: the bounds of the robot description, and generous limits where
        it is silent (`sensible_bounds`). ``None``: consistency only.
    bounds
        Of terms' parameters, e.g. ``{"fo1": (-1, 1)}``; default see `extra_bounds`.
    prior
        Regularisation.
    options
        Of the solver.

    Raises
    ------
    ProblemError, SolveError
        As `casid.retrieval.solve`.
    """
    built = RegressionProblem(fit, consistency, margin, constraints, bounds, prior, options)
    return built.solve()


class RegressionProblem:
    """A feasible regression with its program built; `solve` is fast. Arguments: see `feasible_regression`.

    Attributes
    ----------
    problem : Problem
        The retrieval problem that is solved.
    """

    def __init__(
        self,
        fit: Fit,
        consistency: ConsistencyKind = "full",
        margin: float | None = None,
        constraints: ConstraintBuilder | Statement | None = sensible_bounds,
        bounds: Bounds | None = None,
        prior: Prior | None = None,
        options: SolveOptions | None = None,
    ) -> None:
        began = perf_counter()
        self._fit, self._prior = fit, prior
        self._options = options or SolveOptions(initial_gradient=100.0, nlpsol={"ipopt": QUICK})
        model = fit.data.model
        statement = constraints if isinstance(constraints, Statement) else Statement(model.robot, constraints)
        R, rho, rest = quadratic(fit)
        self._order = np.concatenate([np.ravel(model.link_columns), sorted(model.term_columns)]).astype(int)
        self._matrix, self._target, self._rest = R @ fit.data.base.K[:, self._order], rho, rest
        names = [model.parameter_names[c] for c in self._order]
        every = extra_bounds(model, bounds)
        used = statement.names_used(every)
        free, idle = self._left_out(names, every, used)
        self._extras = {name: pair for name, pair in every.items() if name not in free | idle}
        self._free = np.array([k for k, name in enumerate(names) if name in free], dtype=int)
        self._idle = {k: min(max(0.0, every[name][0]), every[name][1]) for k, name in enumerate(names) if name in idle}
        self._kept = np.array([k for k, name in enumerate(names) if name not in free | idle], dtype=int)
        self._may_be_zero = np.array(
            [name in every and name not in used and every[name][0] <= 0.0 <= every[name][1] for name in names]
        )
        self._complement = complement(self._matrix[:, self._free])
        variables, stated = statement.about(self._extras)
        title = f"{model.robot.name} identification"
        self.problem = Problem(title, variables, self._objective(None), stated, consistency, margin)
        self._nominal = None if prior is None else self._about(prior)
        self._prepared = PreparedProblem(self.problem, self._nominal, self._options)
        self.build_time = perf_counter() - began

    def _left_out(self, names: list[str], every: Bounds, used: set[str]) -> tuple[set[str], set[str]]:
        """Joint terms that are eliminated (no bound, no constraint), and those that are zero or do nothing."""
        lengths = dict(zip(names, np.linalg.norm(self._matrix, axis=0), strict=True))
        least = ROUNDING * max(lengths.values())
        zero = {name for name, pair in every.items() if pair == (0.0, 0.0)}
        idle = {name for name in every if lengths[name] <= least or name in zero} - used
        free = {name for name, (low, high) in every.items() if np.isneginf(low) and np.isposinf(high)}
        return free - used - idle, idle

    @property
    def linear(self) -> LinearRows:
        """Its linear rows."""
        return self._prepared.linear

    def _about(self, prior: Prior) -> Array:
        """The prior's bodies, which scale the solver's unknowns, and small extras."""
        extras = [min(max(1e-2, low), high) for low, high in self._extras.values()]
        return np.concatenate([_thickened(prior.parameters, [one.margin for one in self.problem.cones]), extras])

    def _objective(self, around: Array | None) -> LeastSquares:
        """Data and prior as one sum of squares; the entropic prior expanded around a point."""
        Q = self._complement
        matrix, target = Q.T @ self._matrix[:, self._kept], Q.T @ self._target
        if self._prior is not None:
            A, b = self._prior.rows(around)
            rows = np.zeros((len(b), matrix.shape[1]))
            rows[:, : A.shape[1]] = A
            matrix, target = np.vstack([matrix, rows]), np.concatenate([target, b])
        made = LeastSquares.compressed(matrix, target)
        return LeastSquares(made.matrix, made.target, made.constant + self._rest)

    def solve(self, throw: bool = True) -> FeasibleFit:
        """The consistent fit, from the nominal bodies; with ``throw=False`` a failure is the status of its solution."""
        solution = self._prepared.solve(throw=throw)
        if self._prior is not None and not self._prior.quadratic and solution.usable:
            solution = self._newton(solution, throw)
        if self._prior is None:
            solution = polished(solution)
        return self._fitted(solution, solution.x)

    def choose(
        self,
        result: FeasibleFit,
        bodies: PlausibleBodies | None = None,
        share: float | None = None,
        near: FeasibleFit | None = None,
        expected: Mapping[str, float] | None = None,
    ) -> FeasibleFit:
        """The most plausible of all sets that explain the data as well (`believable`), as a fit.

        Parameters
        ----------
        result
            Of `solve`.
        bodies
            Default: those that the robot's file suggests (`suggested_bodies`).
        share
            How much the residual's norm may grow; default: what noise explains, at most 0.5 % (`noise_share`).
        near
            The choice of a similar fit: where the search begins.
        expected
            What joint terms are expected to be, by the parameters' names (`believable`).

        Raises
        ------
        ProblemError, SolveError
            As `believable`.
        """
        samples = int(self._fit.data.independent_samples.sum())
        part = noise_share(samples, self._fit.rank) if share is None else share
        start = None if near is None else near.values[self._order][self._kept]
        chosen = bodies or suggested_bodies(self.problem.variables.robot)
        choice = believable(self.problem, result.solution, chosen, share=part, near=start, expected=expected)
        return replace(self._fitted(result.solution, choice.x), believable=choice)

    def path(
        self,
        result: FeasibleFit,
        shares: Sequence[float],
        bodies: PlausibleBodies,
        expected: Mapping[str, float] | None = None,
        rough: bool = False,
    ) -> tuple[FeasibleFit, ...]:
        """The most plausible sets for several shares, the largest share first (`believable_path`).

        Parameters
        ----------
        result
            Of `solve`.
        shares
            How much the residual's norm may grow.
        bodies, expected
            As of `choose`.
        rough
            Meet the shares within 2 % of themselves: faster.

        Raises
        ------
        ProblemError, SolveError
            As `believable`.
        """
        choices = believable_path(self.problem, result.solution, shares, bodies, expected, rough=rough)
        return tuple(replace(self._fitted(result.solution, c.x), believable=c) for c in choices)

    @property
    def columns(self) -> Array:
        """Places of the problem's unknowns among the model's parameters."""
        return np.asarray(self._order[self._kept])

    def values(self, kept: Array) -> Array:
        """All parameters in the model's order, of the problem's unknowns: eliminated scalars put back."""
        values = np.zeros(len(self._order))
        values[self._order] = self._whole(kept)
        values.setflags(write=False)
        return values

    def _whole(self, kept: Array) -> Array:
        """All parameters, links first; a joint term whose torque is what the search leaves of zero is zero."""
        x = np.zeros(len(self._order))
        x[self._kept] = kept
        for k, value in self._idle.items():
            x[k] = value
        if len(self._free):
            left = self._target - self._matrix[:, self._kept] @ kept
            x[self._free] = np.linalg.lstsq(self._matrix[:, self._free], left, rcond=1e-10)[0]
        torques = np.linalg.norm(self._matrix * x, axis=0)
        x[self._may_be_zero & (torques <= ALIKE * np.linalg.norm(self._target))] = 0.0
        return x

    def _fitted(self, solution: Solution, kept: Array) -> FeasibleFit:
        """The fit of the problem's unknowns."""
        x, values = self._whole(kept), self.values(kept)
        objective = float(np.sum((self._matrix @ x - self._target) ** 2)) + self._rest
        distance = 0.0 if self._prior is None else self._prior.distance(kept[: standard_size(self._fit.data.n)])
        active = active_bounds(self.problem, self.linear, kept)
        return FeasibleFit(self._fit, solution, values, objective, distance, active=active)

    def _newton(self, solution: Solution, throw: bool) -> Solution:
        """Entropic prior: second-order models minimised in turn, with a line search on the true objective."""
        assert self._prior is not None
        count = standard_size(self._fit.data.n)
        x = solution.x
        value = self._true_objective(x)
        for _ in range(PRIOR_STEPS):
            problem = replace(self.problem, objective=self._objective(x[:count]))
            found = PreparedProblem(problem, self._nominal, self._options).solve(start=x, throw=throw)
            step = 1.0
            while (new := self._true_objective(x + step * (found.x - x))) > value and step > ALIKE:
                step /= 2.0
            decrease = value - new
            if decrease > 0:
                x, value = x + step * (found.x - x), new
            solution = found
            if decrease <= PRIOR_TOLERANCE * abs(value):
                break
        return solution

    def _true_objective(self, x: Array) -> float:
        assert self._prior is not None
        Q = self._complement
        residual = Q.T @ (self._matrix[:, self._kept] @ x - self._target)
        return (
            float(residual @ residual)
            + self._rest
            + self._prior.weight * self._prior.distance(x[: standard_size(self._fit.data.n)])
        )


def _thickened(parameters: Array, margins: list[float]) -> Array:
    """Bodies with ten times the margin: those below it are thickened alike in every direction."""
    tens = np.array(parameters, dtype=float).reshape(-1, 10)
    for ten, margin in zip(tens, margins, strict=True):
        missing = 10.0 * margin - float(np.linalg.eigvalsh(pseudo_inertia(ten))[0])
        if missing > 0:
            ten += from_pseudo_inertia(missing * np.eye(4))
    return tens.ravel()


def complement(matrix: Array) -> Array:
    """Orthonormal basis of what the columns of a matrix cannot reach."""
    from scipy.linalg import null_space  # slow to import

    return np.asarray(null_space(matrix.T, rcond=1e-10)) if matrix.shape[1] else np.eye(matrix.shape[0])
