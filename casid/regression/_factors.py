"""R factors of rows that arrive in blocks, segment by segment of a motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

#: Rows stacked before a factor is updated.
CHUNK = 2048
#: Most segments that are kept; neighbours are joined when there are more.
MOST_SEGMENTS = 24


@dataclass(frozen=True, eq=False)
class Segment:
    """One stretch of the motion.

    Attributes
    ----------
    factors : tuple of ndarray
        R factor of each joint's rows.
    counts : ndarray of int, shape (n,)
        Samples of each joint.
    spans : tuple of (int, int, int)
        Recording (in order, from 0), first sample and the one behind the last.
    """

    factors: tuple[Array, ...]
    counts: NDArray[np.int64]
    spans: tuple[tuple[int, int, int], ...] = ()


def joined(factors: Sequence[Array]) -> Array:
    """R factor of rows whose own R factors these are, square and upper triangular."""
    if len(factors) == 1:
        return factors[0]
    stack = np.vstack(factors)
    R = np.zeros((stack.shape[1], stack.shape[1]))
    made = np.linalg.qr(stack, mode="r")
    R[: len(made)] = made
    return R


def counted(counts: Sequence[NDArray[np.int64]], joints: int) -> NDArray[np.int64]:
    """Sum of the numbers of samples, shape (joints,)."""
    total = np.zeros(joints, dtype=np.int64)
    for count in counts:
        total += count
    return total


class SegmentedFactors:
    """R factors of each joint, of consecutive segments of recordings.

    Parameters
    ----------
    places : sequence of ndarray
        Where each joint's columns stand among all; the last two are the torque and the raw torque.
    columns : int
        Number of all columns.
    """

    def __init__(self, places: Sequence[NDArray[np.intp]], columns: int) -> None:
        self._places, self._columns = places, columns
        self._factors = [_Factor(len(place)) for place in places]
        self._counts = np.zeros(len(places), dtype=np.int64)
        self._done: list[Segment] = []
        self._edges = np.zeros(2, dtype=int)
        self._current = 0
        self._recording = -1

    def begin(self, samples: int, segments: int) -> None:
        """A recording of so many samples follows, to be cut into so many segments."""
        self._close()
        self._recording += 1
        count = max(1, min(segments, samples // 10))
        self._edges = np.linspace(0, samples, count + 1).astype(int)
        self._current = 0

    def segments_of(self, first: int, count: int) -> Iterator[tuple[slice, slice]]:
        """Parts of a block that lie in one segment: as rows of the recording and of the block."""
        start, stop = first, first + count
        while start < stop:
            while start >= self._edges[self._current + 1]:
                self._close()
                self._current += 1
            end = min(stop, int(self._edges[self._current + 1]))
            yield slice(start, end), slice(start - first, end - first)
            start = end

    def add(
        self, k: int, block: Array, columns: NDArray[np.intp], tau: Array, raw: Array, factor: Array | None
    ) -> None:
        """Rows of joint k of the present segment: columns of a block, torques, and a factor of each row."""
        self._counts[k] += self._factors[k].add(block, columns, tau, raw, factor)

    def _close(self) -> None:
        if not self._counts.any():
            return
        full = []
        for factor, place in zip(self._factors, self._places, strict=True):
            R = np.zeros((self._columns, self._columns))
            R[: len(place), place] = factor.take()
            full.append(R)
        span = (self._recording, int(self._edges[self._current]), int(self._edges[self._current + 1]))
        self._done.append(Segment(tuple(full), self._counts, (span,)))
        self._counts = np.zeros(len(self._factors), dtype=np.int64)
        if len(self._done) > MOST_SEGMENTS:
            pairs = [self._done[i : i + 2] for i in range(0, len(self._done), 2)]
            self._done = [
                Segment(
                    tuple(joined([s.factors[k] for s in pair]) for k in range(len(self._factors))),
                    counted([s.counts for s in pair], len(self._factors)),
                    tuple(span for s in pair for span in s.spans),
                )
                for pair in pairs
            ]

    def finish(self) -> tuple[Segment, ...]:
        """The segments that hold samples."""
        self._close()
        return tuple(self._done)


class _Factor:
    """R factor of rows that arrive in blocks."""

    def __init__(self, columns: int) -> None:
        self._work = np.zeros((columns + CHUNK, columns), order="F")
        self._columns = columns
        self._filled = 0  # the first rows hold the factor so far

    def add(self, block: Array, columns: NDArray[np.intp], tau: Array, raw: Array, factor: Array | None) -> int:
        for first in range(0, len(block), CHUNK):
            part = slice(first, first + CHUNK)
            count = len(tau[part])
            if self._filled + count > len(self._work):
                self._reduce()
            rows = slice(self._filled, self._filled + count)
            self._work[rows, :-2] = block[part][:, columns]
            self._work[rows, -2] = tau[part]
            self._work[rows, -1] = raw[part]
            if factor is not None:
                self._work[rows] *= factor[part, None]
            self._filled += count
        return len(block)

    def _reduce(self) -> None:
        if self._filled < self._columns:
            self._work[self._filled : self._columns] = 0.0
            self._filled = self._columns
        used = self._work[: self._filled]
        used[:, :] = lapack.dgeqrf(used, lwork=64 * self._columns)[0]
        lower = np.tril_indices(self._columns, -1)
        used[: self._columns][lower] = 0.0
        self._filled = self._columns

    def take(self) -> Array:
        """The factor; a new one begins."""
        self._reduce()
        R = np.array(self._work[: self._columns])
        self._filled = 0
        return R
