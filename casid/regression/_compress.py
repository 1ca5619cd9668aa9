"""Compression of any number of samples to small triangular factors, in one pass and bounded memory.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.dynamics import BaseParameters, Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._rows import SEGMENTS, Segment, SegmentedFactors, observation_blocks, pattern, together


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
    counting: Iterable[NDArray[np.bool_]] | None = None,
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
    counting
        Samples of each recording, shape (N,) each, of which all `CompressedData.segments` have as many; default: those
        that count.

    Raises
    ------
    DatasetError
        If a recording has another number of joints, no velocities or accelerations, or nothing is left to use; if
        weights are missing, negative, not finite, of another shape, or ``plain`` is of other samples.
    """
    datasets = (datasets,) if isinstance(datasets, Dataset) else datasets
    weights = None if sample_weights is None else iter(sample_weights)
    known = None if columns is None else iter(columns)
    shared = None if counting is None else iter(counting)
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
        moments = np.asarray(data.counted.any(axis=1)) if shared is None else next(shared)
        for factors in made:
            factors.begin(moments, SEGMENTS)
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
