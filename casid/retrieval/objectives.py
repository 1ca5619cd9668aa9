"""What a retrieval minimises: a sum of squares that is linear inside, ``||R x - r||^2 + constant``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError, ProblemError
from casid.retrieval.variables import LinkVariables


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """``||matrix x - target||^2 + constant``; the number of rows never exceeds that of the unknowns.

    Attributes
    ----------
    matrix : ndarray, shape (p, N)
        R.
    target : ndarray, shape (p,)
        r.
    constant : float
        The part of the sum of squares that no x can change.
    """

    matrix: NDArray[np.float64]
    target: NDArray[np.float64]
    constant: float = 0.0

    def __post_init__(self) -> None:
        for name in ("matrix", "target"):
            array = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(array).all():
                place = np.argwhere(~np.isfinite(array))[0].tolist()
                raise DatasetError(f"objective: {name} has a NaN or infinite entry at {place}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.matrix.ndim != 2 or self.target.shape != self.matrix.shape[:1]:
            raise DatasetError(
                f"objective: expected a matrix (p, N) and a target (p,), got {self.matrix.shape} and "
                f"{self.target.shape}"
            )

    @classmethod
    def compressed(cls, matrix: ArrayLike, target: ArrayLike) -> LeastSquares:
        """The same sum of squares with at most N rows: the R factor of ``[matrix, target]``."""
        matrix, target = np.asarray(matrix, dtype=float), np.asarray(target, dtype=float)
        raw = cls(matrix, target)
        if raw.matrix.shape[0] <= raw.matrix.shape[1]:
            return raw
        size = raw.matrix.shape[1]
        factor: NDArray[np.float64] = np.asarray(np.linalg.qr(np.column_stack([raw.matrix, raw.target]), mode="r"))
        constant = float(factor[size, size] ** 2) if factor.shape[0] > size else 0.0
        return cls(factor[:size, :size], factor[:size, size], constant)

    def __call__(self, x: ArrayLike) -> float:
        """Value at x, shape (N,)."""
        residual = self.matrix @ np.asarray(x, dtype=float) - self.target
        return float(residual @ residual + self.constant)

    @property
    def size(self) -> float:
        """Value at x = 0 (1 if that is zero): what a fit is good or bad in comparison with, for the solver's scale."""
        return float(self.target @ self.target) + self.constant or 1.0

    def negligible(self, x: ArrayLike) -> float:
        """Sum of squares that is as good as none at x: residuals of 1e-10 of the terms they are the difference of.

        Row by row, ``sum_i (1e-10 (|R_i| |x| + |r_i|))^2``, plus the rounding of the constant.
        """
        terms = np.abs(self.matrix) @ np.abs(np.asarray(x, dtype=float)) + np.abs(self.target)
        return float(1e-20 * (terms @ terms) + 4 * np.finfo(float).eps * abs(self.constant)) or 1e-300

    def gradient(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient at x, shape (N,)."""
        return np.asarray(2.0 * self.matrix.T @ (self.matrix @ x - self.target))


def base_parameter_error(
    variables: LinkVariables, forms: ArrayLike, values: ArrayLike, sd: ArrayLike | None = None
) -> LeastSquares:
    """``||K x - beta||^2``: distance of the base parameters of x from identified ones (Gaz et al. 2019, eq. 29).

    Parameters
    ----------
    variables
        Of the problem.
    forms
        K, shape (b, N) or (b, 10 n): base parameters as linear forms of the unknowns.
    values
        Identified base parameters beta, shape (b,).
    sd
        Standard deviations, shape (b,), in the units of ``values``; each deviation is then divided by its own.
        Default: all count the same, as in the paper.

    Raises
    ------
    DatasetError
        For wrong shapes, NaN, or standard deviations that are not positive.
    """
    forms, values = np.asarray(forms, dtype=float), np.asarray(values, dtype=float)
    standard = variables.standard_size
    if forms.ndim != 2 or forms.shape[1] not in (standard, variables.size):
        raise DatasetError(f"forms: expected shape (b, {variables.size}), got {forms.shape}")
    if values.shape != forms.shape[:1]:
        raise DatasetError(f"values: expected shape ({forms.shape[0]},), one a form, got {values.shape}")
    matrix = np.zeros((forms.shape[0], variables.size))
    matrix[:, : forms.shape[1]] = forms
    if sd is not None:
        sd = np.asarray(sd, dtype=float)
        if sd.shape != values.shape or not (sd > 0).all():
            raise DatasetError(f"sd: expected {values.size} positive numbers, got shape {sd.shape}")
        matrix, values = matrix / sd[:, None], values / sd
    return LeastSquares.compressed(matrix, values)


def least_squares(variables: LinkVariables, matrix: ArrayLike, target: ArrayLike) -> LeastSquares:
    """``||W x - tau||^2`` of a constrained regression; only the R factor of the data is kept.

    Parameters
    ----------
    variables
        Of the problem.
    matrix, target
        Observation matrix W, shape (samples, N), and measured torques tau, shape (samples,).
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != variables.size:
        raise ProblemError(f"the observation matrix must have {variables.size} columns, got shape {matrix.shape}")
    return LeastSquares.compressed(matrix, target)
