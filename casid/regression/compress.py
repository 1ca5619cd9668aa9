"""Compression of any number of samples to small triangular factors, in one pass and bounded memory.

The rows of joint j in the stacked system ``tau = W_b beta`` enter only through the R factor of ``[W_bj, tau_j,
tau_raw_j]`` (Sousa 2014, eq. 3.45-3.52, joint by joint). For any weights w_j of the joints and any beta,

    sum_j w_j^2 ||tau_j - W_bj beta||^2 = sum_j w_j^2 ||R_j [-beta; 1]||^2,

so that weighted estimates, errors per joint and constrained regression never look at the samples again. The factors of
consecutive segments of the motion are kept: leaving some out is fitting to the rest, which makes cross-validation free
of charge, and their spread tells how far the residuals of neighbouring samples depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import BaseParameters, Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression.factors import Segment, SegmentedFactors, counted, joined
from casid.regression.observation import observation_blocks, pattern

Array = NDArray[np.float64]

#: Segments of equal length that each recording is cut into.
SEGMENTS = 12


@dataclass(frozen=True, eq=False)
class CompressedData:
    """Regression data of one or more recordings, compressed joint by joint.

    Attributes
    ----------
    model : Model
    factors : tuple of ndarray, shape (rank + 2, rank + 2)
        R factor of ``[W_b, tau, tau_raw]`` over the samples of each joint.
    counts : ndarray of int, shape (n,)
        Samples of each joint.
    datasets : tuple of str
        Names of the recordings.
    steps, notes : tuple of str
        What was done to them, and what deserves a look.
    segments : tuple of Segment
        The same of consecutive parts of the motion.
    correlation : ndarray, shape (n,)
        Samples of each joint over those that count as independent: the torques' filter makes neighbours alike.
    """

    model: Model
    factors: tuple[Array, ...]
    counts: NDArray[np.int64]
    datasets: tuple[str, ...]
    steps: tuple[str, ...]
    notes: tuple[str, ...]
    segments: tuple[Segment, ...] = ()
    correlation: Array = field(default_factory=lambda: np.ones(0))

    def __post_init__(self) -> None:
        if not len(self.correlation):
            object.__setattr__(self, "correlation", np.ones(len(self.factors)))

    @property
    def base(self) -> BaseParameters:
        """Base parameters of the model: the columns."""
        return self.model.base

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
        chosen = [self.segments[i] for i in segments]
        counts = counted([s.counts for s in chosen], self.n)
        if not counts.any():
            raise DatasetError(f"segments {list(segments)} hold no torque sample")
        factors = tuple(joined([s.factors[k] for s in chosen]) for k in range(self.n))
        return replace(self, factors=factors, counts=counts, segments=tuple(chosen))

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
        """``||tau_j - W_bj beta||^2`` of each joint, shape (n,); ``raw``: against the unfiltered torques."""
        rank = self.base.rank
        direction = np.zeros(rank + 2)
        direction[:rank] = -np.asarray(beta, dtype=float)
        direction[rank + raw] = 1.0
        return np.array([float(np.sum((factor @ direction) ** 2)) for factor in self.factors])

    @cached_property
    def squared_torques(self) -> Array:
        """``||tau_j||^2`` of each joint."""
        return self.squared_errors(np.zeros(self.base.rank))

    def relative_errors(self, beta: ArrayLike, raw: bool = False) -> tuple[float, Array]:
        """``100 ||tau - W beta|| / ||tau||`` [%], over all joints and per joint (Sousa 2014, eq. 4.37)."""
        errors = self.squared_errors(beta, raw)
        torques = self.squared_errors(np.zeros(self.base.rank), raw)
        per_joint = 100.0 * np.sqrt(np.divide(errors, torques, out=np.zeros_like(errors), where=torques > 0))
        return 100.0 * float(np.sqrt(errors.sum() / max(torques.sum(), np.finfo(float).tiny))), per_joint

    def rms(self, beta: ArrayLike, raw: bool = False) -> Array:
        """Root mean square error of each joint [N.m]."""
        return np.asarray(np.sqrt(self.squared_errors(beta, raw) / np.maximum(self.counts, 1)))


def compress(
    model: Model, datasets: Dataset | Iterable[Dataset], sample_weights: Iterable[Array] | None = None
) -> CompressedData:
    """Stack and compress processed recordings.

    Parameters
    ----------
    model
        Its base regressor gives the columns.
    datasets
        One recording or several (an iterable of any length, read one at a time), with dq and ddq.
    sample_weights
        Factors of each recording's equations, shape (N, n) each, on both sides.

    Raises
    ------
    DatasetError
        If a recording has another number of joints, no velocities or accelerations, or nothing is left to use.
    """
    if isinstance(datasets, Dataset):
        datasets = (datasets,)
    n, rank = model.n, model.base.rank
    acts = pattern(model.base_regressor)
    used = [np.flatnonzero(acts[k]) for k in range(n)]
    places = [np.append(columns, [rank, rank + 1]) for columns in used]
    factors = SegmentedFactors(places, rank + 2)
    correlated = np.zeros(n)
    names: list[str] = []
    steps: list[str] = []
    notes: list[str] = []
    for data, scale in zip(datasets, repeat(None) if sample_weights is None else sample_weights):  # noqa: B905
        raw = data.tau if data.tau_raw is None else data.tau_raw
        factors.begin(len(data), SEGMENTS)
        for first, block in observation_blocks(model, data):
            for rows, inside in factors.segments_of(first, len(block)):
                for k, columns in enumerate(used):
                    keep = slice(None) if data.mask is None else data.mask[rows, k]
                    share = None if scale is None else scale[rows, k][keep]
                    stack = (block[inside, k][keep], columns, data.tau[rows, k][keep], raw[rows, k][keep])
                    factors.add(k, *stack, share)
        kept = np.full(n, len(data)) if data.mask is None else data.mask.sum(axis=0)
        correlated += kept * (1.0 if data.full is None else data.full.correlation)
        names.append(data.name)
        steps += [f"{data.name}: {step}" for step in data.steps]
        notes += data.notes
    segments = factors.finish()
    counts = counted([s.counts for s in segments], n)
    if not names or not counts.any():
        raise DatasetError("no torque sample is left to identify from; check trim, masks and the list of recordings")
    if counts.sum() <= rank:
        raise DatasetError(f"{int(counts.sum())} torque samples are too few for {rank} base parameters; record more")
    whole = tuple(joined([s.factors[k] for s in segments]) for k in range(n))
    correlation = np.where(counts > 0, correlated / np.maximum(counts, 1), 1.0)
    unique = tuple(dict.fromkeys(notes))
    return CompressedData(model, whole, counts, tuple(names), tuple(steps), unique, segments, correlation)
