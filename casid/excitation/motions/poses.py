"""Sequences of static poses, for regressors that need no motion (Gaz et al. 2019, Sec. IV-A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import ProblemError
from casid.excitation.motions.basis import MOST, Array, Basis, check_order
from casid.files._table import Table


@dataclass(frozen=True)
class Poses(Basis):
    """``count`` poses, held one after the other: "instant" k is pose k, and every velocity is zero.

    Attributes
    ----------
    count : int
    """

    kind = "poses"
    keys = ("count",)

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ProblemError(f"poses: at least one pose is needed, got {self.count}")

    @property
    def size(self) -> int:
        """Number of coefficients of one joint: its position in every pose."""
        return self.count

    @property
    def span(self) -> tuple[float, float]:
        """Numbers of the first and last pose."""
        return 0.0, float(self.count - 1)

    @property
    def static(self) -> bool:
        """Return True."""
        return True

    @property
    def labels(self) -> tuple[str, ...]:
        """``pose_1 pose_2 ...``."""
        return tuple(f"pose_{k + 1}" for k in range(self.count))

    def samples(self, count: int) -> Array:
        """Return the numbers of all poses, whatever ``count``."""
        return np.arange(float(self.count))

    def grid(self, count: int) -> Array:
        """Return the numbers of all poses: nothing lies between them."""
        return self.samples(count)

    def extremes(self, coefficients: Array, order: int, tolerance: float = 1e-7) -> tuple[float, float]:
        """Smallest and largest position; zero for derivatives."""
        x = np.asarray(coefficients, dtype=float)
        return (float(x.min()), float(x.max())) if order == 0 else (0.0, 0.0)

    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """Return the identity's rows for position, zero for derivatives, shape (len(t), count)."""
        check_order(order, 99)
        rows = np.clip(np.rint(np.atleast_1d(np.asarray(t, dtype=float))).astype(int), 0, self.count - 1)
        return np.eye(self.count)[rows] if order == 0 else np.zeros((len(rows), self.count))

    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """Largest absolute position; zero for derivatives."""
        X = np.abs(np.asarray(coefficients, dtype=float))
        return np.asarray(X.max(axis=1)) if order == 0 else np.zeros(len(X))

    def constant(self, value: float) -> Array:
        """Every pose at ``value``."""
        return np.full(self.count, float(value))

    def random(self, rng: np.random.Generator) -> Array:
        """Return uniform positions about 0."""
        return rng.uniform(-1.0, 1.0, self.count)

    def record(self) -> dict[str, Any]:
        """Kind and number of poses."""
        return {"kind": self.kind, "count": self.count}

    @classmethod
    def from_table(cls, table: Table) -> Poses:
        """See `Basis.from_table`."""
        return cls(table.integer("count", upper=MOST))
