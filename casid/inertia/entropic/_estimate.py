"""Entropic estimate: physically consistent parameters from quadratic information and plausible bodies.

Of given information (``||rho - R B x||^2``, B from all parameters to the filter's) and plausible bodies ``J0_k``,

    minimise F(x) = ||rho - R B x||^2 + mu sum_k D(J_k || J0_k) + mu sum_i d(x_i / x0_i),
    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4,      d(s) = s - log s - 1,

over links x_k (D is the log-det, or entropic, divergence; Lee, Kwon and Park 2018) and non-negative terms x_i; free
terms carry ``mu (x / x0)^2``. F grows beyond all bounds at the boundary of the physical set, so every iterate is a
body. F / mu is self-concordant: with the Newton decrement delta < 1 (Boyd and Vandenberghe 2004, Sec. 9.6.3)

    F(x) - min F <= mu (-delta - log(1 - delta)),

a certificate without extra cost. A start from which a few steps do not come that near (the last estimate, almost
singular, after the data have changed) is replaced by the central path: the plausible bodies are the optimum for
infinite mu, and mu is lowered whenever Newton's method has come near the optimum of the previous mu (ibid., Sec. 11.3),
by a larger factor the fewer steps that took.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.arrays import Array
from casid.errors import DatasetError
from casid.inertia._interior_point import Divergence, divergence_hessian
from casid.inertia._parameters import link_slice, pseudo_inertia

#: Newton steps after which a start that has not come near the optimum is replaced by the central path.
WARM = 6
#: Factor between the weights along the path, at first, at least and at most: squared after a weight whose optimum took
#: at most `SLOW` steps, its root after one that took more.
FIRST, SMALLEST, STEEPEST, SLOW = 10.0, 1.2, 30.0, 3
#: Share of every body that a step leaves: nearer to the boundary, Newton's next steps are small.
KEPT = 0.2
#: Newton decrement at which the objective is its minimum but for half its square: rounding.
SETTLED = 1e-7
#: Share of the decrease that the slope promises that a step must reach (Nocedal and Wright 2006, Sec. 3.1); decrements
#: below it promise less than rounding.
DECREASE = 1e-4


@dataclass(frozen=True, eq=False)
class Plausible:
    """Plausible values of links and joint terms before any data.

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
        if self.bodies.ndim != 2 or self.bodies.shape[1] != 10 or not np.isfinite(self.bodies).all():
            raise DatasetError(
                f"plausible bodies: expected finite numbers of shape (links, 10), got {self.bodies.shape}"
            )
        for name, sizes in {"positive": self.positive, "free": self.free}.items():
            if sizes.ndim != 1 or not (np.isfinite(sizes) & (sizes > 0)).all():
                raise DatasetError(
                    f"plausible: sizes of {name} terms must be positive and finite, got {sizes.tolist()}"
                )
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
    """Entropic estimate with its bound of suboptimality.

    Attributes
    ----------
    x : ndarray
        Links (10 each), non-negative terms, free terms.
    objective : float
        F(x).
    data : float
        ``||rho - R B x||^2``.
    suboptimality : float
        Proven bound of ``F(x) - min F``, up to the rounding of F; infinite if Newton's method did not come near enough
        for the proof.
    iterations : int
    weight : float
        Weight of the divergence for which x was sought last; mu, unless the central path was cut short.
    """

    x: Array
    objective: float
    data: float
    suboptimality: float
    iterations: int
    weight: float = 0.0


class _Barrier:
    """The divergence of links and terms from plausible ones: value, gradient and Hessian."""

    def __init__(self, plausible: Plausible) -> None:
        self._links = len(plausible.bodies)
        self._bodies = Divergence(pseudo_inertia(plausible.bodies))
        self._positive = plausible.positive
        self._first, self._last = 10 * self._links, 10 * self._links + len(plausible.positive)
        self._weight = np.zeros(plausible.size)
        self._weight[self._last :] = 1.0 / plausible.free**2

    def __call__(self, x: Array) -> tuple[float, Array]:
        """The divergence and the pseudo-inertias at x; infinite outside the physical set."""
        J = pseudo_inertia(x[: self._first].reshape(self._links, 10))
        ratio = x[self._first : self._last] / self._positive
        if not np.isfinite(x).all() or not (ratio > 0).all():
            return np.inf, J
        terms = np.sum(ratio - np.log(ratio) - 1) + self._weight @ x**2
        return float(self._bodies.value(J).sum() + terms), J

    def derivatives(self, x: Array, J: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of the divergence at x with pseudo-inertias J."""
        first, last = self._first, self._last
        s = x[first:last]
        g, H = 2 * self._weight * x, np.diag(2 * self._weight)
        g[:first] += self._bodies.gradient(J).ravel()
        g[first:last] += 1 / self._positive - 1 / s
        for k, block in enumerate(divergence_hessian(J)):
            H[link_slice(k), link_slice(k)] += block
        H[np.arange(first, last), np.arange(first, last)] += 1 / s**2
        return g, H


def entropic_estimate(
    A: Array,
    b: Array,
    plausible: Plausible,
    mu: float,
    start: Array | None = None,
    iterations: int = 100,
    weight: float | None = None,
) -> Entropic:
    """Minimise F with ``A = R B``, ``b = rho``.

    Parameters
    ----------
    A, b
        Shapes (k, size) and (k,).
    plausible
        The bodies and terms of the divergence.
    mu
        Weight of the divergence, > 0.
    start
        A physical x to start from (the last estimate); default: the plausible values.
    iterations
        Largest number of Newton steps; each factorises one matrix of this size.
    weight
        `Entropic.weight` of a path that was cut short at ``start``: it goes on there.
    """
    barrier, H0 = _Barrier(plausible), 2 * A.T @ A
    x, now = plausible.start if start is None else np.array(start, dtype=float), mu
    divergence, J = barrier(x)
    goes_on = start is not None and np.isfinite(divergence) and weight is not None and mu <= weight < np.inf
    warm = start is not None and np.isfinite(divergence) and not goes_on
    if goes_on and weight is not None:
        now = weight
    elif not warm:  # the weight of the divergence is larger at the beginning of the path
        x, now = plausible.start, np.inf
        divergence, J = barrier(x)
    bound, done, since, decrease = np.inf, 0, 0, FIRST
    for done in range(iterations + 1):
        slope_d, H_d = barrier.derivatives(x, J)
        pull = 2 * A.T @ (A @ x - b)  # rounding lies where A is steep; that of H0 x - 2 A'b would lie anywhere
        if np.isinf(now):  # the divergence has no slope here: of this weight it is near the optimum
            now = max(mu, 2 * float(np.sqrt(pull @ np.linalg.solve(H_d, pull))))
        g = pull + now * slope_d
        move = _newton(g, H0 + now * H_d)
        if move is None or (warm and done == WARM and not np.isfinite(bound)):
            if not warm:
                break
            warm, x, now, bound, since = False, plausible.start, np.inf, np.inf, done
            divergence, J = barrier(x)
            continue
        decrement = float(np.sqrt(max(-(g @ move), 0.0) / now))
        if decrement < 1 and now == mu:
            bound = mu * (-decrement - np.log1p(-decrement))
        if (decrement < SETTLED and now == mu) or done == iterations:
            break
        # the data term is a quadratic along the step: only the barrier is evaluated again
        data = float(pull @ move), float(np.sum((A @ move) ** 2))
        stepped = _line_search(barrier, x, divergence, move, data, now, decrement)
        if stepped is None:
            break
        x, divergence, J = stepped
        if decrement < 1 and now > mu:
            decrease = max(np.sqrt(decrease), SMALLEST) if done - since > SLOW else min(decrease**2, STEEPEST)
            now, since = max(mu, now / decrease), done
    left = float(np.sum((A @ x - b) ** 2))
    return Entropic(x, left + mu * divergence, left, float(bound), done, float(now))


def _newton(g: Array, H: Array) -> Array | None:
    """Newton's step, with the Hessian scaled to a diagonal of ones; None where rounding has made it indefinite."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve  # slow to import

    scale = 1 / np.sqrt(np.diag(H))
    try:
        return np.asarray(-scale * cho_solve(cho_factor(H * np.outer(scale, scale)), scale * g))
    except LinAlgError:
        return None


def _line_search(
    barrier: _Barrier,
    x: Array,
    divergence: float,
    move: Array,
    data: tuple[float, float],
    weight: float,
    decrement: float,
) -> tuple[Array, float, Array] | None:
    """Next x, its divergence and pseudo-inertias by halving the step; None where no step lowers the objective.

    ``data`` are slope and curvature of the data term along the step.
    """
    slope, curvature = data
    length = 1.0
    for _ in range(60):
        trial, J = barrier(x + length * move)
        change = length * slope + length**2 * curvature + weight * (trial - divergence)
        falls = change <= -DECREASE * length * weight * decrement**2 or (decrement < DECREASE and np.isfinite(trial))
        if falls and np.isfinite(barrier((1 - KEPT) * x + length * move)[0]):
            return x + length * move, trial, J
        length /= 2
    return None
