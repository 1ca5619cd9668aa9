"""Entropic estimate: physically consistent parameters from quadratic information and plausible bodies.

Of given information (``||rho - R B x||^2``, B from all parameters to the filter's) and plausible bodies ``J0_k``,

    minimise F(x) = ||rho - R B x||^2 + mu sum_k D(J_k || J0_k) + mu sum_i d(x_i / x0_i),
    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4,      d(s) = s - log s - 1,

over links x_k (D is the log-det, or entropic, divergence; Lee, Kwon and Park 2018) and non-negative terms x_i; free
terms carry ``mu (x / x0)^2``. F grows beyond all bounds at the boundary of the physical set, so every iterate is a
body. F / mu is self-concordant: with the Newton decrement delta < 1 (Boyd and Vandenberghe 2004, Sec. 9.6.3)

    F(x) - min F <= mu (-delta - log(1 - delta)),

a certificate. It is the program of `casid.inertia.InteriorPoint` at the price ``1 / mu`` of the squares. A start from
which a few steps do not lead to the optimum (the last estimate, almost singular, after the data have changed) is
replaced by the path of prices: the plausible values are the optimum without a price, which then grows from one optimum
to the next (ibid., Sec. 11.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from casid.arrays import Array
from casid.errors import DatasetError
from casid.inertia._divergence import SVEC_WEIGHTS, congruence
from casid.inertia._interior_point import DEARER, NEAR, InteriorPoint, Measure
from casid.inertia._parameters import pseudo_inertia

#: Newton steps after which a start that has not come near the optimum is replaced by the path of prices.
WARM = 6
#: Least factor between prices along the path; its root is taken after a price whose optimum took more steps than that.
SMALLEST, SLOW = 1.5, 5
#: Condition number of a body's pseudo-inertia, relative to the plausible one's, above which it is no start.
SINGULAR = 1e13


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
    basis = block_diag(*(congruence(np.linalg.cholesky(J)) for J in pseudo_inertia(plausible.bodies)))
    basis = block_diag(basis, np.eye(plausible.size - len(basis)))
    others = np.zeros(len(plausible.free)), np.zeros(len(plausible.positive))
    measure = Measure(
        np.zeros(len(plausible.bodies), dtype=bool),
        np.concatenate([others[1], 1.0 / plausible.free**2]),
        np.concatenate([plausible.positive, others[0]]),
    )
    program, goal = InteriorPoint(measure, A @ basis, b), 1.0 / mu
    point, used = program.start(), 0
    # the squares' slope is half the curvature of the divergence at its least: the optimum of this price is near
    curvature = np.concatenate([np.tile(SVEC_WEIGHTS**2, measure.links), measure.curvature(measure.sizes)])
    pull = 2 * (A @ basis).T @ (A @ plausible.start - b)
    price = min(goal, 0.5 / max(float(np.sqrt(np.sum(pull**2 / curvature))), 1e-300))
    y = None if start is None else np.linalg.solve(basis, np.asarray(start, dtype=float))
    if y is not None and np.isfinite(measure.value(y)) and np.linalg.cond(measure.matrices(y)).max() < SINGULAR:
        if weight is not None and mu <= weight < np.inf:
            point, price = program.start(y), 1.0 / weight
        else:
            warm = program.solve(program.start(y), goal, NEAR, steps=min(WARM, iterations))
            used = warm.steps
            if warm.solved or used == iterations:
                point, price = warm, goal
    factor = DEARER
    factor = DEARER
    factor = DEARER
    factor = DEARER
    while used < iterations:
        made = program.solve(point, price, NEAR, steps=iterations - used)
        steps = made.steps - point.steps
        used, point = used + steps, made
        if not made.solved or price == goal:
            break
        factor = max(np.sqrt(factor), SMALLEST) if steps > SLOW else min(factor**2, DEARER)
        price = min(goal, factor * price)
    made = program.solve(point, price, steps=min(2, iterations - used))
    used, point = used + made.steps - point.steps, made
    decrement = program.decrement(point.y, goal)
    bound = mu * (-decrement - np.log1p(-decrement)) if decrement < 1 else np.inf
    left = program.residual(point.y)
    return Entropic(basis @ point.y, left + mu * measure.value(point.y), left, float(bound), used, 1.0 / price)
