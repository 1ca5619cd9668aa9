"""What links and joint terms look like before any data: where the divergence is measured from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.plausible import plausible_bodies
from casid.inertia import pseudo_inertia

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plausible:
    """What links and terms look like before any data.

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

    @classmethod
    def of(cls, model: Model, nominal: bool = True, term: float = 1.0) -> Plausible:
        """Bodies of the description, or boxes around the skeleton where it has none (`plausible_bodies`).

        Parameters
        ----------
        model
            Links and joint terms.
        nominal
            Whether inertial values of the description may be used.
        term
            Size of the joint terms [their units].
        """
        bodies = plausible_bodies(model.robot, nominal).parameters.reshape(-1, 10)
        positive = sum(kind.nonnegative for kind, _ in model.term_columns.values())
        return cls(bodies, np.full(positive, term), np.full(len(model.term_columns) - positive, term))

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
