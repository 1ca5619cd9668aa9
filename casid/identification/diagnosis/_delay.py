"""The delay between positions and torques as a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification.diagnosis._better_readings import Trials
from casid.identification.diagnosis._findings import Finding
from casid.measurement import Dataset, Processing
from casid.regression import Delay, estimate_delay

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


def delay_finding(raw: Dataset, dataset: Dataset, model: Model, weights: ArrayLike, trials: Trials) -> list[Finding]:
    """A significant lag of a recording's torques behind its positions.

    Parameters
    ----------
    raw, dataset
        As read, and as processed.
    model, weights
        For the estimate.
    trials
        Of taking it out.
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
    trial = trials.later(lag.seconds)
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
