"""The delay between positions and torques: found on recordings as they come, and taken out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from casid.dynamics import Model
from casid.measurement import Dataset, Processing, prepare
from casid.regression import compress, estimate_delay, wls
from casid.regression._delay import Delay

#: Delays worth a word: in sampling periods, in standard deviations, and the share of the residual that they explain.
SAMPLES, DEVIATIONS, GAIN = 0.5, 3.0, 0.005


def filtered(raw: Dataset, dataset: Dataset) -> Dataset:
    """The processed recording, or the raw one through the default filters if it was taken as it is."""
    return dataset if dataset.full is not None else Processing().apply(raw)


def worthwhile(lag: Delay) -> bool:
    """Whether a delay is large enough, sure enough, and explains enough to be worth a word."""
    return (
        abs(lag.samples) >= SAMPLES
        and abs(lag.seconds) >= DEVIATIONS * lag.sd
        and lag.gain >= GAIN
        and bool(np.isfinite(lag.seconds))
    )


def without_delay(
    model: Model,
    raw: Sequence[Dataset],
    datasets: Sequence[Dataset],
    processing: Processing | bool | None,
    delay: float | None,
) -> tuple[tuple[Dataset, ...], Processing, str]:
    """Recordings with the torques moved to where the positions are, how that was done, and a sentence about it.

    Parameters
    ----------
    model
        For the estimate.
    raw, datasets
        As read, and as processed so far.
    processing
        As given to `casid.measurement.prepare`.
    delay
        [s]; ``None``: estimated (`casid.regression.estimate_delay`), and taken out if it is sure enough.

    Raises
    ------
    DatasetError
        If a delay cannot be estimated from these recordings.
    """
    settings = processing if isinstance(processing, Processing) else Processing()
    if delay is not None:
        made = replace(settings, delay=float(delay))
        return tuple(prepare(data, made) for data in raw), made, ""
    smooth = tuple(filtered(one, data) for one, data in zip(raw, datasets, strict=True))
    weights: ArrayLike = wls(compress(model, smooth)).weights
    lag = estimate_delay(model, smooth, weights)
    words = f"{1e3 * lag.seconds:.3f} ms ({lag.samples:.2f} samples, standard deviation {1e3 * lag.sd:.2g} ms)"
    if lag.at_limit:
        return (
            tuple(datasets),
            settings,
            f"the delay of the torques lies beyond what was searched, {words}: not taken out",
        )
    made = replace(settings, delay=settings.delay + lag.seconds)
    return tuple(prepare(data, made) for data in raw), made, f"torques lag {words} behind the positions: taken out"
