"""Rows of a regression: columns of the regressor at the samples of recordings, in bounded memory; their R factors.

A filtered torque is ``F tau = F (Y pi) = (F Y) pi``: every column has to pass the torques' filter F, at the full rate
and before samples are taken (Gautier 1997, parallel filtering and decimation). The columns are computed in blocks that
overlap by the filter's memory, so that a block's inner part is what filtering all at once would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, FullRate

#: Samples of a block; at least so many times the filter's memory.
BLOCK, OVERLAPS = 4096, 3
#: Samples times instructions from which a function that contains fitted numbers, whose compiled code is not reused, is
#: compiled: about a second of CasADi's own evaluation.
WORTH_COMPILING_ONCE = 4e8

#: From the motion (a `Dataset`, or its `FullRate`) and a range of its samples to values, shape (samples, ...).
Evaluate = Callable[[slice], Array]


def filtered_blocks(dataset: Dataset, evaluate: Evaluate, block: int = BLOCK) -> Iterator[tuple[int, Array]]:
    """Values at the samples of a dataset, through the torques' filter, block by block.

    Parameters
    ----------
    dataset
        Processed; without `Dataset.full` nothing is filtered.
    evaluate
        Values of a range of samples, of ``dataset.full`` where it is given, otherwise of the dataset.

    Yields
    ------
    first : int
        Index of the block's first sample in the dataset.
    values : ndarray, shape (samples, ...)
    """
    full = dataset.full
    if full is None:
        for first in range(0, len(dataset), block):
            yield first, evaluate(slice(first, min(first + block, len(dataset))))
        return
    full.check(dataset.name, dataset.q, dataset.dq, dataset.ddq)
    memory, total = full.low_pass.memory, len(full)
    size = max(block, OVERLAPS * memory)
    order = np.argsort(full.index, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        raise DatasetError(f"{dataset.name}: samples must be in order of time")
    for start in range(0, total, size):
        stop = min(start + size, total)
        first, last = np.searchsorted(full.index, (start, stop))
        if first == last:
            continue
        low, high = max(0, start - memory), min(total, stop + memory)
        values = evaluate(slice(low, high))
        filtered = full.low_pass.part(values, low == 0, high == total)
        yield int(first), np.ascontiguousarray(filtered[full.index[first:last] - low])


def motion(dataset: Dataset) -> Dataset | FullRate:
    """Where the samples are that columns are computed from."""
    return dataset if dataset.full is None else dataset.full


def observation_blocks(model: Model, dataset: Dataset) -> Iterator[tuple[int, Array]]:
    """The model's base regressor at the samples of a recording, filtered like its torques.

    Yields
    ------
    first : int
    values : ndarray, shape (samples, n, rank)
    """
    if dataset.full is None:
        function = model.base_regressor
        arrays, compiled = inputs(model, dataset), _compiled(model, function, len(dataset))
        for first in range(0, len(dataset), CHUNK):
            yield first, function(*(a[first : first + CHUNK] for a in arrays), compiled=compiled)
        return
    evaluate, unpacked = _packed(model, dataset)
    for first, packed in filtered_blocks(dataset, evaluate):
        yield first, unpacked(packed)


def _packed(model: Model, dataset: Dataset) -> tuple[Evaluate, Callable[[Array], Array]]:
    """The base regressor at the full rate without the entries that are zero always, and how to put these back."""
    arrays, function = inputs(model, dataset), model.base_regressor
    places = np.flatnonzero(pattern(function).ravel())  # most entries are zero always: only the others are filtered
    count = len(motion(dataset))
    compiled = _compiled(model, function, count)
    shape = function.size_out(0)

    def evaluate(part: slice) -> Array:
        values: Array = function(*(a[part] for a in arrays), compiled=compiled)
        return values.reshape(len(values), -1)[:, places]

    def unpacked(packed: Array) -> Array:
        block = np.zeros((len(packed), shape[0] * shape[1]))
        block[:, places] = packed
        return block.reshape(len(packed), *shape)

    return evaluate, unpacked


class FullRateColumns:
    """The base regressor at the full rate of a recording, evaluated once for any filter of the torques.

    Parameters
    ----------
    model
    dataset
        Processed, with `Dataset.full`.
    """

    def __init__(self, model: Model, dataset: Dataset) -> None:
        evaluate, self._unpacked = _packed(model, dataset)
        self._values = evaluate(slice(0, len(motion(dataset))))

    def of(self, dataset: Dataset) -> Array:
        """At the samples of the same motion with another filter of the torques, shape (samples, n, rank)."""
        assert dataset.full is not None
        return self._unpacked(dataset.full.low_pass(self._values)[dataset.full.index])


def torques(model: Model, parameters: Array, dataset: Dataset) -> Array:
    """Inverse dynamics at the samples of a recording, filtered like its torques, shape (N, n) [N.m].

    Parameters
    ----------
    model
    parameters
        ``pi``, in the order of ``model.parameter_names``.
    dataset
        Processed.
    """
    function = model.inverse_dynamics
    source = motion(dataset)
    arrays = [*inputs(model, dataset)[:3]]
    extras = [_extra(model, name, dataset) for name in function.name_in()[4:]]
    compiled = _compiled(model, function, len(source))

    def evaluate(part: slice) -> Array:
        given = (*(a[part] for a in arrays), parameters, *(a[part] for a in extras))
        return np.asarray(function(*given, compiled=compiled))

    return np.concatenate([block for _, block in filtered_blocks(dataset, evaluate)])


def inputs(model: Model, data: Dataset) -> list[Array]:
    """Arrays of a processed recording for the model's base regressor, at the full rate where columns are filtered."""
    if data.n != model.n:
        raise DatasetError(f"{data.name} has {data.n} joints, the model has {model.n}")
    if data.dq is None or data.ddq is None:
        raise DatasetError(f"{data.name} has no velocities or accelerations; process it first (Processing().apply)")
    source = motion(data)
    assert source.dq is not None and source.ddq is not None
    extras = [_extra(model, name, data) for name in model.base_regressor.name_in()[3:]]
    return [source.q, source.dq, source.ddq, *extras]


def _extra(model: Model, name: str, data: Dataset) -> Array:
    """An input of the model beside the motion, at the samples its columns are computed at, shape (samples, size)."""
    source = motion(data)
    if name == "signal":
        return source.tau
    if name == "memory":
        period = sampling_period(data)
        return np.concatenate([kept.states(source.q[:, k], period) for k, kept in model.memories], axis=1)
    raise DatasetError(f"the model's regressor has an input '{name}', which recordings do not have")


def sampling_period(data: Dataset) -> float:
    """From one sample to the next where columns are computed [s]."""
    return data.period if data.full is None else 1.0 / data.full.low_pass.rate


def pattern(function: ca.Function) -> NDArray[np.bool_]:
    """Which entries of a function's first output are not zero always, shape (rows, columns)."""
    symbols = function.sx_in()
    sparse = ca.Function("sparse", symbols, [ca.sparsify(value) for value in function.call(symbols)])
    return np.array(ca.DM(sparse.sparsity_out(0), 1.0).full() != 0.0)


def lengths(squares: Array) -> Array:
    """Lengths of columns by which they are divided, from their sums of squares; 1 for columns of zeros."""
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0)))


def _compiled(model: Model, function: ca.Function, count: int) -> bool | None:
    """Compiled where that pays; never for shapes fitted to data, whose code is not used again, evaluated too seldom."""
    fitted = any(term.fitted for term in model.terms)
    return False if fitted and count * function.n_instructions() < WORTH_COMPILING_ONCE else None


#: Samples that are held at a time: some megabytes; no result depends on it but for rounding.
CHUNK = 2048
#: Segments of equal length that each recording is cut into; up to twice as many are kept, then neighbours are joined.
SEGMENTS = 12
#: Ridge on the Gram matrix of equilibrated columns: what the data do not determine stays small. A hundred times more
#: moves the delay of the WAM's torques by 3 us.
RIDGE = 1e-11


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


def together(segments: Sequence[Segment]) -> Segment:
    """Several segments as one."""
    factors = tuple(joined(own) for own in zip(*(one.factors for one in segments), strict=True))
    return Segment(factors, np.sum([one.counts for one in segments], axis=0), sum((one.spans for one in segments), ()))


class SegmentedFactors:
    """R factors of each joint, of consecutive segments of recordings.

    Parameters
    ----------
    used : sequence of ndarray
        Columns that act on each joint.
    rank : int
        Number of all columns; behind them stand the torque and the raw torque.
    """

    def __init__(self, used: Sequence[NDArray[np.intp]], rank: int) -> None:
        self._places, self._columns = [np.append(columns, [rank, rank + 1]) for columns in used], rank + 2
        self._factors = [np.zeros((0, len(place))) for place in self._places]
        self._counts = np.zeros(len(used), dtype=np.int64)
        self._done: list[Segment] = []
        self._edges: NDArray[np.intp]
        self._current: int
        self._recording = -1

    def begin(self, counting: NDArray[np.bool_], segments: int) -> None:
        """A recording follows, to be cut into so many segments with as many samples that count, shape (N,)."""
        self._close()
        self._recording += 1
        before = np.concatenate([[0], np.cumsum(counting)])
        count = max(1, min(segments, int(before[-1]) // 10))
        self._edges = np.searchsorted(before, np.linspace(0, before[-1], count + 1).astype(int))
        self._edges[[0, -1]] = 0, len(counting)
        self._current = 0

    def add(self, data: Dataset, first: int, block: Array, share: Array | None) -> None:
        """Rows of a block from sample ``first`` on, and a factor of each sample and joint."""
        raw = data.tau if data.tau_raw is None else data.tau_raw
        start, stop = first, first + len(block)
        while start < stop:
            while start >= self._edges[self._current + 1]:
                self._close()
                self._current += 1
            end = min(stop, int(self._edges[self._current + 1]))
            rows, inside = slice(start, end), block[start - first : end - first]
            for k, place in enumerate(self._places):
                keep = data.counted[rows, k]
                made = np.column_stack([inside[:, k, place[:-2]], data.tau[rows, k], raw[rows, k]])[keep]
                if share is not None:
                    made *= share[rows, k][keep, None]
                if len(made):
                    self._factors[k] = joined([self._factors[k], made])
                self._counts[k] += len(made)
            start = end

    def _close(self) -> None:
        if not self._counts.any():
            return
        full = []
        for k, (factor, place) in enumerate(zip(self._factors, self._places, strict=True)):
            R = np.zeros((self._columns, self._columns))
            R[: len(factor), place] = factor
            full.append(R)
            self._factors[k] = factor[:0]
        span = (self._recording, int(self._edges[self._current]), int(self._edges[self._current + 1]))
        self._done.append(Segment(tuple(full), self._counts, (span,)))
        self._counts = np.zeros(len(self._factors), dtype=np.int64)
        if len(self._done) > 2 * SEGMENTS:
            self._done = [together(self._done[i : i + 2]) for i in range(0, len(self._done), 2)]

    def finish(self) -> tuple[Segment, ...]:
        """The segments that hold samples."""
        self._close()
        return tuple(self._done)


def one_thread() -> AbstractContextManager[object]:
    """A context in which BLAS and LAPACK use one thread.

    Threads that wait for one another cost an identification four times its work on two cores: its matrices have some
    hundred rows and columns. Without the package threadpoolctl nothing is limited.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limited: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limited
