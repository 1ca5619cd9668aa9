"""Rows of a regression, and any number of them compressed to small triangular factors, in one pass and bounded memory.

A filtered torque is ``F tau = F (Y pi) = (F Y) pi``: every column has to pass the torques' filter F, at the full rate
and before samples are taken (Gautier 1997, parallel filtering and decimation). The columns are computed in blocks that
overlap by the filter's memory, so that a block's inner part is what filtering all at once would give.

The rows of joint j in the stacked system ``tau = W_b beta`` enter only through the R factor of ``[W_bj, tau_j,
tau_raw_j]`` (Sousa 2014, eq. 3.45-3.52, joint by joint). For any weights w_j of the joints and any beta,

    sum_j w_j^2 ||tau_j - W_bj beta||^2 = sum_j w_j^2 ||R_j [-beta; 1]||^2,

so that weighted estimates, errors per joint and constrained regression never look at the samples again. The factors of
consecutive segments of the motion are kept: leaving some out is fitting to the rest, so that cross-validation costs
nothing, and their spread measures how far the residuals of neighbouring samples depend on each other.

A robust fit also weights single samples, ``h_ij`` of sample i at joint j. These weights are part of the equations: the
factors are of ``sqrt(h_ij) [W_bij, tau_ij]``, so that every fit on them, constrained or not, minimises the same sum.
Errors that are reported are of the torques as measured: `CompressedData.plain` holds the factors without h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import BaseParameters, Model
from casid.errors import DatasetError
from casid.measurement import Dataset, FullRate

# ------------------------------------------------------------------ rows

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


def filtered(dataset: Dataset, function: Function, arrays: Sequence[Array], compiled: bool | None = None) -> Array:
    """Values of a function at the samples of a dataset, through the torques' filter, shape (N, ...).

    Parameters
    ----------
    dataset
        Processed.
    function
    arrays
        Its inputs at the samples of `motion`, or one value for all samples.
    compiled
        As for `Function`.
    """
    sampled = [array.ndim > len(function.shape_in(i)) for i, array in enumerate(arrays)]

    def evaluate(part: slice) -> Array:
        given = (array[part] if many else array for array, many in zip(arrays, sampled, strict=True))
        return np.asarray(function(*given, compiled=compiled))

    return np.concatenate([block for _, block in filtered_blocks(dataset, evaluate)])


def motion(dataset: Dataset) -> Dataset | FullRate:
    """Where the samples are that columns are computed from."""
    return dataset if dataset.full is None else dataset.full


def observation_blocks(
    model: Model, dataset: Dataset, columns: Sequence[int] | None = None
) -> Iterator[tuple[int, Array]]:
    """The model's base regressor at the samples of a recording, filtered like its torques.

    Parameters
    ----------
    model
    dataset
        Processed.
    columns
        Indices of the base parameters whose columns are wanted; default all.

    Yields
    ------
    first : int
    values : ndarray, shape (samples, n, columns)
    """
    function = model.base_regressor if columns is None else _columns(model.base_regressor, columns)
    if dataset.full is None:
        arrays, compiled = inputs(model, dataset), _compiled(model, function, len(dataset))
        for first in range(0, len(dataset), CHUNK):
            yield first, function(*(a[first : first + CHUNK] for a in arrays), compiled=compiled)
        return
    evaluate, unpacked = _packed(model, dataset, function)
    for first, packed in filtered_blocks(dataset, evaluate):
        yield first, unpacked(packed)


def extended_columns(model: Model, dataset: Dataset, plainer: Model, known: Array) -> Array:
    """The model's base regressor at the samples of a recording, where a model with fewer terms has most columns.

    Parameters
    ----------
    model
    dataset
        Processed.
    plainer
        The same robot with fewer terms.
    known
        Its base regressor at the samples, shape (N, n, its rank), whose columns are taken by the parameters' names.

    Returns
    -------
    ndarray, shape (N, n, rank of ``model``)
    """
    places = {plainer.parameter_names[i]: k for k, i in enumerate(plainer.base.independent)}
    taken = [places.get(model.parameter_names[i], -1) for i in model.base.independent]
    columns = known[..., taken]
    new = [k for k, place in enumerate(taken) if place < 0]
    if new:
        columns[..., new] = np.concatenate([block for _, block in observation_blocks(model, dataset, new)])
    return columns


def _columns(regressor: Function, columns: Sequence[int]) -> Function:
    """Some columns of a base regressor."""
    given = [ca.SX.sym(regressor.name_in(i), regressor.sparsity_in(i)) for i in range(regressor.n_in())]
    return Function(ca.Function("columns", given, [regressor(*given)[:, list(columns)]]), 2)


def _packed(model: Model, dataset: Dataset, function: Function) -> tuple[Evaluate, Callable[[Array], Array]]:
    """Columns at the full rate without the entries that are zero always, and how to put these back."""
    arrays = inputs(model, dataset)
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
        evaluate, self._unpacked = _packed(model, dataset, model.base_regressor)
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
    extras = [_extra(model, name, dataset) for name in function.name_in()[4:]]
    arrays = [*inputs(model, dataset)[:3], parameters, *extras]
    return filtered(dataset, function, arrays, _compiled(model, function, len(motion(dataset))))


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


@contextmanager
def one_thread() -> Iterator[None]:
    """A context, or with ``@one_thread()`` a function, in which BLAS and LAPACK use one thread.

    Threads that wait for one another cost an identification four times its work on two cores: its matrices have some
    hundred rows and columns. Without the package threadpoolctl nothing is limited.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield


# ------------------------------------------------------------------ compression


@dataclass(frozen=True, eq=False)
class CompressedData:
    """Regression data of one or more recordings, compressed joint by joint.

    Attributes
    ----------
    model : Model
    factors : tuple of ndarray, shape (rank + 2, rank + 2)
        R factor of ``[W_b, tau, tau_raw]`` over the samples of each joint, each row times the square root of its
        sample's weight where samples have weights: what fits minimise.
    counts : ndarray of int, shape (n,)
        Samples of each joint.
    datasets : tuple of str
        Names of the recordings.
    steps, notes : tuple of str
        Processing steps, and notes for a reader of the result.
    segments : tuple of Segment
        The same of consecutive parts of the motion.
    correlation : ndarray, shape (n,)
        Samples of each joint over those that count as independent: the torques' filter makes neighbours alike.
    unweighted : CompressedData or None
        The same samples without weights; ``None`` where they have none (see `plain`).
    """

    model: Model
    factors: tuple[Array, ...]
    counts: NDArray[np.int64]
    datasets: tuple[str, ...]
    steps: tuple[str, ...]
    notes: tuple[str, ...]
    segments: tuple[Segment, ...] = ()
    correlation: Array = field(default_factory=lambda: np.ones(0))
    unweighted: CompressedData | None = None

    def __post_init__(self) -> None:
        if not len(self.correlation):
            object.__setattr__(self, "correlation", np.ones(len(self.factors)))

    @property
    def base(self) -> BaseParameters:
        """Base parameters of the model: the columns."""
        return self.model.base

    @property
    def plain(self) -> CompressedData:
        """The same samples, all of weight 1: what errors are reported of."""
        return self if self.unweighted is None else self.unweighted

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.factors)

    @property
    def independent_samples(self) -> Array:
        """Samples of each joint that count as independent, shape (n,)."""
        return np.asarray(self.counts / self.correlation)

    def only(self, segments: Sequence[int]) -> CompressedData:
        """The data of these segments alone (indices into `segments`): what to fit to, or to test on.

        Raises
        ------
        DatasetError
            If they hold no sample.
        """
        chosen = tuple(self.segments[i] for i in segments)
        whole = together(chosen)
        if not whole.counts.any():
            raise DatasetError(f"segments {list(segments)} hold no torque sample")
        rest = None if self.unweighted is None else self.unweighted.only(segments)
        return replace(self, factors=whole.factors, counts=whole.counts, segments=chosen, unweighted=rest)

    def stacked(self, weights: ArrayLike | None = None) -> tuple[Array, Array, float]:
        """``(R, rho, rest)`` with ``sum_j w_j^2 ||tau_j - W_bj beta||^2 = ||rho - R beta||^2 + rest``.

        Parameters
        ----------
        weights
            w_j of each joint, shape (n,); default 1.
        """
        w = np.ones(self.n) if weights is None else np.asarray(weights, dtype=float)
        rank = self.base.rank
        stack = np.vstack([wj * factor[:, : rank + 1] for wj, factor in zip(w, self.factors, strict=True)])
        R: Array = np.asarray(np.linalg.qr(stack, mode="r"))
        return R[:rank, :rank], R[:rank, rank], float(R[rank:, rank] @ R[rank:, rank])

    def squared_errors(self, beta: ArrayLike, raw: bool = False) -> Array:
        """``sum_i h_ij (tau_ij - W_bij beta)^2`` of each joint, shape (n,); h: the samples' weights, or 1.

        Parameters
        ----------
        raw
            Against the unfiltered torques.
        """
        direction = self.direction(beta, raw)
        return np.array([float(np.sum((factor @ direction) ** 2)) for factor in self.factors])

    def direction(self, beta: ArrayLike, raw: bool = False) -> Array:
        """``[-beta; 1; 0]``, by which a factor gives the errors; ``[-beta; 0; 1]`` against the unfiltered torques."""
        return np.concatenate([-np.asarray(beta, dtype=float), [not raw, raw]])

    @cached_property
    def squared_torques(self) -> Array:
        """``sum_i h_ij tau_ij^2`` of each joint."""
        return self.squared_errors(np.zeros(self.base.rank))

    def relative_errors(self, beta: ArrayLike, raw: bool = False) -> tuple[float, Array]:
        """``100 ||tau - W beta|| / ||tau||`` [%], over all joints and per joint (Sousa 2014, eq. 4.37).

        Every sample counts alike, whatever its weight in the fit.
        """
        errors = self.plain.squared_errors(beta, raw)
        torques = self.plain.squared_errors(np.zeros(self.base.rank), raw)
        per_joint = 100.0 * np.sqrt(np.divide(errors, torques, out=np.zeros_like(errors), where=torques > 0))
        return 100.0 * float(np.sqrt(errors.sum() / max(torques.sum(), np.finfo(float).tiny))), per_joint

    def rms(self, beta: ArrayLike, raw: bool = False) -> Array:
        """Root mean square error of each joint [N.m]; every sample counts alike, whatever its weight in the fit."""
        return np.asarray(np.sqrt(self.plain.squared_errors(beta, raw) / np.maximum(self.counts, 1)))


def compress(
    model: Model,
    datasets: Dataset | Iterable[Dataset],
    sample_weights: Iterable[ArrayLike] | None = None,
    plain: CompressedData | None = None,
    columns: Iterable[Array] | None = None,
) -> CompressedData:
    """Stack and compress processed recordings.

    Parameters
    ----------
    model
        Its base regressor gives the columns.
    datasets
        One recording or several (an iterable of any length, read one at a time), with dq and ddq.
    sample_weights
        h of each recording, shape (N, n) each: the squared error of sample i at joint j counts h_ij times.
    plain
        With weights: the same samples compressed without (`CompressedData.plain`), where that was done before.
    columns
        Base regressor at the samples of each recording, shape (N, n, rank) each, where it is known.

    Raises
    ------
    DatasetError
        If a recording has another number of joints, no velocities or accelerations, or nothing is left to use; if
        weights are missing, negative, not finite, of another shape, or ``plain`` is of other samples.
    """
    datasets = (datasets,) if isinstance(datasets, Dataset) else datasets
    weights = None if sample_weights is None else iter(sample_weights)
    known = None if columns is None else iter(columns)
    n, rank = model.n, model.base.rank
    used = [np.flatnonzero(acts) for acts in pattern(model.base_regressor)]
    both = weights is not None and plain is None
    made = [SegmentedFactors(used, rank) for _ in range(1 + both)]  # with weights, and without
    correlated = np.zeros(n)
    names: list[str] = []
    steps: list[str] = []
    notes: list[str] = []
    for data in datasets:
        scale = None if weights is None else _row_factors(data, next(weights, None))
        counting = np.asarray(data.counted.any(axis=1))
        for factors in made:
            factors.begin(counting, SEGMENTS)
        for first, block in observation_blocks(model, data) if known is None else ((0, next(known)),):
            for factors, share in zip(made, (scale, None), strict=False):
                factors.add(data, first, block, share)
        correlated += data.counted.sum(axis=0) * (1.0 if data.full is None else data.full.correlation)
        names.append(data.name)
        steps += [f"{data.name}: {step}" for step in data.steps]
        notes += data.notes
    if weights is not None and next(weights, None) is not None:
        raise DatasetError(f"there are weights of more than the {len(names)} recordings")
    segments = made[0].finish()
    if not segments:
        raise DatasetError("no torque sample is left to identify from; check trim, masks and the list of recordings")
    whole = together(segments)
    counts = whole.counts
    if counts.sum() <= rank:
        raise DatasetError(f"{counts.sum()} torque samples are too few for {rank} base parameters; record more")
    correlation = np.where(counts > 0, correlated / np.maximum(counts, 1), 1.0)
    noted = tuple(dict.fromkeys(notes))
    result = CompressedData(model, whole.factors, counts, tuple(names), tuple(steps), noted, segments, correlation)
    if weights is None:
        return result
    if plain is None:
        others = made[1].finish()
        plain = replace(result, factors=together(others).factors, segments=others)
    cuts = [[segment.counts.tolist() for segment in one.segments] for one in (plain, result)]
    if plain.model is not model or plain.datasets != result.datasets or cuts[0] != cuts[1]:
        raise DatasetError("plain: these are other samples, or columns of another model, than the weighted ones")
    return replace(result, unweighted=plain.plain)


def _row_factors(data: Dataset, weights: ArrayLike | None) -> Array:
    """Square roots of the samples' weights, shape (N, n)."""
    if weights is None:
        raise DatasetError(f"{data.name}: no weights are given for this recording")
    h = np.asarray(weights, dtype=float)
    if h.shape != data.tau.shape or not np.isfinite(h).all() or (h < 0).any():
        raise DatasetError(
            f"{data.name}: expected finite weights of shape {data.tau.shape} that are not negative, got shape {h.shape}"
        )
    return np.asarray(np.sqrt(h))
