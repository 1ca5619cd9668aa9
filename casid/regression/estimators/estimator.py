"""What an estimator is: data in, a `Fit` with statistics out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression.compress import CompressedData, compress
from casid.regression.fit import Fit


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


class Estimator(ABC):
    """A way to estimate base parameters; a new one is one file with one subclass."""

    name: str

    @abstractmethod
    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
