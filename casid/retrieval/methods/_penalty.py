r"""Algorithm 1 of Gaz et al. (2019): successive solves with a growing exterior penalty.

With p the parameters, ``lower <= p <= upper`` the bounds and ``h(p) >= 0`` everything else (physical consistency,
total mass, the user's expressions), step ``k = 1 ... kappa`` minimises from the optimum of step k - 1 (eqs. 29, 32) ::

    phi(p) + xi_k sum g(h(p)),    g(h) = -min(0, h),    xi_1 = 0,   xi_{k+1} = 10 k

The penalties g are not smooth. Here each is a slack of the solver, ``h + s >= 0, s >= 0``, which is the same minimum
with smooth rows. For the triangle inequality, ``g = -min(0, tr(I)/2 - lambda_max(I))``, s is added to the eigenvalues
of the pseudo-inertia::

    tr(I)/2 1 - I + s 1 >= 0   <=>   J(p) + s diag(1, 1, 1, 0) >= 0      (m > 0)

so the unknowns are the shifted body ``J(p) + s diag(1, 1, 1, 0)`` and s. The penalty is exact: once xi exceeds the
constraints' multipliers the slacks vanish and the optimum is that of the direct solve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.inertia import Full, consistency, from_pseudo_inertia, link_slice
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution, assess
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval._variables import link_variables
from casid.retrieval.constraints._constraint import Constraint, PhysicalConsistency
from casid.retrieval.methods._method import Method, SolveSeed, Start
from casid.retrieval.program._nlp import nominal_parameters, uniform_parameters


@dataclass(frozen=True)
class PenaltyStep:
    """One of the kappa solves.

    Attributes
    ----------
    weight : float
        xi_k.
    objective : float
        phi at its optimum, without the penalty.
    violation : float
        Largest violation of the original constraints.
    iterations : int
    """

    weight: float
    objective: float
    violation: float
    iterations: int


@dataclass(frozen=True)
class Penalty(Method):
    """Algorithm 1 of Gaz et al. (2019) from one start; the solution's ``trace`` holds a `PenaltyStep` of each solve.

    The problem's hard bounds on masses, centres of mass and inertias stay hard; all other hard constraints are
    penalised. A seed's start is uniform in all of these quantities, consistent or not.

    Attributes
    ----------
    kappa : int
        Number of successive solves. With ``kappa = 1`` no constraint but the bounds acts, since ``xi_1 = 0``.
    lower_bound : float or None
        A proven lower bound of the problem, if one is known; by default that of the direct solve is computed; the
        gap to it is the distance from the optimum.

    Raises
    ------
    ProblemError
        If kappa is not positive; when solving, if a link has semi-consistency (its penalty is not that of
        Algorithm 1).
    """

    kappa: int = 10
    lower_bound: float | None = None
    name: ClassVar[str] = "penalty"

    def __post_init__(self) -> None:
        if self.kappa < 1:
            raise ProblemError(f"kappa, the number of successive solves, must be at least 1, got {self.kappa}")

    def solve(self, problem: Problem, start: Start, bound: Solution | None = None) -> Solution:
        """See `Method.solve`; with the bound of a solution of the problem, of the direct one where none is given."""
        began = perf_counter()
        x = start.point
        if x is None:
            rng = None if start.seed is None else np.random.default_rng(start.seed)
            x = nominal_parameters(problem) if rng is None else uniform_parameters(problem, rng)
        slacks = _slacks(problem, x)
        point = np.concatenate([x + _shift_matrix(problem) @ slacks, slacks])
        once = replace(start.options, restarts=0)  # every step starts where the one before ended
        steps: list[PenaltyStep] = []
        last: Solution | None = None
        for weight in (10.0 * k for k in range(self.kappa)):  # xi_1 = 0, xi_{k+1} = 10 k
            found = PreparedProblem(penalised(problem, weight), None, once).solve(point, throw=False)
            if not found.converged and last is not None:
                continue  # keep the previous optimum
            last, point = found, found.x
            here = unshifted(problem, point)
            violation = problem.hard_violation(problem.violations(here))
            steps.append(PenaltyStep(weight, problem.objective(here), violation, found.iterations))
        assert last is not None
        bound = self._bound(problem, start) if bound is None else bound
        return assess(
            problem,
            unshifted(problem, point),
            bound.lower_bound if self.lower_bound is None else self.lower_bound,
            multipliers=last.multipliers,
            converged=last.converged,
            conflict=bound.conflict,
            search_region=bound.search_region,
            tolerances=start.options.tolerances,
            iterations=sum(step.iterations for step in steps),
            build_time=last.build_time,
            solve_time=perf_counter() - began,
            seed=start.seed,
            solver_status=f"Algorithm 1, kappa = {len(steps)}: {last.solver_status}",
            trace=tuple(steps),
        )

    def _bound(self, problem: Problem, start: Start) -> Solution:
        """The direct solve, whose bound and conflict are the problem's; nothing where the bound is known."""
        if self.lower_bound is not None:
            return assess(problem, nominal_parameters(problem), converged=False)
        return PreparedProblem(problem, None, start.options).solve(throw=False)

    def bind(self, problem: Problem, options: SolveOptions) -> SolveSeed:
        """See `Method.bind`: the bound is computed once, by the direct solve."""
        bound = self._bound(problem, Start(options=options))
        return lambda seed: self.solve(problem, Start(None, seed, options), bound)


def penalised(problem: Problem, weight: float) -> Problem:
    """The problem of one step: bounds hard, all else at the price ``weight``; its unknowns are shifted."""
    coned = _coned(problem)
    for entry in coned:
        if entry.cone != Full():
            raise ProblemError(
                f"link '{entry.name}': Algorithm 1 penalises the triangle inequality; use 'full' consistency"
            )
    own, shift = problem.variables, _shift_matrix(problem)
    limits = {_slack(entry): (0.0, float(problem.regions[entry.link].box[[0, 3, 5]].max())) for entry in coned}
    variables = link_variables(own.robot, {**own.extras, **limits})
    back = variables.x[: own.size] - ca.sparsify(ca.DM(shift)) @ variables.x[own.size :]
    links, matrix = own.over(back).links, problem.objective.matrix
    objective = LeastSquares(np.hstack([matrix, -matrix @ shift]), problem.objective.target, problem.objective.constant)
    constraints: list[Constraint] = []
    for constraint in problem.constraints:
        moved = constraint.moved(own.x, back, links)
        if not constraint.hard or constraint.hard_in_algorithm_1:
            constraints.append(moved)
        elif weight > 0:
            constraints.append(moved.soften(weight))
    if weight > 0:
        constraints += [
            Constraint(f"{entry.label} penalty", variables.extra(_slack(entry)), upper=0.0, weight=weight)
            for entry in coned
        ]
    return Problem(
        f"{problem.name}, xi = {weight:g}",
        variables,
        objective,
        (*constraints, *problem.cones),
        problem.consistency,
        problem.margin,
    )


def unshifted(problem: Problem, point: Array) -> Array:
    """Parameters of the original problem at a point of a penalised one."""
    size = problem.variables.size
    return np.asarray(point[:size] - _shift_matrix(problem) @ point[size:])


def _coned(problem: Problem) -> list[PhysicalConsistency]:
    return [entry for entry in problem.cones if entry.constrains]


def _slack(entry: PhysicalConsistency) -> str:
    return f"{entry.label} slack"


def _slacks(problem: Problem, x: Array) -> Array:
    """Violations of the triangle inequality at x, and of the margin: with them the shifted bodies are consistent."""
    missed = [e.margin - consistency(x[link_slice(e.link)]).triangle_margin for e in _coned(problem)]
    return np.maximum(1.01 * np.array(missed), 0.0)


def _shift_matrix(problem: Problem) -> Array:
    coned = _coned(problem)
    matrix, unit = np.zeros((problem.variables.size, len(coned))), np.diag([1.0, 1.0, 1.0, 0.0])  # of second moments
    for column, entry in enumerate(coned):
        matrix[link_slice(entry.link), column] = from_pseudo_inertia(unit)
    return matrix
