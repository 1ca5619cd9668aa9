"""Entropic estimates: consistent parameters from quadratic information and plausible bodies, or nearest to given ones.

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

    minimise  sum_k tr(R_k^-1 J_k) - log det(R_k^-1 J_k)   subject to   A x = b

The congruence ``J = F Y F'`` with ``R = F F'`` makes every R the identity, whatever the units; the program is that of
`casid.inertia.InteriorPoint` without rows, the equations its squares at an infinite price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casid.arrays import RANK, ROUNDING, Array
from casid.errors import DatasetError
from casid.inertia._cones import SVEC_WEIGHTS, congruence, symmetric
from casid.inertia._interior_point import NEAR, ROUGH, Divergence, InteriorPoint, Measure, divergence_hessian
from casid.inertia._parameters import consistency, link_slice, pseudo_inertia

# ------------------------------------------------------------------ estimate

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


# ------------------------------------------------------------------ nearest bodies

#: Weight of the divergence at which the softened equations stop; bodies together up to this many times as large as
#: those found are covered by the bound of the distance.
LEAST, LARGE = 1e-17, 10.0
#: Share of the squared distance by which its bound may be lower.
SHARP = 1e-6


def nearest_bodies(A: Array, b: Array, given: Array, references: Array, free: Sequence[int]) -> Array | None:
    """Consistent bodies of least divergence from their references.

    Parameters
    ----------
    A, b
        Equations ``A x = b`` of all bodies' standard parameters x, shapes (rows, 10 bodies) and (rows,).
    given
        Standard parameters, shape (bodies, 10): the values of the bodies that are not free.
    references
        Consistent ones, shape (bodies, 10).
    free
        Indices of the bodies that may change.

    Returns
    -------
    ndarray, shape (bodies, 10), or None
        ``None``: no consistent bodies satisfy the equations (as far as the interior point can determine).
    """
    free = list(free)
    maps = [congruence(np.linalg.cholesky(pseudo_inertia(references[k]))) for k in free]
    result = given.copy()
    result[free] = 0.0
    right = b - A @ result.ravel()
    rows = _independent(np.hstack([A[:, link_slice(k)] @ C for k, C in zip(free, maps, strict=True)]), right)
    if rows is None:
        return None
    program = InteriorPoint(Measure(np.zeros(len(free), dtype=bool)), *rows)
    found = program.solve(program.start(), np.inf)
    if not found.solved:
        return None
    for k, C, y in zip(free, maps, found.y.reshape(-1, 10), strict=True):
        result[k] = C @ y
    result = _with_equations(A, b, result, free)
    return result if all(consistency(result[k]).full for k in free) else None


def _independent(scaled: Array, right: Array) -> tuple[Array, Array] | None:
    """Orthonormal rows of the equations; ``None`` where they contradict each other."""
    if not len(right):
        return np.zeros((0, scaled.shape[1])), right
    size = np.linalg.norm(scaled, axis=1)
    scale = np.where(size > 0, size, 1.0)
    U, s, Vt = np.linalg.svd(scaled / scale[:, None], full_matrices=False)
    keep = s > RANK * s.max()
    projected = U.T @ (right / scale)
    left = right / scale - U[:, keep] @ projected[keep]
    if np.abs(left * scale).max() > RANK * max(float(np.abs(right).max()), float(size.max())):
        return None
    return Vt[keep], projected[keep] / s[keep]


def nearest_right_side(A: Array, b: Array, references: Array) -> tuple[Array, float]:
    """Consistent bodies whose ``A x`` is nearest to b, and of those the ones of least divergence.

    Minimises ``|A x - b|^2 / (2 eps) + divergence`` for a falling eps. At the optimum ``A'l = eps (R^-1 - J^-1)`` with
    ``l = b - A x``, so that for all bodies x' that are together at most `LARGE` times as large (``tr R^-1 J'``)

        |A x' - b|^2 / 2  >=  l'b - l'l / 2 - l'A x'  >=  l'b - l'l / 2 - eps LARGE tr R^-1 J,

    from which follows a bound of the distance that needs no trust in the optimiser.

    Returns
    -------
    bodies : ndarray, shape (bodies, 10)
    bound : float
        No consistent bodies of that size come nearer.
    """
    maps = [congruence(np.linalg.cholesky(pseudo_inertia(ten))) for ten in references]
    S = np.hstack([A[:, link_slice(k)] @ C for k, C in enumerate(maps)])
    size = float(np.linalg.norm(S, 2))
    U, s, Vt = np.linalg.svd(S / size, full_matrices=False)
    keep = s > len(s) * np.finfo(float).eps
    rows, right = s[keep, None] * Vt[keep], U[:, keep].T @ b / size
    lost = float(np.linalg.norm(b / size - U[:, keep] @ right))
    program = InteriorPoint(Measure(np.zeros(len(maps), dtype=bool)), rows, right)
    point, epsilon = program.start(), 1.0
    duals: list[tuple[float, float]] = []
    while True:
        made = program.solve(program.solve(point, 0.5 / epsilon, NEAR), 0.5 / epsilon, ROUGH)
        if not made.solved:
            break  # as near to bodies without extent as numbers allow
        point = made
        left = right - rows @ point.y
        # l'A x' = <adjoint, J'> <= (largest eigenvalue) tr R^-1 J': in exact arithmetic at most eps
        adjoint = symmetric((rows.T @ left).reshape(-1, 10) / SVEC_WEIGHTS**2)
        excess = max(float(np.linalg.eigvalsh(adjoint).max()), 0.0)
        duals.append((float(left @ right - left @ left / 2), excess))
        room = LARGE * max(float(np.trace(program.measure.matrices(point.y), axis1=1, axis2=2).sum()), 4.0 * len(maps))
        reached = left @ left <= ROUNDING**2 * (right @ right) or epsilon * room <= SHARP * (left @ left)
        if reached or epsilon <= LEAST:
            break
        epsilon *= 0.1
    bound = max((value - excess * room for value, excess in duals), default=0.0)
    result = np.array([C @ y for C, y in zip(maps, point.y.reshape(-1, 10), strict=True)])
    return result, size * float(np.sqrt(2 * max(bound, 0.0) + lost**2))


def _with_equations(A: Array, b: Array, x: Array, free: list[int]) -> Array:
    """The equations satisfied to rounding: one projection, scaled by the bodies' sizes."""
    if not len(b):
        return x
    columns = np.concatenate([np.r_[link_slice(k)] for k in free])
    scale = np.abs(x.ravel()[columns]) + 1e-12
    scale = np.maximum(scale, 1e-6 * scale.max())
    result = x.copy().ravel()
    for _ in range(2):
        left = b - A @ result
        result[columns] += scale * np.linalg.lstsq(A[:, columns] * scale, left, rcond=1e-13)[0]
    return np.asarray(result.reshape(x.shape))
