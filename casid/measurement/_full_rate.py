"""What a processed recording was made from: the motion at the full rate, and the filter of its torques."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError
from casid.measurement._low_pass import LowPass

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FullRate:
    """Motion at the full rate, and which of its samples a `Dataset` keeps.

    A filtered torque belongs to *filtered* columns of the regressor: ``sign(dq)`` jumps where a filtered torque cannot.
    With this the columns are computed at the full rate and go through the torques' filter before samples are taken.

    Attributes
    ----------
    q, dq, ddq, tau : ndarray, shape (M, n)
        At the full rate; the torques as measured.
    low_pass : LowPass
        What the torques went through.
    index : ndarray of int, shape (N,)
        Where the dataset's samples stand.
    """

    q: Array
    dq: Array
    ddq: Array
    tau: Array
    low_pass: LowPass
    index: NDArray[np.intp]

    def __post_init__(self) -> None:
        for name in ("q", "dq", "ddq", "tau", "index"):
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        """Number of samples at the full rate."""
        return len(self.q)

    def rows(self, which: slice | ArrayLike) -> FullRate:
        """The same motion with fewer samples kept."""
        return replace(self, index=np.array(self.index[which if isinstance(which, slice) else np.asarray(which)]))

    @property
    def every(self) -> float:
        """Full-rate samples from one kept sample to the next, typically."""
        return float(np.median(np.diff(self.index))) if len(self.index) > 1 else 1.0

    @property
    def correlation(self) -> float:
        """Kept samples over those that count as independent, with white noise before the filter; at least 1."""
        return max(1.0, 1.0 / (self.every * self.low_pass.noise_gain))

    def check(self, name: str, q: Array, dq: Array | None, ddq: Array | None) -> None:
        """Refuse a dataset whose motion was replaced after processing.

        Raises
        ------
        DatasetError
            If its motion is not the one at the kept samples.
        """
        pairs = ((self.q, q), (self.dq, dq), (self.ddq, ddq))
        if not all(theirs is not None and np.array_equal(mine[self.index], theirs) for mine, theirs in pairs):
            raise DatasetError(
                f"{name}: the motion was replaced after processing, but the columns of the regressor are filtered at "
                "the full rate; change the raw recording, or give up the filter with replace(dataset, full=None)"
            )
