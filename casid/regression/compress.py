"""Compression of any number of samples to small triangular factors, in one pass and bounded memory.

The rows of joint j in the stacked system ``tau = W_b beta`` enter only through the R factor of ``[W_bj, tau_j,
tau_raw_j]`` (Sousa 2014, eq. 3.45-3.52, joint by joint). For any weights w_j of the joints and any beta,

    sum_j w_j^2 ||tau_j - W_bj beta||^2 = sum_j w_j^2 ||R_j [-beta; 1]||^2,

so that weighted estimates, errors per joint and constrained regression never look at the samples again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from casid.codegen import evaluate_blocks
from casid.dynamics import BaseParameters, Model
from casid.errors import DatasetError
from casid.measurement import Dataset

Array = NDArray[np.float64]

#: Samples stacked before a factor is updated.
CHUNK = 2048


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
    """

    model: Model
    factors: tuple[Array, ...]
    counts: NDArray[np.int64]
    datasets: tuple[str, ...]
    steps: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def base(self) -> BaseParameters:
        """Base parameters of the model: the columns."""
        return self.model.base

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.factors)

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
    used = [np.flatnonzero(_pattern(model)[k]) for k in range(n)]
    factors = [_Factor(len(columns) + 2) for columns in used]
    counts = np.zeros(n, dtype=np.int64)
    names: list[str] = []
    steps: list[str] = []
    notes: list[str] = []
    for data, scale in zip(datasets, repeat(None) if sample_weights is None else sample_weights):  # noqa: B905
        arrays = inputs(model, data)
        raw = data.tau if data.tau_raw is None else data.tau_raw
        for first, block in evaluate_blocks(model.base_regressor, *arrays):
            rows = slice(first, first + len(block))
            for k, columns in enumerate(used):
                keep = slice(None) if data.mask is None else data.mask[rows, k]
                share = None if scale is None else scale[rows, k][keep]
                counts[k] += factors[k].add(
                    block[:, k][keep], columns, data.tau[rows, k][keep], raw[rows, k][keep], share
                )
        names.append(data.name)
        steps += [f"{data.name}: {step}" for step in data.steps]
        notes += data.notes
    if not names or not counts.any():
        raise DatasetError("no torque sample is left to identify from; check trim, masks and the list of recordings")
    if counts.sum() <= rank:
        raise DatasetError(f"{int(counts.sum())} torque samples are too few for {rank} base parameters; record more")
    full = []
    for factor, columns in zip(factors, used, strict=True):
        R = np.zeros((rank + 2, rank + 2))
        places = np.append(columns, [rank, rank + 1])
        R[: len(places), places] = factor.triangle()
        full.append(np.asarray(R))
    return CompressedData(model, tuple(full), counts, tuple(names), tuple(steps), tuple(dict.fromkeys(notes)))


class _Factor:
    """R factor of rows that arrive in blocks."""

    def __init__(self, columns: int) -> None:
        self._work = np.zeros((columns + CHUNK, columns), order="F")
        self._columns = columns
        self._filled = columns  # the first rows hold the factor so far

    def add(self, block: Array, columns: NDArray[np.intp], tau: Array, raw: Array, factor: Array | None) -> int:
        count = len(block)
        if self._filled + count > len(self._work):
            self._reduce()
        rows = slice(self._filled, self._filled + count)
        self._work[rows, :-2] = block[:, columns]
        self._work[rows, -2] = tau
        self._work[rows, -1] = raw
        if factor is not None:
            self._work[rows] *= factor[:, None]
        self._filled += count
        return count

    def _reduce(self) -> None:
        used = self._work[: self._filled]
        used[:, :] = lapack.dgeqrf(used, lwork=64 * self._columns)[0]
        lower = np.tril_indices(self._columns, -1)
        used[: self._columns][lower] = 0.0
        self._filled = self._columns

    def triangle(self) -> Array:
        self._reduce()
        return np.array(self._work[: self._columns])


def _pattern(model: Model) -> NDArray[np.bool_]:
    """Which base parameters act on which joint, shape (n, rank)."""
    Y = ca.Function(
        "Y", model.base_regressor.sx_in(), [ca.sparsify(model.base_regressor(*model.base_regressor.sx_in()))]
    )
    return np.array(ca.DM(Y.sparsity_out(0), 1.0).full() != 0.0)


def inputs(model: Model, data: Dataset) -> list[Array]:
    """Arrays of a processed recording for the model's base regressor."""
    if data.n != model.n:
        raise DatasetError(f"{data.name} has {data.n} joints, the model has {model.n}")
    if data.dq is None or data.ddq is None:
        raise DatasetError(f"{data.name} has no velocities or accelerations; process it first (Processing().apply)")
    extra = {"signal": data.tau}
    arrays = [data.q, data.dq, data.ddq]
    for name in model.base_regressor.name_in()[3:]:
        if name not in extra:
            raise DatasetError(f"the model's regressor has an input '{name}', which recordings do not have")
        arrays.append(extra[name])
    return arrays
