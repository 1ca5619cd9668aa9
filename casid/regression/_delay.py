"""Delay between positions and torques, to a fraction of a sample.

A torque that is logged d too late fits the model best when it is taken from d later. For every d in a range,

    J(d) = min_beta  sum_j w_j^2 ||tau_j(t + d) - W_j(t) beta||^2 / sum_j w_j^2 ||tau_j(t + d)||^2 .

Filtered torques are so smooth that ``tau(t + d)`` is a polynomial in d over the range, given by its values at a few
nodes d_k: ``tau(t + d) = sum_k l_k(d) tau(t + d_k)``. One pass over the data then gives J for all d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebpts1
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._compress import RIDGE, lengths, observation_blocks

#: Chebyshev nodes of the first range.
NODES = 11
#: Range that is searched at first: so many samples, at least so many seconds; and how often it is doubled while the
#: least residual lies at its end.
REACH_SAMPLES, SECONDS, DOUBLED = 12.0, 0.03, 3


@dataclass(frozen=True)
class Delay:
    """By how much torques lag behind positions.

    Attributes
    ----------
    seconds : float
        Positive: the torques are late; `casid.measurement.Processing` (``delay=``) takes it out.
    sd : float
        Standard deviation [s].
    samples : float
        The same at the recordings' rate.
    gain : float
        Share of the residual's norm that goes away when the delay is taken out.
    at_limit : bool
        Whether it lies at the end of the range that was searched: the search found no best delay.
    """

    seconds: float
    sd: float
    samples: float
    gain: float
    at_limit: bool


def estimate_delay(model: Model, datasets: Dataset | Sequence[Dataset], weights: ArrayLike) -> Delay:
    """The common delay of all torques with the least residual.

    It is searched within 12 samples, at least 0.03 s, both ways, doubled up to three times while the least residual
    lies at the end.

    Parameters
    ----------
    model
        Its base parameters are fitted anew for each delay.
    datasets
        Processed recordings whose torques are filtered (they carry `Dataset.full`).
    weights
        Of the joints, e.g. `Fit.weights`; shape (n,).

    Raises
    ------
    DatasetError
        If a recording was not filtered, or they have different rates.
    """
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    rate = _rate(recordings)
    w = np.asarray(weights, dtype=float)
    reach, nodes = max(REACH_SAMPLES / rate, SECONDS), NODES
    found = _within(model, recordings, w, rate, reach, nodes)
    for _ in range(DOUBLED):
        if not found.at_limit:
            break
        reach, nodes = 2 * reach, 2 * nodes
        found = _within(model, recordings, w, rate, reach, nodes)
    return found


def _within(model: Model, recordings: Sequence[Dataset], w: Array, rate: float, reach: float, count: int) -> Delay:
    """The delay of least residual within ``reach`` [s], from torques at so many nodes."""
    from scipy.interpolate import BarycentricInterpolator  # slow to import
    from scipy.optimize import minimize_scalar  # slow to import

    nodes = reach * chebpts1(count)
    rank = model.base.rank
    G, independent = _products(model, recordings, w, nodes, rate)
    scale = lengths(np.diagonal(G))
    G = G / np.outer(scale, scale)
    A, cross = G[:rank, :rank] + RIDGE * np.eye(rank), G[:rank, rank:]
    left = (G[rank:, rank:] - cross.T @ np.linalg.solve(A, cross)) * np.outer(scale[rank:], scale[rank:])
    whole = G[rank:, rank:] * np.outer(scale[rank:], scale[rank:])
    basis = BarycentricInterpolator(nodes, np.eye(count))

    def cost(d: float) -> float:
        x = np.asarray(basis(d)).ravel()
        return float(x @ left @ x) / float(x @ whole @ x)

    grid = np.linspace(-reach, reach, 241)
    values = np.array([cost(d) for d in grid])
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = float(minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-4 / rate}).x)
    step = 0.1 / rate
    least = max(cost(found), np.finfo(float).tiny)
    curvature = (cost(found + step) - 2 * cost(found) + cost(found - step)) / step**2
    freedom = max(independent - rank, 1.0)
    sd = float(np.sqrt(2 * least / (freedom * curvature))) if curvature > 0 else float("inf")
    gain = 1.0 - float(np.sqrt(least / max(cost(0.0), np.finfo(float).tiny)))
    return Delay(found, sd, found * rate, gain, best in (0, len(grid) - 1))


def _rate(recordings: Sequence[Dataset]) -> float:
    """Common rate of filtered recordings [Hz]."""
    rates = set()
    for data in recordings:
        if data.full is None:
            raise DatasetError(f"{data.name}: a delay is estimated from filtered torques; process it with a cut-off")
        rates.add(float(f"{data.full.low_pass.rate:.4g}"))
    if len(rates) != 1:
        raise DatasetError(f"recordings have different rates: {', '.join(f'{r:g} Hz' for r in sorted(rates))}")
    return rates.pop()


def _products(model: Model, recordings: Sequence[Dataset], w: Array, nodes: Array, rate: float) -> tuple[Array, float]:
    """``X' X`` of the weighted columns ``X = [Y, tau(t + d_k) ...]``, and the number of independent samples."""
    from scipy.interpolate import CubicSpline  # slow to import

    size = model.base.rank + len(nodes)
    G, independent = np.zeros((size, size)), 0.0
    for data in recordings:
        assert data.full is not None
        moments = np.arange(len(data.full)) / rate
        smooth = CubicSpline(moments, data.full.low_pass(data.full.tau), axis=0)
        at = np.clip(moments[data.full.index][:, None] + nodes, 0.0, moments[-1])
        shifted = smooth(at)  # samples, nodes, joints
        for first, block in observation_blocks(model, data):
            rows = slice(first, first + len(block))
            for k in range(model.n):
                keep = data.counted[rows, k]
                X = w[k] * np.hstack([block[:, k][keep], shifted[rows, :, k][keep]])
                G += X.T @ X
                independent += len(X) / data.full.correlation
    return G, independent
