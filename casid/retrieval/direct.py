"""The fast way, where the optimum is a single point: data that determine every parameter of consistent links.

Nothing has to be chosen among equals then, so no barrier is needed. A few cheap splitting steps (`splitting`) give a
primal-dual point near the optimum; IPOPT, warm from there, solves the lifted program without bounds on the factors,
that is by Newton's method on its optimality conditions, in a handful of iterations; the certificate proves the
result. Where the way does not apply, or its answer is not certified, `solve` takes the general way.

Every coordinate is scaled by the data: link k's pseudo-inertia is ``J = S Jt S' + margin 1`` with ``S = a diag(s, s,
s, 1)``, the length s and mass a^2 such that second moments and mass count equally in the objective.
"""

from __future__ import annotations

from time import perf_counter

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.inertia import PSEUDO_INERTIA_MAP, from_pseudo_inertia
from casid.retrieval.certificate import lower_bound, relative_gap
from casid.retrieval.cones import Cone
from casid.retrieval.nlp import LiftedProgram, Point
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.recheck import hard_violation, violations
from casid.retrieval.rows import LinearRows, NonlinearRows
from casid.retrieval.solution import Solution
from casid.retrieval.splitting import SVEC_WEIGHTS, from_svec, lower_factors, split

Array = NDArray[np.float64]

#: Smallest ratio of the extreme pivots of the scaled Gram matrix at which the data count as determining every
#: parameter.
DETERMINED = 1e-10
#: Relative size of the optimality conditions' residual at which Newton's method ends.
TOLERANCE = 1e-11
#: More than this many Newton steps mean that the start was poor; the general way is then the better one.
MAX_ITERATIONS = 40
_TRACE = np.array([0.5, 0.0, 0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])  # tr J of ten parameters


def applies(problem: Problem) -> bool:
    """Whether the problem is of the kind: full consistency of every link, no other constraint, no further unknown."""
    square = problem.objective.matrix.shape[0] >= problem.variables.size
    return (
        square
        and not problem.constraints
        and not problem.variables.extras
        and all(cone.kind == "full" for cone in problem.cones)
    )


def solve_directly(problem: Problem, certified_gap: float, feasibility: float) -> Solution | None:
    """Solve a problem to which the fast way `applies`.

    Parameters
    ----------
    problem
        What to solve.
    certified_gap, feasibility
        Relative gap and violation up to which the solution counts as certified.

    Returns
    -------
    Solution or None
        A certified solution; None where the data leave parameters undetermined or the answer is not certified.
    """
    began = perf_counter()
    objective = problem.objective
    triangle: Array = np.asarray(np.linalg.qr(np.column_stack([objective.matrix, objective.target]), mode="r"))
    size = problem.variables.size
    R, r = triangle[:size, :size], triangle[:size, size]
    nominal = balanced_bodies(R, [cone.margin for cone in problem.cones])
    cones = tuple(Cone.around(c, nominal[10 * c.link : 10 * c.link + 10]) for c in problem.cones)
    none = LinearRows(np.zeros((0, size)), np.zeros(0), np.zeros(0), ())
    program = LiftedProgram(
        problem.variables.x,
        LeastSquares(R, r, objective.constant),
        none,
        NonlinearRows(ca.SX(0, 1), np.zeros(0), np.zeros(0), ()),
        cones,
        nominal,
        barrier=False,
    )
    solver = program.solver(
        {
            "tol": TOLERANCE,
            "dual_inf_tol": 1e-6,
            "constr_viol_tol": 1e-9,
            "max_iter": MAX_ITERATIONS,
            "warm_start_init_point": "yes",
            "mumps_permuting_scaling": 0,
            "mumps_scaling": 0,
        }
    )  # the data have scaled everything
    built = perf_counter()

    basis, origin = program.coordinates
    weights = np.tile(SVEC_WEIGHTS, len(cones))
    scaled = (R @ basis) / weights  # R x - r = scaled v + R origin - r for the svec v of all Jt
    gram = scaled.T @ scaled
    pivots = _pivots(gram)
    if pivots is None or pivots[0] < DETERMINED * pivots[1]:
        return None
    near = split(gram, scaled.T @ (r - R @ origin))
    y = near.v / weights
    weight = 1.0 / max(np.sum((scaled @ near.v + R @ origin - r) ** 2), 1e-12 * float(r @ r), 1e-300)
    start = Point(
        np.concatenate([y, lower_factors(from_svec(near.v))]),
        2.0 * weight * near.multipliers * weights,
        np.zeros(2 * size),
    )
    outcome = program.solve(solver, start, weight, 0.0)
    if not np.isfinite(outcome.point.w).all():
        return None
    x = program.parameters(outcome.point.w)

    value = objective(x)
    certificate = lower_bound(problem, x, none, np.zeros(0), traces=_trace_limits(R, r, x))
    gap = relative_gap(value, certificate.lower_bound, objective)
    amounts = violations(problem, x)
    worst = hard_violation(problem, amounts)
    if not (gap <= certified_gap and worst <= feasibility):
        return None
    return Solution(
        problem,
        "optimal",
        value,
        0.0,
        certificate.lower_bound,
        gap,
        True,
        x,
        amounts,
        worst,
        {},
        outcome.iterations,
        0,
        built - began,
        perf_counter() - built,
        1,
        None,
        outcome.status,
    )


def balanced_bodies(R: Array, margins: list[float]) -> Array:
    """Bodies ``J = S S' + margin 1`` that the data weigh evenly, shape (10 n,): the scale of every link.

    With g2 and g0 the mean squared lengths of R's columns in second-moment and mass coordinates, ``s^4 = g0 / g2`` and
    ``a^2`` such that all links' blocks have the same mean; lengths are kept within 1 cm and 10 m.
    """
    inverse = np.linalg.inv(PSEUDO_INERTIA_MAP[[0, 1, 2, 3, 5, 6, 7, 10, 11, 15]])  # entries of J -> parameters
    bodies, means = [], []
    for k in range(R.shape[1] // 10):
        squares = np.sum((R[:, 10 * k : 10 * k + 10] @ inverse) ** 2, axis=0)
        second, mass = float(squares[[0, 4, 7]].mean()), float(squares[9])
        length = float(np.clip((mass / second) ** 0.25, 0.01, 10.0)) if second > 0 and mass > 0 else 0.3
        means.append(np.sqrt(max(second * length**4, mass)))
        bodies.append(np.array([length, length, length, 1.0]))
    typical = max(float(np.median(means)), 1e-300)
    return np.concatenate(
        [
            from_pseudo_inertia(
                np.diag(body**2) * float(np.clip(typical / max(mean, 1e-300), 1e-6, 1e6)) + margin * np.eye(4)
            )
            for body, mean, margin in zip(bodies, means, margins, strict=True)
        ]
    )


def _pivots(gram: Array) -> tuple[float, float] | None:
    """Smallest and largest squared pivot of a Cholesky factorisation; None where there is none."""
    try:
        pivots = np.linalg.cholesky(gram).diagonal() ** 2
    except np.linalg.LinAlgError:
        return None
    return float(pivots.min()), float(pivots.max())


def _trace_limits(R: Array, r: Array, x: Array) -> Array:
    """Upper bounds of every link's ``tr J`` over all points at least as good as x: the data alone give them.

    ``|R z - r| <= |R x - r|`` gives ``t'z <= t'x_ls + |R x - r| |R^-T t|``, with x_ls the unconstrained estimate.
    """
    size = R.shape[1]
    reach = float(np.linalg.norm(R @ x - r))
    traces = np.kron(np.eye(size // 10), _TRACE)
    inverse = np.linalg.inv(R)
    return np.asarray(traces @ (inverse @ r) + reach * np.linalg.norm(traces @ inverse, axis=1))
