"""The contract of an estimator: hyper-parameters in the constructor, data in, a `Fit` with statistics out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError, SolveError
from casid.evidence import Batches
from casid.measurement import Dataset
from casid.regression._compress import CompressedData, compress
from casid.regression._fit import Fit
from casid.regression._statistics import MeasurementNoise


class Observations:
    """A model and the processed recordings that it is fitted to.

    Parameters
    ----------
    model : Model
    datasets : Dataset or sequence of Dataset
    noise : callable, optional
        ``() -> MeasurementNoise`` of the processed recordings, for estimators that weight by it.
    """

    def __init__(
        self,
        model: Model,
        datasets: Dataset | Sequence[Dataset],
        noise: Callable[[], MeasurementNoise] | None = None,
    ) -> None:
        self.model = model
        self.datasets = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
        self._noise = noise
        self._part: CompressedData | None = None
        if not self.datasets:
            raise DatasetError("no recording to estimate from")

    @cached_property
    def compressed(self) -> CompressedData:
        """The R factors, computed once."""
        return compress(self.model, self.datasets) if self._part is None else self._part

    @cached_property
    def noise(self) -> MeasurementNoise:
        """Noise of the processed recordings; DatasetError if none was given."""
        if self._noise is None:
            raise DatasetError(
                "the noise of the recordings is not known; give it to the estimator, e.g. MaximumLikelihood("
                "MeasurementNoise.of(raw, processing))"
            )
        return self._noise()

    def of(self, model: Model) -> Observations:
        """The same recordings with another model."""
        return self if model is self.model else Observations(model, self.datasets, self._noise)

    def only(self, part: CompressedData) -> Observations:
        """The samples of a part of the compressed data alone (`CompressedData.only`); the others are masked."""
        counted = self.rows(part)
        datasets = [
            replace(data, mask=rows[:, None] & data.counted) for data, rows in zip(self.datasets, counted, strict=True)
        ]
        made = Observations(self.model, datasets, self._noise)
        made._part = part
        return made

    @property
    def whole(self) -> bool:
        """Whether no sample is left out (`only`)."""
        return self._part is None

    def rows(self, part: CompressedData | None = None) -> list[NDArray[np.bool_]]:
        """Samples of each recording that belong to a part of the compressed data; default: to these observations."""
        chosen = part or self._part
        if chosen is None:
            return [np.ones(len(data), dtype=bool) for data in self.datasets]
        kept = [np.zeros(len(data), dtype=bool) for data in self.datasets]
        for segment in chosen.segments:
            for recording, first, stop in segment.spans:
                kept[recording][first:stop] = True
        return kept

    def batches(self, size: int) -> Batches:
        """Empty batches for the scores of so many parameters at all samples."""
        correlation = float(np.max(self.compressed.correlation))
        return Batches(sum(len(data) for data in self.datasets), size, correlation)


#: From base parameters to ``A = Z' W`` and ``b = Z' tau`` of the excited ones, and the scores of batches where asked.
Equations = Callable[[Array, bool], tuple[Array, Array, Batches]]


def solved_in_turn(
    data: Observations, start: Fit, equations: Equations, iterations: int, tolerance: float, name: str
) -> Fit:
    """The fit whose estimating equations ``Z' (tau - W beta) = 0`` depend on beta: made and solved in turn.

    It ends where a step s changes the weighted estimate by ``s' A s <= tolerance^2 beta' b``. The covariance is
    ``A^-1 S A^-T`` with the covariance S of the scores: it holds for noise of any colour.

    Parameters
    ----------
    start
        Of least squares: first values, which parameters are excited, and the joints' weights.

    Raises
    ------
    SolveError
        If the equations do not determine the parameters, or the iteration does not converge.
    """
    columns, beta = list(start.excited.independent), np.array(start.beta)
    for _ in range(iterations):
        A, b, _ = equations(beta, False)
        before = beta[columns]
        try:
            beta[columns] = np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            raise SolveError(
                f"{name}: its equations do not determine what least squares finds in the same data; is the simulated "
                "model the one that is fitted (gravity, terms), and does the simulated motion excite it?"
            ) from None
        step = beta[columns] - before
        change = np.sqrt(abs(float(step @ A @ step)) / max(abs(float(beta[columns] @ b)), 1e-300))
        if change <= tolerance:
            break
    else:
        raise SolveError(
            f"{name}: the estimate still changes by {100 * change:.2g} % of the torques after {iterations} iterations; "
            "is the model right, and that of the controller?"
        )
    A, _, batches = equations(beta, True)
    inverse = np.linalg.inv(A)
    covariance = inverse @ batches.covariance() @ inverse.T
    for array in (beta, covariance):
        array.setflags(write=False)
    scale = np.sqrt(np.abs(np.diagonal(A)))
    condition = float(np.linalg.cond(A / np.outer(scale, scale)))
    return Fit(data.compressed, beta, start.weights, start.excited, covariance, condition, name, True)


class Estimator(ABC):
    """A way to estimate base parameters; a new one is one subclass and one line of `ESTIMATORS`.

    Hyper-parameters belong to the constructor, so that one object fits any data, the whole or a part.
    """

    name: str

    @abstractmethod
    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """The estimate from a part of the data, for held-out errors.

        Parameters
        ----------
        part
            Some segments of ``whole.data`` (`CompressedData.only`).
        whole
            This estimator's fit of all data; an estimator may keep what it settled there, such as sample weights.
        data
            The observations of ``whole``.
        """
        return self.fit(data.only(part))
