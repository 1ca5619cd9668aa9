"""How large a residual is, and how little its samples tell apart: for intervals that are not too short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Longest block: 2^LEVELS samples.
LEVELS = 10
#: Blocks (counted over all joints) below which a level says nothing.
ENOUGH = 60
#: Equations that what is usual counts for.
USUAL = 1000.0


@dataclass
class ResidualNoise:
    """Variance of a residual of unit weight, and the variance of its block means against that of independent samples.

    Sums over blocks of 1, 2, 4, ... samples are kept. With independent samples the mean square of a block sum is
    proportional to the block's length; what it is more, ``1 + 2 sum_k rho_k`` for blocks longer than the correlation,
    is how many times larger the variance of an estimate is than independent samples would make it (batch means;
    Flyvbjerg and Petersen 1989). The mean is not taken off: an error that never changes counts as one that never
    averages out.
    """

    joints: int
    _pending: Array = field(init=False, repr=False)
    _waiting: NDArray[np.bool_] = field(init=False, repr=False)
    _squares: Array = field(init=False, repr=False)
    _blocks: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._pending = np.zeros((LEVELS + 1, self.joints))
        self._waiting = np.zeros(LEVELS + 1, dtype=bool)
        self._squares, self._blocks = np.zeros(LEVELS + 1), np.zeros(LEVELS + 1)

    @classmethod
    def of(cls, residuals: Sequence[Array]) -> ResidualNoise:
        """Of whole residuals, weighted, each of shape (N, joints): no block reaches from one into the next."""
        made = cls(residuals[0].shape[1])
        for blocks in residuals:
            for level in range(LEVELS + 1):
                made._squares[level] += float((blocks**2).sum())
                made._blocks[level] += blocks.size
                even = len(blocks) // 2 * 2
                blocks = blocks[:even:2] + blocks[1:even:2]
        return made

    def update(self, residual: Array) -> None:
        """One sample, weighted, shape (joints,)."""
        block = residual
        for level in range(LEVELS + 1):
            self._squares[level] += block @ block
            self._blocks[level] += self.joints
            if not self._waiting[level]:
                self._pending[level], self._waiting[level] = block, True
                return
            block = block + self._pending[level]
            self._waiting[level] = False

    @property
    def variance(self) -> float:
        """Mean square; 1 before any sample."""
        return float(self._squares[0] / self._blocks[0]) if self._blocks[0] else 1.0

    def inflation(self, samples: float = np.inf) -> float:
        """Of the variance of a mean over so many samples, against independent ones; at least 1."""
        sizes = 2.0 ** np.arange(LEVELS + 1)
        known = (self._blocks >= ENOUGH) & (sizes <= max(samples, 1.0))
        if not known.any() or self._squares[0] <= 0.0:
            return 1.0
        return float(max((self._squares[known] / self._blocks[known] / sizes[known]).max() / self.variance, 1.0))

    def variance_with(self, squares: float, equations: float) -> float:
        """Mean square of residuals with that sum of squares; what is usual counts for `USUAL` equations beside them."""
        return (squares + USUAL * self.variance) / (equations + USUAL)
