"""What an estimator is: data in, a `Fit` with statistics out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset
from casid.regression.batches import Batches
from casid.regression.compress import CompressedData, compress
from casid.regression.fit import Fit

Array = NDArray[np.float64]


def solved(A: Array, b: Array, name: str) -> Array:
    """``A^-1 b`` of estimating equations; SolveError if they do not determine the parameters."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        raise SolveError(
            f"{name}: its equations do not determine what least squares finds in the same data; is the simulated model "
            "the one that is fitted (gravity, terms), and does the simulated motion excite it?"
        ) from None


class Observations:
    """A model and the processed recordings that it shall explain.

    Parameters
    ----------
    model : Model
    datasets : Dataset or sequence of Dataset
    """

    def __init__(self, model: Model, datasets: Dataset | Sequence[Dataset]) -> None:
        self.model = model
        self.datasets = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
        if not self.datasets:
            raise DatasetError("no recording to estimate from")

    @cached_property
    def compressed(self) -> CompressedData:
        """The R factors, computed once."""
        return compress(self.model, self.datasets)

    def batches(self, size: int) -> Batches:
        """Empty batches for the scores of so many parameters at all samples."""
        correlation = float(np.max(self.compressed.correlation, initial=1.0))
        return Batches(sum(len(data) for data in self.datasets), size, correlation)


def fit_from_scores(data: Observations, start: Fit, beta: Array, A: Array, batches: Batches, name: str) -> Fit:
    """The fit of estimating equations ``Z' (tau - W beta) = 0`` that have been solved.

    Its covariance is ``A^-1 S A^-T`` with ``A = Z' W`` and the covariance S of the scores: it holds for noise of any
    colour.

    Parameters
    ----------
    start
        Of least squares: which parameters are excited, and the joints' weights.
    beta
        Base parameters, shape (rank,).
    A
        Of the excited ones.
    batches
        Scores at the solution.
    """
    inverse = np.linalg.inv(A)
    covariance = inverse @ batches.covariance() @ inverse.T
    for array in (beta, covariance):
        array.setflags(write=False)
    scale = np.sqrt(np.abs(np.diagonal(A)))
    condition = float(np.linalg.cond(A / np.outer(scale, scale)))
    return Fit(data.compressed, beta, start.weights, start.excited, covariance, condition, name, True)


class Estimator(ABC):
    """A way to estimate base parameters; a new one is one file with one subclass."""

    name: str

    @abstractmethod
    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
