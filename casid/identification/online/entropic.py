"""Physically consistent parameters of most plausibility: a few Newton steps, and a proof of how few are left.

Of given information (``||rho - R B x||^2``, B from all parameters to the filter's) and plausible bodies ``J0_k``,

    minimise F(x) = ||rho - R B x||^2 + mu sum_k D(J_k || J0_k) + mu sum_i d(x_i / x0_i),
    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4,      d(s) = s - log s - 1,

over links x_k (D is the log-det, or entropic, divergence; Lee, Kwon and Park 2018) and non-negative terms x_i; free
terms carry ``mu (x / x0)^2``. F grows beyond all bounds at the boundary of the physical set, so every iterate is a
body. F / mu is self-concordant: with the Newton decrement delta < 1 (Boyd and Vandenberghe 2004, Sec. 9.6.3)

    F(x) - min F <= mu (-delta - log(1 - delta)),

a certificate that costs nothing. A start from which a few steps do not come that near (the last estimate, almost
singular, after the data have changed) is left for the central path: the plausible bodies are the optimum for infinite
mu, and mu is taken down whenever Newton has come near the optimum of the mu before (ibid., Sec. 11.3), the further the
fewer steps that took.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from casid.identification.online.plausible import Plausible
from casid.inertia import pseudo_inertia
from casid.inertia._parameter_vector import link_slice
from casid.inertia._parameters import PSEUDO_INERTIA_MAP

Array = NDArray[np.float64]
#: Newton steps after which a start that has not come near the optimum is given up for the central path.
WARM = 6
#: Factor between the weights along the path, at first, at least and at most: squared after a weight whose optimum took
#: at most `SLOW` steps, its root after one that took more.
FIRST, SMALLEST, STEEPEST, SLOW = 10.0, 1.2, 30.0, 3
#: Share of every body that a step leaves: nearer to the boundary, Newton's next steps are small.
KEPT = 0.2


@dataclass(frozen=True, eq=False)
class Entropic:
    """An estimate.

    Attributes
    ----------
    x : ndarray
        Links (10 each), non-negative terms, free terms.
    objective : float
        F(x).
    data : float
        ``||rho - R B x||^2``.
    suboptimality : float
        Proven bound of ``F(x) - min F``, up to the rounding of F; infinite if Newton did not come near enough for the
        proof.
    iterations : int
    """

    x: Array
    objective: float
    data: float
    suboptimality: float
    iterations: int


def _newton(g: Array, H: Array, scale: Array) -> Array | None:
    """Newton's step, with the Hessian scaled to a diagonal of ones; None where rounding has made it indefinite."""
    try:
        return np.asarray(-scale * cho_solve(cho_factor(H), scale * g))
    except LinAlgError:
        return None


def entropic_estimate(
    A: Array, b: Array, plausible: Plausible, mu: float, start: Array | None = None, iterations: int = 100
) -> Entropic:
    """Minimise F with ``A = R B``, ``b = rho``.

    Parameters
    ----------
    A, b
        Shapes (k, size) and (k,).
    plausible
        The bodies and terms of the divergence.
    mu
        Its weight, > 0.
    start
        A physical x to start from (the last estimate); default: the plausible values.
    iterations
        At most; each costs one factorisation of a matrix of this size.
    """
    size, links = plausible.size, len(plausible.bodies)
    inverse0 = np.linalg.inv(pseudo_inertia(plausible.bodies))
    slope0 = (inverse0.reshape(links, 16) @ PSEUDO_INERTIA_MAP).ravel()
    logdet0 = -float(np.linalg.slogdet(inverse0)[1].sum())
    first, last = 10 * links, 10 * links + len(plausible.positive)
    weight = np.zeros(size)
    weight[last:] = 1.0 / plausible.free**2
    H0 = 2 * A.T @ A

    def barrier(x: Array) -> tuple[float, Array]:
        """The divergence and the pseudo-inertias at x; infinite outside the physical set."""
        J = pseudo_inertia(x[:first].reshape(links, 10))
        ratio = x[first:last] / plausible.positive
        if not np.isfinite(x).all() or not (ratio > 0).all():
            return np.inf, J
        try:
            logdet = 2 * np.log(np.diagonal(np.linalg.cholesky(J), axis1=1, axis2=2)).sum()
        except np.linalg.LinAlgError:
            return np.inf, J
        divergence = slope0 @ x[:first] - float(logdet) + logdet0 - 4 * links
        return float(divergence + np.sum(ratio - np.log(ratio) - 1) + weight @ x**2), J

    def curvature_of(x: Array, J: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of the divergence."""
        inverse = np.linalg.inv(J)
        s = x[first:last]
        g, H = 2 * weight * x, np.diag(2 * weight)
        g[:first] += slope0 - (inverse.reshape(links, 16) @ PSEUDO_INERTIA_MAP).ravel()
        g[first:last] += 1 / plausible.positive - 1 / s
        for k in range(links):
            own = PSEUDO_INERTIA_MAP.T @ np.kron(inverse[k], inverse[k]) @ PSEUDO_INERTIA_MAP
            H[link_slice(k), link_slice(k)] += own
        H[np.arange(first, last), np.arange(first, last)] += 1 / s**2
        return g, H

    x = plausible.start if start is None else np.array(start, dtype=float)
    divergence, J = barrier(x)
    warm = start is not None and np.isfinite(divergence)
    now = mu  # weight of the divergence: larger at the beginning of the path
    if not warm:
        x, now = plausible.start, np.inf
        divergence, J = barrier(x)
    bound, done, since, decrease = np.inf, 0, 0, FIRST
    for done in range(iterations + 1):
        slope_d, H_d = curvature_of(x, J)
        pull = 2 * A.T @ (A @ x - b)  # rounding lies where A is steep; that of H0 x - 2 A'b would lie anywhere
        if np.isinf(now):  # the divergence has no slope here: of this weight it is near the optimum
            now = max(mu, 2 * float(np.sqrt(pull @ np.linalg.solve(H_d, pull))))
        g, H = pull + now * slope_d, H0 + now * H_d
        scale = 1 / np.sqrt(np.diag(H))
        move = _newton(g, H * np.outer(scale, scale), scale)
        if move is None or (warm and done == WARM and not np.isfinite(bound)):
            if not warm:
                break
            warm, x, now, bound, since = False, plausible.start, np.inf, np.inf, done
            divergence, J = barrier(x)
            continue
        decrement = float(np.sqrt(max(-(g @ move), 0.0) / now))
        if decrement < 1 and now == mu:
            bound = mu * (-decrement - np.log1p(-decrement))
        if (decrement < 1e-7 and now == mu) or done == iterations:
            break
        # the data term is a quadratic along the step: only the barrier is evaluated again
        slope, curvature = float(pull @ move), float(np.sum((A @ move) ** 2))
        length = 1.0
        for _ in range(60):
            trial, J = barrier(x + length * move)
            change = length * slope + length**2 * curvature + now * (trial - divergence)
            falls = change <= -1e-4 * length * now * decrement**2 or (decrement < 1e-4 and np.isfinite(trial))
            if falls and np.isfinite(barrier((1 - KEPT) * x + length * move)[0]):
                break
            length /= 2
        else:
            break
        x, divergence = x + length * move, trial
        if decrement < 1 and now > mu:
            decrease = max(np.sqrt(decrease), SMALLEST) if done - since > SLOW else min(decrease**2, STEEPEST)
            now, since = max(mu, now / decrease), done
    data = float(np.sum((A @ x - b) ** 2))
    return Entropic(x, data + mu * divergence, data, float(bound), done)
