"""Physically consistent parameters of most plausibility: a few Newton steps, and a proof of how few are left.

Of given information (``||rho - R B x||^2``, B from all parameters to the filter's) and plausible bodies ``J0_k``,

    minimise F(x) = ||rho - R B x||^2 + mu sum_k D(J_k || J0_k) + mu sum_i d(x_i / x0_i),
    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4,      d(s) = s - log s - 1,

over links x_k (D is the log-det, or entropic, divergence; Lee, Kwon and Park 2018) and non-negative terms x_i; free
terms carry ``mu (x / x0)^2``. F grows beyond all bounds at the boundary of the physical set, so every iterate is a
body. F / mu is self-concordant: with the Newton decrement delta < 1 (Boyd and Vandenberghe 2004, Sec. 9.6.3)

    F(x) - min F <= mu (-delta - log(1 - delta)),

a certificate that costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from casid.errors import DatasetError
from casid.inertia import PSEUDO_INERTIA_MAP, pseudo_inertia

Array = NDArray[np.float64]
#: Newton steps after which a start that has not come near the optimum (it was almost singular) is given up for the
#: plausible bodies, from which a dozen steps do.
WARM = 12


@dataclass(frozen=True, eq=False)
class Plausible:
    """What links and terms look like before any data.

    Attributes
    ----------
    bodies : ndarray, shape (links, 10)
        Standard parameters of plausible, fully consistent bodies.
    positive : ndarray, shape (p,)
        Sizes x0 of terms that cannot be negative.
    free : ndarray, shape (f,)
        Sizes of terms of any sign.
    """

    bodies: Array
    positive: Array
    free: Array

    def __post_init__(self) -> None:
        eigenvalues = np.linalg.eigvalsh(pseudo_inertia(self.bodies))[:, 0]
        if not (eigenvalues > 0).all():
            raise DatasetError(f"plausible body {int(np.argmin(eigenvalues)) + 1} is not physically consistent")

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.bodies.size + len(self.positive) + len(self.free)

    @property
    def start(self) -> Array:
        """The plausible values themselves."""
        return np.concatenate([self.bodies.ravel(), self.positive, np.zeros(len(self.free))])


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
        Proven bound of ``F(x) - min F``; infinite if Newton did not come near enough for the proof.
    iterations : int
    """

    x: Array
    objective: float
    data: float
    suboptimality: float
    iterations: int


def entropic_estimate(
    A: Array, b: Array, plausible: Plausible, mu: float, start: Array | None = None, iterations: int = 60
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
    H0, g0 = 2 * A.T @ A, -2 * A.T @ b

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

    x = plausible.start if start is None else np.array(start, dtype=float)
    divergence, J = barrier(x)
    if not np.isfinite(divergence):
        x = plausible.start
        divergence, J = barrier(x)
    bound, done = np.inf, 0
    for done in range(iterations + 1):
        inverse = np.linalg.inv(J)
        s = x[first:last]
        g = g0 + H0 @ x
        g[:first] += mu * (slope0 - (inverse.reshape(links, 16) @ PSEUDO_INERTIA_MAP).ravel())
        g[first:last] += mu * (1 / plausible.positive - 1 / s)
        g += 2 * mu * weight * x
        H = H0.copy()
        for k in range(links):
            own = PSEUDO_INERTIA_MAP.T @ np.kron(inverse[k], inverse[k]) @ PSEUDO_INERTIA_MAP
            H[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] += mu * own
        diagonal = np.arange(first, size)
        H[diagonal, diagonal] += mu * np.concatenate([1 / s**2, np.zeros(size - last)]) + 2 * mu * weight[first:]
        scale = 1 / np.sqrt(np.diag(H))
        try:
            move = -scale * cho_solve(cho_factor(H * np.outer(scale, scale)), scale * g)
        except LinAlgError:
            break
        decrement = float(np.sqrt(max(-(g @ move), 0.0) / mu))
        if decrement < 1:
            bound = mu * (-decrement - np.log1p(-decrement))
        if decrement < 1e-7 or done == iterations:
            break
        # the data term is a quadratic along the step: only the barrier is evaluated again
        slope, curvature = float((g0 + H0 @ x) @ move), float(move @ H0 @ move) / 2
        if done == WARM and start is not None and not np.isfinite(bound):
            x = plausible.start
            divergence, J = barrier(x)
            continue
        length = 1.0
        for _ in range(60):
            trial, J = barrier(x + length * move)
            change = length * slope + length**2 * curvature + mu * (trial - divergence)
            if change <= -1e-4 * length * mu * decrement**2 or (decrement < 1e-4 and np.isfinite(trial)):
                break
            length /= 2
        else:
            break
        x, divergence = x + length * move, trial
    data = float(np.sum((A @ x - b) ** 2))
    return Entropic(x, data + mu * divergence, data, float(bound), done)
