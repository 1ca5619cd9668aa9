"""The delay between positions and torques: as a finding, and its removal from recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification.diagnosis._findings import Finding, Trial
from casid.measurement import Dataset, Processing, prepare
from casid.regression import Delay, compress, estimate_delay, wls

#: Least significant delay: in sampling periods, in standard deviations, and the share of the residual it explains.
SAMPLES, DEVIATIONS, GAIN = 0.5, 3.0, 0.005
#: Share of the residual from which a delay makes the result wrong.
MOST = 0.3


def filtered(raw: Dataset, dataset: Dataset) -> Dataset:
    """The processed recording, or the raw one through the default filters if it was taken as it is."""
    return dataset if dataset.full is not None else Processing().apply(raw)


def significant(lag: Delay) -> bool:
    """Whether a delay is above all three thresholds: size, certainty, share of the residual."""
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
    processing: Processing | bool | Sequence[Processing | bool | None] | None,
    delay: float | None,
) -> tuple[tuple[Dataset, ...], Processing, str]:
    """Recordings with the torques moved by their delay, the processing that does so, and a note about it.

    Parameters
    ----------
    model
        For the estimate.
    raw, datasets
        As read, and as processed so far.
    processing
        As given to `casid.measurement.prepare`, for all recordings or for each. That of the first is returned.
    delay
        [s]; ``None``: estimated (`casid.regression.estimate_delay`), and taken out unless it lies at the end of the
        range that is searched.

    Raises
    ------
    DatasetError
        If a delay cannot be estimated from these recordings.
    """
    each = tuple(processing) if isinstance(processing, Sequence) else (processing,) * len(raw)
    settings = [one if isinstance(one, Processing) else Processing() for one in each]
    if delay is not None:
        made = [replace(one, delay=float(delay)) for one in settings]
        return tuple(prepare(data, one) for data, one in zip(raw, made, strict=True)), made[0], ""
    smooth = tuple(filtered(one, data) for one, data in zip(raw, datasets, strict=True))
    weights: ArrayLike = wls(compress(model, smooth)).weights
    lag = estimate_delay(model, smooth, weights)
    words = f"{1e3 * lag.seconds:.3f} ms ({lag.samples:.2f} samples, standard deviation {1e3 * lag.sd:.2g} ms)"
    if lag.at_limit:
        return (
            tuple(datasets),
            settings[0],
            f"the delay of the torques lies beyond what was searched, {words}: not taken out",
        )
    made = [replace(one, delay=one.delay + lag.seconds) for one in settings]
    moved = tuple(prepare(data, one) for data, one in zip(raw, made, strict=True))
    return moved, made[0], f"torques lag {words} behind the positions: taken out"


def delay_finding(
    raw: Dataset, dataset: Dataset, model: Model, weights: ArrayLike, tried: Callable[[float], Trial | None]
) -> list[Finding]:
    """A significant lag of a recording's torques behind its positions.

    Parameters
    ----------
    raw, dataset
        As read, and as processed.
    model, weights
        For the estimate.
    tried
        The trial of taking out so many seconds.
    """
    try:
        lag = estimate_delay(model, filtered(raw, dataset), weights)
    except CasidError:
        return []
    if not significant(lag):
        return []
    values: dict[str, float | str] = {
        "what": "at least " if lag.at_limit else "",
        "lag": 1e3 * lag.seconds,
        "samples": lag.samples,
        "gain": 100 * lag.gain,
        "seconds": lag.seconds,
    }
    trial = tried(lag.seconds)
    proven = "late torques" if trial is not None else "unproven delay"
    cause = "torques of another time" if lag.gain >= MOST else proven
    return [Finding(cause, raw.name, values=values, trial=trial)]


def proven_delay(findings: Sequence[Finding]) -> Finding | None:
    """A delay within the range of the search whose removal predicts held-out parts of the motion better."""
    return next((f for f in findings if f.kind == "delay" and f.trial is not None and not f.values["what"]), None)


def taken_out(finding: Finding) -> Finding:
    """The finding of a delay that was taken out: its size, and what that changed."""
    assert finding.trial is not None
    return replace(finding, cause="delay taken out", values={**finding.values, "tried": finding.trial.text}, trial=None)
