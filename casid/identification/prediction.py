"""Torques of a recording, predicted by Newton-Euler and compared with what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._observation import torques

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of a recording, measured and predicted by Newton-Euler.

    Attributes
    ----------
    dataset : Dataset
        Processed.
    predicted : ndarray, shape (N, n)
        [N.m]
    """

    dataset: Dataset
    predicted: Array

    @property
    def residual(self) -> Array:
        """Measured (filtered) minus predicted torque, shape (N, n) [N.m]; zero where the mask leaves it out."""
        difference = self.dataset.tau - self.predicted
        return np.asarray(difference if self.dataset.mask is None else np.where(self.dataset.mask, difference, 0.0))

    @cached_property
    def rms(self) -> Array:
        """Root mean square residual of each joint [N.m]."""
        return np.asarray(np.sqrt(self.mse))

    @cached_property
    def mse(self) -> Array:
        """Mean square residual of each joint [(N.m)^2]."""
        count = len(self.dataset) if self.dataset.mask is None else np.maximum(self.dataset.mask.sum(axis=0), 1)
        return np.asarray((self.residual**2).sum(axis=0) / count)

    @cached_property
    def relative_errors(self) -> Array:
        """``100 ||residual|| / ||torque||`` of each joint [%]."""
        size = np.linalg.norm(self._counted, axis=0)
        left = np.linalg.norm(self.residual, axis=0)
        return np.asarray(100.0 * np.divide(left, size, out=np.zeros_like(left), where=size > 0))

    @property
    def relative_error(self) -> float:
        """The same over all joints [%]."""
        return 100.0 * float(np.linalg.norm(self.residual) / max(np.linalg.norm(self._counted), np.finfo(float).tiny))

    @property
    def _counted(self) -> Array:
        return self.dataset.tau if self.dataset.mask is None else np.where(self.dataset.mask, self.dataset.tau, 0.0)


def predict(model: Model, parameters: ArrayLike, dataset: Dataset) -> Prediction:
    """Torques of a processed recording by Newton-Euler, filtered as its torques were.

    Raises
    ------
    DatasetError
        If the recording has another number of joints, no velocities or accelerations, or parameters are missing.
    """
    pi = np.asarray(parameters, dtype=float)
    if pi.shape != (len(model.parameter_names),):
        raise DatasetError(f"expected {len(model.parameter_names)} parameters, got shape {pi.shape}")
    if dataset.n != model.n or dataset.dq is None or dataset.ddq is None:
        raise DatasetError(f"{dataset.name}: a processed recording of {model.n} joints is needed")
    return Prediction(dataset, torques(model, pi, dataset))
