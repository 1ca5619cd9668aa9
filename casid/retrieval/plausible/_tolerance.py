"""How far the choice may go from the best fit of coefficients that were given: by their errors.

Nothing can be held out of a list of coefficients, so that the tolerance rests on their errors. A best fit that misses
them by more than their standard deviations s allow shows that these are too small: an identification's deviations are
those of noise, its errors those of the model. They are then raised by one factor, the Birge ratio b, until what is
missed is what would be expected.

Only those errors are missed that no consistent parameters follow. Near the best fit x* the fitted coefficients are a
smooth function of the given ones, ``d(M x) = S dr``, S the sensitivity of the barrier problem, whose cones have the
curvature of Nesterov and Todd's scaling W of ``J_k`` and their multipliers Z_k (active rows: multiplier over slack):

    S = 2 M (2 M'M + H)^-1 M',        E ||M x* - r||^2 = b^2 tr((1 - S) C (1 - S)'),    C = diag(s^2)

Without standard deviations all coefficients are taken to err alike, ``C = 1``. The choice may miss the coefficients by
what the true parameters are expected to, ``||M x - r||^2 = b^2 tr C``: the discrepancy principle.

References
----------
R. T. Birge, "The calculation of errors by the method of least squares", Physical Review 40(2), 1932. V. A. Morozov, "On
the solution of functional equations by the method of regularization", Soviet Math. Doklady 7, 1966. Y. Nesterov, M.
Todd, "Primal-dual interior-point methods for self-scaled cones", SIAM J. Optimization 8(2), 1998.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.arrays import ROUNDING, Array
from casid.errors import ProblemError
from casid.inertia import STANDARD_MAP, SVEC_WEIGHTS, Scaling, congruence, link_slice, pseudo_inertia
from casid.retrieval._objectives import PERFECT
from casid.retrieval._problem import split_rows
from casid.retrieval._solution import Solution


@dataclass(frozen=True)
class Tolerance:
    """Allowed increase of the sum of squares, and what it rests on.

    Attributes
    ----------
    value : float
    ratio : float
        Birge ratio b: what the standard deviations were multiplied with; the deviation itself where none are given.
    given : bool
        Whether the coefficients have standard deviations.
    """

    value: float
    ratio: float
    given: bool

    @property
    def reason(self) -> str:
        """What it rests on, in words."""
        if not self.given:
            return f"deviation of the coefficients {self.ratio:.2g}, from what the best fit misses"
        if self.ratio <= 1.0:
            return "standard deviations of the coefficients"
        return (
            f"standard deviations of the coefficients times {self.ratio:.3g}: the best fit shows that they are so large"
        )


def coefficient_tolerance(solution: Solution) -> Tolerance:
    """The tolerance that follows from a problem's coefficients.

    Parameters
    ----------
    solution
        The best fit of a problem with coefficients.

    Raises
    ------
    ProblemError
        If the problem has no coefficients, or the best fit is perfect and their deviations are not given.
    """
    problem = solution.problem
    given = problem.coefficients
    if given is None:
        raise ProblemError(f"problem '{problem.name}': it has no coefficients from which a tolerance could follow")
    sd = np.ones(len(problem.objective.target)) if given.sd is None else np.asarray(given.sd, dtype=float)[given.used]
    missed = np.eye(len(sd)) - sensitivity(solution)
    expected = float(np.sum((missed * sd) ** 2))
    found = max(solution.objective - problem.objective.constant, 0.0)
    birge = float(np.sqrt(found / expected)) if expected > 0 else 0.0
    if given.sd is None and found <= PERFECT * problem.objective.size:
        raise ProblemError(
            f"problem '{problem.name}': the fit of the coefficients is perfect and their standard deviations are not "
            "given: give a share"
        )
    ratio = birge if given.sd is None else max(1.0, birge)
    allowed = float(np.sum((ratio * sd) ** 2))
    return Tolerance(max(allowed - found, 0.0), ratio, given.sd is not None)


def sensitivity(solution: Solution) -> Array:
    """Change S of the fitted values with the target, shape (rows, rows); the module's equation."""
    problem, x = solution.problem, np.array(solution.x)
    rows, multipliers = _rows(solution)
    left = problem.objective.gradient(x) + rows.T @ multipliers[0]
    M, standard = problem.objective.matrix, problem.variables.standard_size
    basis = np.eye(problem.variables.size)
    curvature = np.zeros(problem.variables.size)
    for k, entry in enumerate(problem.cones):
        link = link_slice(k)
        J = pseudo_inertia(x[link]) - entry.margin * np.eye(4)
        Z = (STANDARD_MAP.T @ left[link]).reshape(4, 4)
        W = Scaling.between(*(matrix[None] for matrix in _inside(J, (Z + Z.T) / 2))).W[0]
        basis[link, link] = congruence(np.linalg.cholesky(W))
        curvature[link] = SVEC_WEIGHTS**2
    curvature[standard:] = 1e-12 * max(float(np.abs(M).max()) ** 2, 1e-300)
    A, G = M @ basis, rows @ basis
    H = np.diag(curvature) + 2 * A.T @ A + (G.T * multipliers[1]) @ G
    return np.asarray(2 * A @ np.linalg.solve(H, A.T))


def _rows(solution: Solution) -> tuple[Array, tuple[Array, Array]]:
    """Linear hard rows, their multipliers, and these over their slacks."""
    linear, _ = split_rows(solution.problem)
    multipliers, values = np.array(solution.row_multipliers(linear.rows)), linear.matrix @ np.array(solution.x)
    slacks = np.where(multipliers > 0, linear.upper - values, values - linear.lower)
    weights = np.abs(multipliers) / np.maximum(slacks, 1e-12 * (1.0 + np.abs(values)))
    return linear.matrix, (multipliers, weights)


def _inside(J: Array, Z: Array) -> tuple[Array, Array]:
    """A matrix and its multiplier, of which one is zero in each direction, moved to the central path.

    There they have eigenvectors in common, and the products of their eigenvalues are `ROUNDING` times those of the
    largest ones: the smaller of each two follows from the larger.
    """
    sizes = [max(float(np.linalg.norm(matrix, 2)), 1e-300) for matrix in (J, Z)]
    _, vectors = np.linalg.eigh(J / sizes[0] - Z / sizes[1])
    a, z = (np.maximum(np.diag(vectors.T @ matrix @ vectors), 0.0) for matrix in (J, Z))
    product, own = ROUNDING * sizes[0] * sizes[1], a / sizes[0] > z / sizes[1]
    a = np.where(own, np.maximum(a, ROUNDING * sizes[0]), 0.0)
    z = np.where(own, 0.0, np.maximum(z, ROUNDING * sizes[1]))
    a[~own], z[own] = product / z[~own], product / a[own]
    return (vectors * a) @ vectors.T, (vectors * z) @ vectors.T
