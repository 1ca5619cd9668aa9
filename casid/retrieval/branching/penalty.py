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

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError, SolveError
from casid.inertia import TENSOR_INDEX
from casid.retrieval.bound.certificate import relative_gap
from casid.retrieval.bound.recheck import hard_violation, violations
from casid.retrieval.bound.region import link_regions
from casid.retrieval.constraints import Constraint, PhysicalConsistency
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.program.starts import nominal_parameters, random_parameters
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions
from casid.retrieval.variables import link_variables

Array = NDArray[np.float64]
#: What a unit of s adds to the ten parameters: second moments 1, hence inertia 2 1.
_SHIFT = np.array([2.0, 0, 0, 2.0, 0, 2.0, 0, 0, 0, 0])
_BOUNDS = ("mass", "com", "inertia_com")


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


@dataclass(frozen=True, eq=False)
class PenaltyRun:
    """Result of Algorithm 1 from one start: the solution of the original problem, and how it came about."""

    solution: Solution
    steps: tuple[PenaltyStep, ...]


def penalty_weights(kappa: int) -> tuple[float, ...]:
    """``xi_1 = 0, xi_{k+1} = 10 k``."""
    return tuple(10.0 * k for k in range(kappa))


def solve_by_penalty(
    problem: Problem,
    kappa: int = 10,
    start: ArrayLike | None = None,
    seed: int | None = None,
    options: SolveOptions | None = None,
    lower_bound: float | None = None,
) -> PenaltyRun:
    """Solve a problem by Algorithm 1 from one start.

    Parameters
    ----------
    problem
        Its hard bounds on masses, centres of mass and inertias stay hard; all other hard constraints are penalised.
    kappa
        Number of successive solves. With ``kappa = 1`` no constraint but the bounds acts, since ``xi_1 = 0``.
    start, seed
        First point, shape (N,), or the seed of a random one within the bounds. Default: the nominal body.
    options
        Of each solve.
    lower_bound
        A proven lower bound of the problem, if one is known; by default that of the direct solve is computed, which
        tells how far from the optimum the result is.

    Raises
    ------
    ProblemError
        If kappa is not positive, or a link asks for semi-consistency (its penalty is not that of Algorithm 1).
    """
    if kappa < 1:
        raise ProblemError(f"kappa, the number of successive solves, must be at least 1, got {kappa}")
    options = options or SolveOptions()
    began = perf_counter()
    if lower_bound is None:
        lower_bound = Prepared(problem, None, options).solve(throw=False).lower_bound
    if start is not None:
        x0 = np.asarray(start, dtype=float)
    else:
        x0 = nominal_parameters(problem) if seed is None else random_parameters(problem, np.random.default_rng(seed))
    count = sum(cone.kind != "none" for cone in problem.cones)
    point = np.concatenate([x0, np.zeros(count)])
    steps: list[PenaltyStep] = []
    last: Solution | None = None
    for weight in penalty_weights(kappa):
        stage = penalised(problem, weight)
        found = Prepared(stage, None, options).solve(start=point, throw=False)
        if found.status == "failed" and last is not None:
            continue  # keep the previous optimum
        last, point = found, found.standard_parameters
        x = unshifted(problem, point)
        amounts = violations(problem, x)
        steps.append(PenaltyStep(weight, problem.objective(x), hard_violation(problem, amounts), found.iterations))
    if last is None:
        raise SolveError(f"problem '{problem.name}': no step of Algorithm 1 converged; try another start", None)
    return PenaltyRun(
        _solution(problem, last, unshifted(problem, point), lower_bound, options, seed, steps, began), tuple(steps)
    )


def penalised(problem: Problem, weight: float) -> Problem:
    """The problem of one step: bounds hard, all else at the price ``weight``.

    Its unknowns are shifted, see `unshifted`.
    """
    coned = [cone for cone in problem.cones if cone.kind != "none"]
    for cone in coned:
        if cone.kind == "semi":
            raise ProblemError(
                f"link '{cone.name}': Algorithm 1 penalises the triangle inequality; use 'full' consistency"
            )
    regions = link_regions(problem)
    own = problem.variables
    limits = {_slack(cone): (0.0, float(regions[cone.link].box[[0, 3, 5]].max())) for cone in coned}
    variables = link_variables(own.robot, {**own.extras, **limits})
    shift = _shift_matrix(problem)
    shifted_back = variables.x[: own.size] - ca.sparsify(ca.DM(shift)) @ variables.x[own.size :]
    matrix = problem.objective.matrix
    objective = LeastSquares(np.hstack([matrix, -matrix @ shift]), problem.objective.target, problem.objective.constant)
    constraints: list[Constraint | PhysicalConsistency] = list(problem.cones)
    for constraint in problem.constraints:
        if constraint.quantity == "inertia_com" and constraint.weight is None:
            constraints += _inertia_bounds(problem, constraint, variables.x, shifted_back)
            continue
        expression = ca.substitute(constraint.expression, own.x, shifted_back)
        kept = "" if constraint.quantity == "inertia_com" else constraint.quantity
        changed = replace(constraint, expression=expression, quantity=kept)
        if constraint.weight is not None or constraint.quantity in _BOUNDS:
            constraints.append(changed)
        elif weight > 0:
            constraints.append(replace(changed, weight=weight))
    if weight > 0:
        for cone in coned:
            constraints.append(
                Constraint(
                    f"{cone.label} penalty",
                    variables.extra(_slack(cone)),
                    upper=0.0,
                    weight=weight,
                )
            )
    return Problem(
        f"{problem.name}, xi = {weight:g}",
        variables,
        objective,
        tuple(constraints),  # type: ignore[arg-type]
        problem.consistency,
        problem.margin,
    )


def unshifted(problem: Problem, point: Array) -> Array:
    """Parameters of the original problem at a point of a penalised one."""
    size = problem.variables.size
    return np.asarray(point[:size] - _shift_matrix(problem) @ point[size:])


def _slack(cone: PhysicalConsistency) -> str:
    return f"{cone.label} slack"


def _shift_matrix(problem: Problem) -> Array:
    coned = [cone for cone in problem.cones if cone.kind != "none"]
    matrix = np.zeros((problem.variables.size, len(coned)))
    for column, cone in enumerate(coned):
        matrix[10 * cone.link : 10 * cone.link + 10, column] = _SHIFT
    return matrix


def _inertia_bounds(problem: Problem, constraint: Constraint, x: ca.SX, back: ca.SX) -> list[Constraint]:
    """Hard bounds of the inertia about the centre of mass without a division.

    ``m (L - bound) - steiner``, per kg of the upper mass.
    """
    link = constraint.links[0]
    mass, moment = x[10 * link + 9], x[10 * link + 6 : 10 * link + 9]
    rows = []
    for entry, (i, j) in enumerate(TENSOR_INDEX):
        if i == j:
            steiner = sum((moment[a] ** 2 for a in range(3) if a != i), ca.SX(0))
        else:
            steiner = -moment[i] * moment[j]
        for bound, side in ((constraint.lower[entry], "lower"), (constraint.upper[entry], "upper")):
            if np.isfinite(bound):
                row = mass * (back[10 * link + entry] - bound) - steiner
                label = f"{constraint.label} {'xyz'[i]}{'xyz'[j]} {side}"
                low, high = (0.0, np.inf) if side == "lower" else (-np.inf, 0.0)
                rows.append(Constraint(label, row, low, high))
    return rows


def _solution(
    problem: Problem,
    last: Solution,
    x: Array,
    bound: float,
    options: SolveOptions,
    seed: int | None,
    steps: list[PenaltyStep],
    began: float,
) -> Solution:
    amounts = violations(problem, x)
    worst = hard_violation(problem, amounts)
    objective = problem.objective(x)
    penalty = last.total - last.objective if any(c.weight is not None for c in problem.constraints) else 0.0
    gap = relative_gap(objective + penalty, bound, problem.objective)
    feasible = worst <= options.feasibility
    certified = feasible and gap <= options.certified_gap
    return Solution(
        problem,
        "optimal" if certified else "feasible" if feasible else "failed",
        objective,
        penalty,
        bound,
        gap,
        certified,
        x,
        amounts,
        worst,
        {c.label: last.multipliers[c.label] for c in problem.constraints if c.label in last.multipliers},
        sum(step.iterations for step in steps),
        0,
        last.build_time,
        perf_counter() - began,
        1,
        seed,
        f"Algorithm 1, kappa = {len(steps)}: {last.solver_status}",
    )
