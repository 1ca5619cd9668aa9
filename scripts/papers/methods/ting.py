"""The parametrisation of Ting et al. (2006, 2011): any numbers theta are feasible bodies, so no constraint is left.

``m = th1^2``, centre of mass ``(th2, th3, th4)``, inertia about it ``C C'`` with C lower triangular from th5 ... th10
(Sousa 2014, eq. 2.71; Nakanishi et al. 2008 do the same). From an unconstrained solution, nonlinear least squares in
theta minimise ``||H delta_uc - H f(theta)||`` (eq. 2.72), which is the regression itself. Its bodies have m >= 0 and
I >= 0, but nothing keeps the triangle inequality; the problem is not convex, and where a mass vanishes so do gradients.
"""

from __future__ import annotations

import time
from functools import cache

import casadi as ca
import numpy as np
from scipy.optimize import least_squares

from casid.arrays import Array
from casid.inertia import from_standard, link_slice
from papers.methods.mata import prior
from papers.methods.regression import Answer, Regression, answer

_LOWER = ((0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2))


@cache
def body() -> ca.Function:
    """``theta -> x, dx/dtheta`` of one link, shapes (10) -> (10), (10, 10)."""
    theta = ca.SX.sym("theta", 10)
    mass, com = theta[0] ** 2, theta[1:4]
    factor = ca.SX(3, 3)
    for k, (i, j) in enumerate(_LOWER):
        factor[i, j] = theta[4 + k]
    inertia = factor @ factor.T + mass * (ca.dot(com, com) * ca.SX.eye(3) - com @ com.T)
    six = [inertia[0, 0], inertia[0, 1], inertia[0, 2], inertia[1, 1], inertia[1, 2], inertia[2, 2]]
    x = ca.vertcat(*six, mass * com, mass)
    return ca.Function("body", [theta], [x, ca.densify(ca.jacobian(x, theta))])


def theta_of(parameters: Array) -> Array:
    """Theta of feasible bodies, shape (10 n,)."""
    parts = []
    for ten in parameters.reshape(-1, 10):
        mass, com, inertia = from_standard(ten)
        factor = np.linalg.cholesky(inertia)
        parts.append([np.sqrt(mass), *com, *(factor[i, j] for i, j in _LOWER)])
    return np.ravel(parts)


def parameters_of(theta: Array) -> tuple[Array, Array]:
    """Standard parameters (10 n,), and the links' Jacobians (n, 10, 10)."""
    n = len(theta) // 10
    x, jacobian = body().map(n)(theta.reshape(n, 10).T)
    return np.array(x).ravel(order="F"), np.array(jacobian).reshape(10, n, 10).transpose(1, 0, 2)


def ting(data: Regression, evaluations: int = 200) -> Answer:
    """Levenberg-Marquardt from the feasible guess of `methods.mata.prior`; at most so many evaluations."""
    start = time.process_time()
    guess = theta_of(prior(data))
    scale = max(float(np.linalg.norm(data.r)), 1e-12)

    def residual(theta: Array) -> Array:
        return np.asarray((data.R @ parameters_of(theta)[0] - data.r) / scale)

    def jacobian(theta: Array) -> Array:
        blocks = parameters_of(theta)[1]
        made = np.zeros((len(data.r), len(theta)))
        for k, block in enumerate(blocks):
            made[:, link_slice(k)] = data.R[:, link_slice(k)] @ block
        return made / scale

    built = time.process_time()
    found = least_squares(
        residual, guess, jac=jacobian, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=evaluations
    )
    done = time.process_time()
    return answer(
        "Ting (theta)",
        data,
        parameters_of(np.asarray(found.x))[0],
        solved=bool(found.success),
        status=str(found.message),
        iterations=int(found.nfev),
        build_time=built - start,
        solve_time=done - built,
    )
