"""Is the measured velocity better than the differences of the positions? Found from the data."""

from __future__ import annotations

import numpy as np

from casid.measurement._dataset import Array, Dataset
from casid.measurement._defects import white_noise

#: How far the measured velocity may be from the differences, as a share of the velocity, beyond what noise explains.
AGREES = 0.02


def measured_is_better(data: Dataset, cutoff: float | None, rate: float) -> bool:
    """Whether the measured velocity has less noise in the filter's band than the differences, and agrees with them.

    White noise of standard deviation s_q on positions has below the cut-off fc, once differentiated, the variance
    ``2 s_q^2 (2 pi)^2 fc^3 / (3 fs)``; noise s_v on velocities has ``2 s_v^2 fc / fs``: the measured velocity is less
    noisy where ``s_v < 2 pi fc s_q / sqrt(3)``. A controller that filters its velocity hides its noise and delays it;
    then the two differ by more than `AGREES` of the velocity and the differences are taken. The median joint decides:
    all signals come from one source.

    Parameters
    ----------
    data
        On a uniform grid.
    cutoff
        [Hz]; ``None``: no filter, the band is half the rate.
    rate
        [Hz]
    """
    if data.dq is None:
        return False
    band = rate / 2 if cutoff is None else cutoff
    moves = np.ptp(data.q, axis=0) > 1e-3
    if not moves.any():
        return False
    quieter, apart = [], []
    for q, v in zip(data.q[:, moves].T, data.dq[:, moves].T, strict=True):
        quieter.append(white_noise(v) / max(2 * np.pi * band * white_noise(q) / np.sqrt(3.0), np.finfo(float).tiny))
        apart.append(_apart(q, v, band, rate))
    return bool(np.median(quieter) < 1.0 and np.median(apart) <= AGREES)


def _apart(q: Array, v: Array, band: float, rate: float) -> float:
    """Distance of the measured velocity from the differences below the cut-off, over the velocity."""
    from casid.measurement._low_pass import LowPass

    differences = np.gradient(q) * rate
    pair = np.stack([differences, v], axis=1)
    if band < rate / 2:
        pair = LowPass(band, 4, rate, 0)(pair)
    inner = slice(len(q) // 20, len(q) - len(q) // 20)
    size = float(np.linalg.norm(pair[inner, 0]))
    return float(np.linalg.norm(pair[inner, 0] - pair[inner, 1])) / size if size else np.inf
