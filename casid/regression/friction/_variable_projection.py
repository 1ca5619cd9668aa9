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
    low, high, first = (np.concatenate([np.asarray(x, dtype=float) for x in v]) for v in (lower, upper, start))
    reduced = _Reduced(columns, W, tau, weights, low, high - low, np.cumsum([0, *(len(theta) for theta in start)]))
    if not len(low):
        return reduced.shapes(np.zeros(0), 1)
    inside = np.clip((first - low) / (high - low), 1e-6, 1 - 1e-6)
    found = least_squares(
        reduced.residual, inside, jac=reduced.jacobian, bounds=(0.0, 1.0), xtol=TOLERANCE, ftol=TOLERANCE,
        gtol=TOLERANCE, max_nfev=MOST_EVALUATIONS, x_scale="jac",
    )  # fmt: skip
    if found.status <= 0 or not np.isfinite(found.x).all():
        raise SolveError(
            f"{what}: no convergence in {found.nfev} evaluations ({found.message}); the data may not determine the "
            "shape; use a simpler law"
        )
    return reduced.shapes(found.x, int(found.nfev))


@dataclass(frozen=True, eq=False)
class _Point:
    """Residual and linear parameters at some shapes: all arrays weighted, joint below joint.

    Attributes
    ----------
    residual : ndarray
        What the best linear parameters leave of the torques.
    basis : ndarray
        Orthonormal, of everything that is linear.
    amplitudes : list of ndarray
        Of each joint's columns.
    slopes : list of ndarray
        Derivatives of each joint's columns.
    """

    residual: Array
    basis: Array
    amplitudes: list[Array]
    slopes: list[Array]


class _Reduced:
    """The residual as a function of the shapes alone, these scaled to 0 ... 1 between their bounds (``unit``)."""

    def __init__(
        self,
        columns: Columns,
        W: Sequence[Array],
        tau: Sequence[Array],
        weights: Array,
        low: Array,
        span: Array,
        edges: NDArray[np.intp],
    ) -> None:
        self._columns, self._W, self._weights = columns, W, weights
        self._low, self._span, self._edges = low, span, edges
        self._target = np.concatenate([w * t for w, t in zip(weights, tau, strict=True)])
        self._scale = float(np.linalg.norm(self._target)) or 1.0
        self._rows = [slice(a, b) for a, b in itertools.pairwise(np.cumsum([0, *(len(t) for t in tau)]))]
        self._last: tuple[bytes, _Point] | None = None

    def residual(self, unit: Array) -> Array:
        """Relative to the size of the torques."""
        return self._at(unit).residual / self._scale

    def jacobian(self, unit: Array) -> Array:
        """Kaufman's: derivatives of the columns alone, less what is linear can follow."""
        at = self._at(unit)
        J = np.zeros((len(self._target), len(self._low)))
        for k, (amplitudes, slopes) in enumerate(zip(at.amplitudes, at.slopes, strict=True)):
            own = slice(self._edges[k], self._edges[k + 1])
            J[self._rows[k], own] = -self._weights[k] * np.einsum("nat,a->nt", slopes, amplitudes)
        J -= at.basis @ (at.basis.T @ J)
        return np.asarray(J * self._span / self._scale)

    def shapes(self, unit: Array, iterations: int) -> Shapes:
        """The result at a point."""
        at = self._at(unit)
        return Shapes(self._theta(unit), at.amplitudes, float(at.residual @ at.residual), iterations)

    def _theta(self, unit: Array) -> list[Array]:
        theta = self._low + self._span * unit
        return [theta[a:b] for a, b in itertools.pairwise(self._edges)]

    def _at(self, unit: Array) -> _Point:
        """The residual and its Jacobian are asked for at the same point, one after the other."""
        key = unit.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._projected(*self._columns(self._theta(unit)))
        return self._last[1]

    def _projected(self, C: list[Array], slopes: list[Array]) -> _Point:
        rank = self._W[0].shape[1]
        widths = np.cumsum([rank, *(c.shape[1] for c in C)])
        X = np.zeros((len(self._target), int(widths[-1])))
        for k, c in enumerate(C):
            X[self._rows[k], :rank] = self._weights[k] * self._W[k]
            X[self._rows[k], widths[k] : widths[k + 1]] = self._weights[k] * c
        lengths = np.linalg.norm(X, axis=0)
        lengths[lengths == 0] = 1.0
        U, s, Vt = np.linalg.svd(X / lengths, full_matrices=False)
        sure = s > 1e-10 * s[0]
        basis = U[:, sure]
        x = (Vt[sure].T / s[sure]) @ (basis.T @ self._target) / lengths
        residual = self._target - basis @ (basis.T @ self._target)
        return _Point(residual, basis, [x[a:b] for a, b in itertools.pairwise(widths)], slopes)
