r"""The most plausible parameters among those that explain the data: a convex program, and its proof.

With the pseudo-inertia of each link beyond the margin, ``M_k = J_k(x) - margin 1``, and that of its plausible body,
``M0_k``, the log-det (entropic) divergence (Lee, Wensing and Park 2020, Sec. III) is

    D(x) = sum_k  tr(M_k M0_k^-1) / s_k - log det(M_k M0_k^-1 / s_k) - 4,

s_k = s for bodies whose masses are known up to a common factor, 1 for the others, and the program

    minimise    D(x) + kappa sum_j (c_j x_j)^2
    subject to  ||R x - r||^2 + constant + weights' v(x) <= F,  the hard rows, the bounds of the terms.

D is convex in x and grows without bound at the boundary of the cone, so that ``J_k >= margin 1`` needs no constraint.
The sum is over joint terms, c_j x_j the share of all torque that a term makes: of terms that the motion cannot tell
from each other the smallest are taken, others do not notice. With the scale s unknown the program is solved for x and s
at once: ``min_s D`` is the logarithm of a linear function over a concave one, hence quasi-convex, and its stationary
point the global one.

**Proof of a solution.** D (the sum over the terms included) and the sum of squares q are convex, so that with any
``lambda >= 0`` and any multipliers of the rows every feasible z has

    D(z) >= D(x) + lambda (q(x) - F) - g'x + min_z (g - A'(l - u))'z + l'lo - u'hi,     g = grad D(x) + lambda grad q(x)

(weights of soft rows enter as ``lambda w``). The last minimum is over what the gradient leaves: link by link over all M
with ``D_k <= D(x)``, whose trace is bounded by D itself, and over the terms, which D bounds too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import SolveError
from casid.inertia import PSEUDO_INERTIA_MAP, from_pseudo_inertia, pseudo_inertia
from casid.retrieval.problem import Problem
from casid.retrieval.program.rows import split_rows

Array = NDArray[np.float64]
_LOWER = tuple((i, j) for i in range(4) for j in range(i + 1))
_FROM_PSEUDO_INERTIA = np.linalg.pinv(PSEUDO_INERTIA_MAP)
_DIAGONAL = (0, 2, 5, 9)
#: Gap at which no further start is tried.
ENOUGH = 1e-7
#: Weight kappa of the joint terms' shares of the torque.
TERMS = 0.1


@dataclass(frozen=True, eq=False)
class MostPlausible:
    """Solution of the program.

    Attributes
    ----------
    parameters : ndarray, shape (N,)
        Standard parameters, then the extras.
    scale : float
        s.
    divergence, lower_bound : float
        D at the solution, and the proven smallest value of any feasible set (relative to bodies of that scale).
    price : float
        lambda: how much D would fall for a unit more of the allowed sum of squares.
    multipliers : ndarray
        Of the linear rows, > 0 at an upper bound.
    iterations : int
    status : str
    """

    parameters: Array
    scale: float
    divergence: float
    lower_bound: float
    price: float
    multipliers: Array
    iterations: int
    status: str

    @property
    def gap(self) -> float:
        """``(D - lower bound) / max(D, 1)``."""
        return float((self.divergence - self.lower_bound) / max(self.divergence, 1.0))


class DivergenceProgram:
    """The program of one problem; all links fully consistent.

    Parameters
    ----------
    problem
    bodies
        Standard parameters of the plausible bodies, shape (10 n,).
    scaled
        Which of them share the unknown scale, shape (n,).
    limit
        F: largest allowed objective plus penalty.
    """

    def __init__(self, problem: Problem, bodies: Array, scaled: NDArray[np.bool_], limit: float) -> None:
        self.problem, self.limit, self.scaled = problem, limit, np.asarray(scaled, dtype=bool)
        self.linear, self.nonlinear = split_rows(problem)
        self._margins = np.array([cone.margin for cone in problem.cones])
        self._basis, self._origin = _coordinates(problem, bodies, self._margins)
        self._links = len(problem.cones)
        start = 10 * self._links
        columns = np.linalg.norm(problem.objective.matrix[:, start:] @ self._basis[start:, start:], axis=0)
        size = float(np.linalg.norm(problem.objective.target)) or 1.0
        self._shares = np.where(columns > 0, columns, 1.0) / size  # of the torque, for one unit of a term's y

    # ------------------------------------------------------------------ solve

    def solve(self, start: Array) -> MostPlausible:
        """Solve from a feasible point x; the plausible bodies' scale is found along with it."""
        problem, size, links = self.problem, self.problem.variables.size, self._links
        objective = problem.objective
        rows = [*self.linear.rows, *self.nonlinear.rows]
        weights = np.array([row.weight or 0.0 for row in rows])
        soft = np.flatnonzero(weights)
        y, sigma, v = ca.MX.sym("y", size), ca.MX.sym("sigma"), ca.MX.sym("v", len(soft))
        block = _block_function()
        pieces = [block(y[10 * k : 10 * k + 10]) for k in range(links)]
        shift = sigma * ca.DM(self.scaled.astype(float))
        divergence = ca.dot(ca.exp(-shift), ca.vertcat(*[p[0] for p in pieces])) - ca.sum1(
            ca.vertcat(*[p[1] for p in pieces])
        )
        divergence += 4 * ca.sum1(shift) - 4 * links
        divergence += TERMS * ca.sumsqr(ca.DM(self._shares) * y[10 * links :])
        matrix = objective.matrix @ self._basis
        offset = objective.target - objective.matrix @ self._origin
        room = max(self.limit - objective.constant, 1e-300)
        residual = ca.DM(matrix / np.sqrt(room)) @ y - ca.DM(offset / np.sqrt(room))
        ball = ca.sumsqr(residual) + ca.dot(ca.DM(weights[soft] / room), v)
        slope = self.linear.matrix @ self._basis
        scales = np.maximum(np.abs(slope).max(axis=1, initial=0.0), 1e-12)
        values = [ca.DM(slope / scales[:, None]) @ y + ca.DM(self.linear.matrix @ self._origin / scales)]
        x = ca.DM(self._basis) @ y + ca.DM(self._origin)
        curved = ca.Function("g", [problem.variables.x], [self.nonlinear.expression])
        if self.nonlinear.size:
            values.append(curved(x))
            scales = np.concatenate([scales, np.ones(self.nonlinear.size)])
        both = ca.vertcat(*values)
        low = np.concatenate([self.linear.lower, self.nonlinear.lower]) / scales
        high = np.concatenate([self.linear.upper, self.nonlinear.upper]) / scales
        pick = np.zeros((len(rows), len(soft)))
        pick[soft, np.arange(len(soft))] = 1.0 / scales[soft]
        g = ca.vertcat(
            ball, both - ca.DM(pick) @ v, (both + ca.DM(pick) @ v)[soft.tolist()] if len(soft) else ca.MX(0, 1)
        )
        second = low[soft]
        low = low.copy()
        low[soft] = -np.inf
        free = bool(self.scaled.any())
        solver = ca.nlpsol(
            "plausible", "ipopt", {"x": ca.vertcat(y, sigma, v), "f": divergence, "g": g},
            {
                "print_time": False, "show_eval_warnings": False, "calc_lam_p": False,
                "ipopt": {
                    "print_level": 0, "sb": "yes", "tol": 1e-9, "dual_inf_tol": 1e-7, "constr_viol_tol": 1e-10,
                    "compl_inf_tol": 1e-9, "mu_target": 1e-10, "max_iter": 300, "bound_relax_factor": 0.0,
                    "mu_strategy": "adaptive", "nlp_scaling_method": "none",
                },
            },
        )  # fmt: skip
        inf = np.full(size, np.inf)
        bounds = {
            "lbx": np.concatenate([-inf, [-30.0 if free else 0.0], np.zeros(len(soft))]),
            "ubx": np.concatenate([inf, [30.0 if free else 0.0], np.full(len(soft), np.inf)]),
            "lbg": np.concatenate([[-np.inf], low, second]),
            "ubg": np.concatenate([[1.0], high, np.full(len(soft), np.inf)]),
        }
        best: MostPlausible | None = None
        iterations = 0
        for y0, sigma0 in self._starts(start, free):
            result = solver(x0=np.concatenate([y0, [sigma0], np.zeros(len(soft))]), **bounds)
            stats = solver.stats()
            iterations += int(stats["iter_count"])
            found, lam = (np.array(result[name]).ravel() for name in ("x", "lam_g"))
            point, scale = self._basis @ found[:size] + self._origin, float(np.exp(found[size]))
            value = self.divergence(point, scale) if np.isfinite(found).all() else np.inf
            if not np.isfinite(value) or float(result["g"][0]) > 1.0 + 1e-8:
                continue
            row_multipliers = np.nan_to_num(lam[1 : 1 + len(rows)])
            row_multipliers[soft] += np.nan_to_num(lam[1 + len(rows) :])
            multipliers = (row_multipliers / scales)[: len(self.linear.rows)]
            price = max(float(np.nan_to_num(lam[0])) / room, 0.0)
            bound = self.lower_bound(point, scale, price, multipliers)
            status = str(stats["return_status"])
            made = MostPlausible(point, scale, value, bound, price, multipliers, iterations, status)
            if best is None or made.gap < best.gap:
                best = made
            if best.gap <= ENOUGH:
                break
        if best is None:
            raise SolveError(
                f"problem '{problem.name}': no plausible parameters found ({stats['return_status']})", None
            )
        return best

    def _starts(self, start: Array, free: bool) -> Iterator[tuple[Array, float]]:
        """The given point with each link's eigenvalues lifted off the boundary, more and more; last the bodies."""
        y = self._coordinates_of(start)
        for lift in (1e-2, 0.1, 1e-4):
            inside = self._inside(y, lift)
            traces = np.array([inside[10 * k + np.array(_DIAGONAL)].sum() for k in range(self._links)])
            yield inside, float(np.log(traces[self.scaled].mean() / 4.0)) if free else 0.0
        for k in range(self._links):
            y[10 * k : 10 * k + 10] = [float(i == j) for i, j in _LOWER]
        yield y, 0.0

    def _inside(self, y: Array, lift: float) -> Array:
        """The point with each link's eigenvalues lifted to a share of its largest: away from the boundary."""
        y = y.copy()
        for k in range(self._links):
            values, vectors = np.linalg.eigh(_matrix(y[10 * k : 10 * k + 10]))
            values = np.maximum(values, lift * max(float(values[-1]), 1e-6))
            lifted = vectors @ np.diag(values) @ vectors.T
            y[10 * k : 10 * k + 10] = [lifted[i, j] for i, j in _LOWER]
        return y

    # ------------------------------------------------------------------ in numpy

    def _coordinates_of(self, x: Array) -> Array:
        return np.asarray(np.linalg.solve(self._basis, x - self._origin), dtype=float)

    def divergence(self, x: Array, scale: float) -> float:
        """D at x; infinite outside the cone."""
        y = self._coordinates_of(x)
        total = TERMS * float(np.sum((self._shares * y[10 * self._links :]) ** 2))
        for k, scaled in enumerate(self.scaled):
            values = np.asarray(np.linalg.eigvalsh(_matrix(y[10 * k : 10 * k + 10])) / (scale if scaled else 1.0))
            total += float(np.sum(values - np.log(values) - 1.0)) if values[0] > 0 else np.inf
        return total

    def lower_bound(self, x: Array, scale: float, price: float, multipliers: Array) -> float:
        """Proven smallest D of any feasible set, see the head of this file; the multipliers are not trusted."""
        objective, links = self.problem.objective, self._links
        here = self.divergence(x, scale)
        weights = price * np.array([np.inf if row.weight is None else row.weight for row in self.linear.rows])
        low, high = self.linear.lower, self.linear.upper
        at_low = np.where(np.isfinite(low), np.clip(-multipliers, 0.0, weights), 0.0)
        at_high = np.where(np.isfinite(high), np.clip(multipliers, 0.0, weights), 0.0)
        y = self._coordinates_of(x)
        gradient = price * self._basis.T @ objective.gradient(x)
        for k, scaled in enumerate(self.scaled):
            s = scale if scaled else 1.0
            gradient[10 * k : 10 * k + 10] += _entries(np.eye(4) / s - np.linalg.inv(_matrix(y[10 * k : 10 * k + 10])))
        gradient[10 * links :] += 2.0 * TERMS * self._shares**2 * y[10 * links :]
        bound = here + price * (objective(x) - self.limit) - float(gradient @ y)
        left = gradient - self._basis.T @ self.linear.matrix.T @ (at_low - at_high)
        shift = self.linear.matrix @ self._origin  # rows in y: A C y within [lo - A x0, hi - A x0]
        bound += float(at_low @ np.where(np.isfinite(low), low - shift, 0.0))
        bound -= float(at_high @ np.where(np.isfinite(high), high - shift, 0.0))
        largest = 4.0 * _largest(here / 4.0) * np.where(self.scaled, scale, 1.0)  # of tr M in the bodies' coordinates
        for k in range(links):
            dual = _dual(left[10 * k : 10 * k + 10])
            bound += min(0.0, float(np.linalg.eigvalsh(dual)[0])) * float(largest[k])
        reach = np.sqrt(here / TERMS) / self._shares
        for rest, most, (name, (lower, upper)) in zip(
            left[10 * links :], reach, self.problem.variables.extras.items(), strict=True
        ):
            unit = self._basis[self._position(name), self._position(name)]
            bound += float((rest * np.clip([-most, most], lower / unit, upper / unit)).min())
        return bound

    def _position(self, name: str) -> int:
        return 10 * self._links + list(self.problem.variables.extras).index(name)


def _coordinates(problem: Problem, bodies: Array, margins: Array) -> tuple[Array, Array]:
    """``x = C y + x0``: a link's y is the lower triangle of M in the coordinates in which its plausible body is 1."""
    size, lengths = problem.variables.size, np.linalg.norm(problem.objective.matrix, axis=0)
    basis, origin = np.zeros((size, size)), np.zeros(size)
    spread = np.zeros((16, 10))
    for k, (i, j) in enumerate(_LOWER):
        spread[4 * i + j, k] = spread[4 * j + i, k] = 1.0
    for k, margin in enumerate(margins):
        link = slice(10 * k, 10 * k + 10)
        body = pseudo_inertia(bodies[link])
        smallest = float(np.linalg.eigvalsh(body)[0])
        beyond = body - margin * np.eye(4) if smallest > 2 * margin else body
        factor = np.linalg.cholesky(beyond)
        basis[link, link] = _FROM_PSEUDO_INERTIA @ np.kron(factor, factor) @ spread
        origin[link] = from_pseudo_inertia(margin * np.eye(4))
    for k in range(10 * len(margins), size):
        basis[k, k] = 1.0 / lengths[k] if lengths[k] > 0 else 1.0
    typical = float(np.median(np.linalg.norm(problem.objective.matrix @ basis[:, : 10 * len(margins)], axis=0)))
    for k in range(10 * len(margins), size):
        basis[k, k] *= typical or 1.0
    return basis, origin


def _block_function() -> ca.Function:
    """Trace and log determinant of a 4x4 matrix from its lower triangle, by its pivots; NaN where it is indefinite."""
    t = ca.SX.sym("y", 10)
    a = ca.SX(4, 4)
    for k, (i, j) in enumerate(_LOWER):
        a[i, j] = a[j, i] = t[k]
    trace, logarithms = ca.trace(a), ca.SX(0)
    for i in range(4):
        logarithms += ca.log(a[i, i])
        if i < 3:
            a[i + 1 :, i + 1 :] = a[i + 1 :, i + 1 :] - a[i + 1 :, i] @ a[i, i + 1 :] / a[i, i]
    return ca.Function("block", [t], [trace, logarithms])


def _matrix(y: Array) -> Array:
    matrix = np.zeros((4, 4))
    for value, (i, j) in zip(y, _LOWER, strict=True):
        matrix[i, j] = matrix[j, i] = value
    return matrix


def _entries(gradient: Array) -> Array:
    """Gradient in the ten entries of the lower triangle from that in the symmetric matrix."""
    return np.array([gradient[i, j] * (1.0 if i == j else 2.0) for i, j in _LOWER])


def _dual(share: Array) -> Array:
    """Symmetric Z with ``<Z, M(y)> = share'y``."""
    matrix = np.zeros((4, 4))
    for value, (i, j) in zip(share, _LOWER, strict=True):
        matrix[i, j] = matrix[j, i] = value if i == j else value / 2
    return matrix


def _largest(divergence: float) -> float:
    """Largest l with ``l - log l - 1 <= divergence``, by Newton's method from above."""
    value = 2.0 * divergence + 4.0
    for _ in range(100):
        step = (value - np.log(value) - 1.0 - divergence) / (1.0 - 1.0 / value)
        value -= step
        if abs(step) <= 1e-12 * value:
            break
    return float(value) * (1.0 + 1e-9)
