"""A least-squares estimate of base parameters, with the statistics that tell how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import BaseParameters
from casid.errors import DatasetError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Base parameters estimated from data.

    Attributes
    ----------
    base : BaseParameters
        Which combinations the data determine: names, groupings, K.
    values : ndarray, shape (rank,)
        Estimated base parameters.
    sd : ndarray, shape (rank,)
        Standard deviations, in the units of the values.
    condition_number : float
        2-norm condition number of the observation matrix of the base parameters.
    relative_error : float
        ``100 ||y - W beta|| / ||y||`` [%] (Sousa 2014, eq. 4.37).
    samples : int
        Number of scalar equations.
    """

    base: BaseParameters
    values: Array
    sd: Array
    condition_number: float
    relative_error: float
    samples: int

    @property
    def rank(self) -> int:
        """Number of parameters the data determine."""
        return self.base.rank

    @property
    def relative_sd(self) -> Array:
        """Standard deviations in percent of the values, ``100 sd / |beta|``; infinite for a value of exactly zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            percent = 100.0 * self.sd / np.abs(self.values)
        return np.where(self.values == 0.0, np.inf, percent)

    def reliable(self, threshold: float = 30.0) -> NDArray[np.bool_]:
        """Which values have a relative standard deviation of at most ``threshold`` % (Gaz et al. 2019, Sec. VI)."""
        return np.asarray(self.relative_sd <= threshold)


def ordinary_least_squares(W: ArrayLike, y: ArrayLike, base: BaseParameters) -> Estimate:
    """Ordinary least squares of ``y = W_b beta`` with its classical statistics.

    With residual variance ``s^2 = ||y - W_b beta||^2 / (rows - rank)``, the covariance is ``s^2 (W_b' W_b)^-1``
    (Gaz et al. 2019, eq. 21; Sousa 2014, Sec. 2.7).

    Parameters
    ----------
    W
        Observation matrix of all parameters, shape (rows, N); its independent columns are used.
    y
        Measurements, shape (rows,).
    base
        The base parameters of these columns.

    Raises
    ------
    DatasetError
        If the shapes do not fit, an entry is not finite, or there are no more equations than unknowns.
    """
    W_b = np.asarray(W, dtype=float)[:, list(base.independent)]
    y = np.asarray(y, dtype=float)
    rows, rank = W_b.shape
    if y.shape != (rows,):
        raise DatasetError(f"measurements: expected shape ({rows},), got {y.shape}")
    if not np.isfinite(y).all():
        raise DatasetError(f"measurements: entry {np.flatnonzero(~np.isfinite(y))[0]} is not a finite number")
    if rows <= rank:
        raise DatasetError(f"{rows} equations are too few for {rank} unknowns and their statistics: record more")
    values, sd, condition_number, error = solved(W_b, y, rows)
    return Estimate(base, values, sd, condition_number, error, rows)


def solved(W: Array, y: Array, equations: int, rest: float = 0.0) -> tuple[Array, Array, float, float]:
    """Least squares of ``y = W beta``: values, standard deviations, condition number and relative error [%].

    Parameters
    ----------
    W, y
        Rows, shapes (rows, rank) and (rows,); or triangular factors that stand for more.
    equations
        How many equations the rows stand for.
    rest
        Sum of squares of those equations that no beta changes.
    """
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    values = Vt.T @ (U.T @ y / s)
    residual = y - W @ values
    squares = float(residual @ residual) + rest
    sd = np.sqrt(squares / (equations - len(values)) * ((Vt.T / s) ** 2).sum(axis=1))
    length = float(np.sqrt(y @ y + rest))
    error = 100.0 * float(np.sqrt(squares)) / length if length > 0 else 0.0
    return values, sd, float(s[0] / s[-1]), error
