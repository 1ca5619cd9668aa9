"""The fast way, where the optimum is a single point: data that determine every parameter of consistent links.

No choice among equal optima is needed then, and so no barrier. A few cheap splitting steps give a primal-dual point
near the optimum; IPOPT, warm from there, solves the lifted program without bounds on the factors, that is by Newton's
method on its optimality conditions, in a handful of iterations; the certificate proves the result. Where the way does
not apply, or its answer is not certified, the general way is taken.

Every coordinate is scaled by the data: link k's pseudo-inertia is ``J = S Jt S' + margin 1`` with ``S = a diag(s, s,
s, 1)``, the length s and mass a^2 such that second moments and mass count equally in the objective.

Operator splitting (ADMM; Boyd et al. 2011, Sec. 3.1, with over-relaxation) of ``min 1/2 ||A v - b||^2`` subject to
``v in K``, where v stacks the links' scaled pseudo-inertias as ``svec`` (orthonormal coordinates of symmetric matrices)
and K is the product of their cones, needs a linear system with one inverse, and an eigenvalue decomposition of every
4x4 matrix::

    v <- (A'A + rho 1)^-1 (A'b + rho (z - u)),   z <- P_K(v + u),   u <- u + v - z

Its limit is the optimum, with ``-rho u`` the cones' multipliers.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from casid.arrays import RANK, Array
from casid.inertia import (
    PSEUDO_INERTIA_MAP,
    SVEC_WEIGHTS,
    Full,
    from_pseudo_inertia,
    from_svec,
    link_slice,
    lower_triangle,
    to_svec,
)
from casid.retrieval._bound import Dual, lower_bound
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import Problem, split_rows
from casid.retrieval._region import LinkRegion
from casid.retrieval._solution import Solution, Tolerances, assess
from casid.retrieval.program._nlp import Cone, FeasibleSet, LiftedProgram, Point


def lower_factors(matrices: Array) -> Array:
    """Lower triangular T with ``T T' = M`` and a non-negative diagonal, entries row by row, shape (10 n,).

    M, shape (n, 4, 4), may be singular or slightly indefinite: negative eigenvalues count as zero.
    """
    values, vectors = np.linalg.eigh(matrices)
    half = np.sqrt(np.maximum(values, 0.0))[:, :, None] * vectors.transpose(0, 2, 1)
    factors = np.asarray(np.linalg.qr(half, mode="r")).transpose(0, 2, 1)
    signs = np.where(np.einsum("kii->ki", factors) < 0, -1.0, 1.0)
    return np.asarray(lower_triangle(factors * signs[:, None, :]).reshape(-1))


#: Of the splitting: largest number of steps, relative change at which they end, and over-relaxation, 1 (none) to 1.8.
_STEPS, _SETTLED, _RELAXATION = 300, 3e-7, 1.6


def split(gram: Array, slope: Array, rho: float) -> tuple[Array, Array]:
    """Minimise ``1/2 v'Gv - g'v`` over stacked positive semidefinite 4x4 matrices, roughly.

    Parameters
    ----------
    gram, slope
        G, shape (10 n, 10 n), positive definite, and g, shape (10 n,); the better G's blocks are scaled, the fewer
        steps.
    rho
        Penalty of the splitting, > 0; the geometric mean of G's eigenvalues serves well.

    Returns
    -------
    ndarray, shape (10 n,)
        ``svec`` of positive semidefinite matrices.
    ndarray, shape (10 n,)
        ``svec`` of minus the multipliers Z >= 0 of ``V >= 0``: at the optimum the gradient's opposite, ``A'(b - A v)``.
    """
    size = len(slope)
    inverse = np.linalg.inv(gram + rho * np.eye(size))
    z, u = np.zeros(size), np.zeros(size)
    for _ in range(_STEPS):
        v = inverse @ (slope + rho * (z - u))
        shifted = _RELAXATION * v + (1.0 - _RELAXATION) * z + u
        values, vectors = np.linalg.eigh(from_svec(shifted))
        projected = to_svec((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1))
        u = shifted - projected
        change = max(np.abs(projected - z).max(), np.abs(v - projected).max()) / max(np.abs(projected).max(), 1e-300)
        z = projected
        if not change >= _SETTLED:
            break
    return z, rho * u


#: ``tol``: residual of the optimality conditions, relative to the objective, at which Newton's method ends. More than
#: ``max_iter`` steps mean that the start was poor; the general way is then the better one. The data have scaled
#: everything already.
_IPOPT = {
    "tol": 1e-11,
    "dual_inf_tol": 1e-6,
    "constr_viol_tol": 1e-9,
    "max_iter": 40,
    "warm_start_init_point": "yes",
    "mumps_permuting_scaling": 0,
    "mumps_scaling": 0,
}


def applies(problem: Problem) -> bool:
    """Whether the problem is of the kind: full consistency of every link, no other constraint, no further unknown."""
    square = problem.objective.matrix.shape[0] >= problem.variables.size
    return (
        square
        and not problem.constraints
        and not problem.variables.extras
        and all(entry.cone == Full() for entry in problem.cones)
    )


def solve_determined(problem: Problem, tolerances: Tolerances) -> Solution | None:
    """Solve a problem to which the fast way `applies`.

    Parameters
    ----------
    problem
        What to solve.
    tolerances
        What counts as certified.

    Returns
    -------
    Solution or None
        A certified solution; None where the data leave parameters undetermined or the answer is not certified.
    """
    began = perf_counter()
    objective, size = problem.objective, problem.variables.size
    triangle = np.asarray(np.linalg.qr(np.column_stack([objective.matrix, objective.target]), mode="r"))
    R, r = triangle[:size, :size], triangle[:size, size]
    if not (np.abs(R.diagonal()) > np.sqrt(RANK) * np.linalg.norm(R, axis=0)).all():
        return None
    nominal = balanced_bodies(R, [cone.margin for cone in problem.cones])
    cones = tuple(Cone.around(c, nominal[link_slice(c.link)]) for c in problem.cones)
    within = FeasibleSet(*split_rows(problem), cones, nominal)
    program = LiftedProgram(problem.variables.x, LeastSquares(R, r, objective.constant), within, barrier=False)
    solver = program.solver(_IPOPT)
    built = perf_counter()
    near = _near_optimum(program, R, r)
    if near is None:
        return None
    outcome = program.solve(solver, *near, 0.0)
    x = program.parameters(outcome.point.w)
    if not np.isfinite(x).all():
        return None
    certificate = lower_bound(
        problem, x, Dual.of(within.linear, np.zeros(0)), regions=_regions_within(problem, R, r, x)
    )
    found = assess(
        problem,
        x,
        certificate.lower_bound,
        tolerances=tolerances,
        iterations=outcome.iterations,
        build_time=built - began,
        solve_time=perf_counter() - built,
        solver_status=outcome.status,
    )
    return found if found.certified else None


def _near_optimum(program: LiftedProgram, R: Array, r: Array) -> tuple[Point, float] | None:
    """Where the splitting ends, and the scale of the objective there; None where the data leave parameters open."""
    basis, origin = program.basis, program.origin
    weights = np.tile(SVEC_WEIGHTS, len(program.cones))
    matrix, target = (R @ basis) / weights, r - R @ origin  # R x - r = matrix v - target for the svec v of all Jt
    gram = matrix.T @ matrix
    values = np.linalg.eigvalsh(gram)
    if values[0] <= RANK * values[-1]:
        return None
    v, multipliers = split(gram, matrix.T @ target, float(np.exp(np.log(values).mean())))
    scale = 1.0 / max(np.sum((matrix @ v - target) ** 2), 1e-12 * float(r @ r), 1e-300)
    w = np.concatenate([v / weights, lower_factors(from_svec(v))])
    return Point(w, 2.0 * scale * multipliers * weights, np.zeros(2 * len(v))), scale


def _regions_within(problem: Problem, R: Array, r: Array, x: Array) -> tuple[LinkRegion, ...]:
    """Regions of the links that hold every point at least as good as x (and twice as far, for rounding in x).

    Every z with ``|R z - r| <= rho`` has ``t'z <= t'x_ls + rho |R^-T t|``: a bound of tr J = t'z by the data alone.
    """
    inverse, trace = np.linalg.inv(R), np.eye(4).ravel() @ PSEUDO_INERTIA_MAP
    slopes = np.linalg.norm(np.tensordot(inverse.reshape(-1, 10, len(r)), trace, axes=(1, 0)), axis=1)
    limits = (inverse @ r).reshape(-1, 10) @ trace + 2.0 * float(np.linalg.norm(R @ x - r)) * slopes
    return tuple(
        replace(region, trace=min(region.trace, float(limit)))
        for region, limit in zip(problem.regions, limits, strict=True)
    )


def balanced_bodies(R: Array, margins: list[float]) -> Array:
    """Bodies ``J = S S' + margin 1`` that the data weigh evenly, shape (10 n,): the scale of every link.

    With g2 and g0 the mean squared lengths of R's columns in second-moment and mass coordinates, ``s^4 = g0 / g2`` and
    ``a^2`` such that all links' blocks have the same mean; lengths are kept within 1 cm and 10 m.
    """
    inverse = np.linalg.inv(PSEUDO_INERTIA_MAP[[0, 1, 2, 3, 5, 6, 7, 10, 11, 15]])  # entries of J -> parameters
    bodies, means = [], []
    for k in range(R.shape[1] // 10):
        squares = np.sum((R[:, link_slice(k)] @ inverse) ** 2, axis=0)
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
