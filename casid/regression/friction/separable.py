"""Shapes of friction by variable projection.

With the shapes theta fixed, everything else is linear. The sum of squares left by the best linear parameters,

    f(theta) = min_beta,a  sum_j w_j^2 ||tau_j - W_j beta - C_j(theta_j) a_j||^2,

is minimised over theta alone within bounds (Golub and Pereyra 1973, with Kaufman's Jacobian), by SciPy's trust-region
method. Columns pass the torques' filter like everything else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from casid.errors import SolveError

Array = NDArray[np.float64]

#: Relative changes at which the search stops, and the most evaluations.
TOLERANCE, MOST_EVALUATIONS = 1e-10, 200

#: From all joints' shapes to columns and their derivatives: C_j (N_j, amplitudes), dC_j (N_j, amplitudes, theta).
Columns = Callable[[list[Array]], tuple[list[Array], list[Array]]]


@dataclass(frozen=True, eq=False)
class Shapes:
    """Result of `fit_shapes`.

    Attributes
    ----------
    theta : list of ndarray
        One a joint.
    amplitudes : list of ndarray
    objective : float
        Weighted sum of squares.
    iterations : int
        Evaluations of the columns.
    """

    theta: list[Array]
    amplitudes: list[Array]
    objective: float
    iterations: int


def fit_shapes(
    columns: Columns,
    W: Sequence[Array],
    tau: Sequence[Array],
    weights: Array,
    start: Sequence[Array],
    lower: Sequence[Array],
    upper: Sequence[Array],
    what: str,
) -> Shapes:
    """Minimise over the shapes of all joints at once.

    Parameters
    ----------
    columns
        See `Columns`.
    W, tau
        Rows of each joint, filtered and thinned: (N_j, rank), (N_j,).
    weights
        Of the joints.
    start, lower, upper
        Shapes of each joint.
    what
        For messages.

    Raises
    ------
    SolveError
        If the search does not converge.
    """
    sizes = [len(theta) for theta in start]
    edges = np.cumsum([0, *sizes])
    rank = W[0].shape[1]
    low, high, first = (np.concatenate([np.asarray(x, dtype=float) for x in v]) for v in (lower, upper, start))
    span = high - low
    target = np.concatenate([w * t for w, t in zip(weights, tau, strict=True)])
    scale = float(np.linalg.norm(target)) or 1.0
    rows = np.cumsum([0, *(len(t) for t in tau)])

    def split(unit: Array) -> list[Array]:
        theta = low + span * unit
        return [theta[a:b] for a, b in itertools.pairwise(edges)]

    def linear(theta: list[Array]) -> tuple[Array, Array, list[Array], list[Array]]:
        """Residual, basis of what is linear, amplitudes, derivatives of the columns."""
        C, dC = columns(theta)
        widths = np.cumsum([rank, *(c.shape[1] for c in C)])
        X = np.zeros((len(target), int(widths[-1])))
        for k, c in enumerate(C):
            part = slice(rows[k], rows[k + 1])
            X[part, :rank] = weights[k] * W[k]
            X[part, widths[k] : widths[k + 1]] = weights[k] * c
        lengths = np.linalg.norm(X, axis=0)
        X /= np.where(lengths > 0, lengths, 1.0)
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        sure = s > 1e-10 * s[0]
        basis = U[:, sure]
        x = (Vt[sure].T / s[sure]) @ (basis.T @ target) / np.where(lengths > 0, lengths, 1.0)
        residual = target - basis @ (basis.T @ target)
        return residual, basis, [x[a:b] for a, b in itertools.pairwise(widths)], dC

    last: dict[bytes, tuple[Array, Array, list[Array], list[Array]]] = {}

    def at(unit: Array) -> tuple[Array, Array, list[Array], list[Array]]:
        key = unit.tobytes()
        if key not in last:
            last.clear()
            last[key] = linear(split(unit))
        return last[key]

    def residual(unit: Array) -> Array:
        return at(unit)[0] / scale

    def jacobian(unit: Array) -> Array:
        _, basis, amplitudes, dC = at(unit)
        J = np.zeros((len(target), len(low)))
        for k, (a, d) in enumerate(zip(amplitudes, dC, strict=True)):
            J[rows[k] : rows[k + 1], edges[k] : edges[k + 1]] = -weights[k] * np.einsum("nat,a->nt", d, a)
        J -= basis @ (basis.T @ J)
        return np.asarray(J * span / scale)

    unit = np.clip((first - low) / span, 1e-6, 1 - 1e-6) if len(low) else np.zeros(0)
    if not len(low):
        e, _, amplitudes, _ = at(unit)
        return Shapes(split(unit), amplitudes, float(e @ e), 1)
    found = least_squares(
        residual, unit, jac=jacobian, bounds=(0.0, 1.0), xtol=TOLERANCE, ftol=TOLERANCE, gtol=TOLERANCE,
        max_nfev=MOST_EVALUATIONS, x_scale="jac",
    )  # fmt: skip
    if found.status <= 0 or not np.isfinite(found.x).all():
        raise SolveError(
            f"{what}: no convergence in {found.nfev} evaluations ({found.message}); the data may not tell the shape: "
            "take a simpler law"
        )
    e, _, amplitudes, _ = at(found.x)
    return Shapes(split(found.x), amplitudes, float(e @ e), int(found.nfev))
