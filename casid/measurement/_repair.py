"""A recording whose spikes and repeated samples are interpolated, and the defects that were found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from casid.measurement._dataset import Array, Dataset
from casid.measurement._defects import Defect, find_defects, interpolated


def repaired(recording: Dataset) -> tuple[Dataset, list[Defect]]:
    """The recording with values that measure nothing replaced by those around them, and all its defects.

    Time stamps that repeat are left for the uniform grid, which drops them.

    Parameters
    ----------
    recording
        As read.
    """
    advances = np.concatenate([[True], np.diff(recording.t) > 0])
    if not advances.all():
        recording = recording.rows(advances, f"dropped {int((~advances).sum())} repeated time stamps")
    t = recording.t
    found, q_off, tau_off, repeated = find_defects(t, recording.q, recording.tau)
    stale = repeated[:, None]
    q_off, tau_off = q_off | stale, tau_off | stale
    if not (q_off.any() or tau_off.any()):
        return recording, found

    def made(values: Array | None, off: np.ndarray) -> Array | None:
        return None if values is None else interpolated(t, values, off)

    tau = interpolated(t, recording.tau, tau_off)
    count = int(repeated.sum())
    steps = [f"interpolated {count} repeated samples"] if count else []
    spikes = int((q_off | tau_off).sum(axis=1).astype(bool).sum()) - count
    steps += [f"interpolated {spikes} samples with spikes"] if spikes else []
    return replace(
        recording,
        q=interpolated(t, recording.q, q_off),
        dq=made(recording.dq, q_off),
        ddq=made(recording.ddq, q_off),
        tau=tau,
        steps=(*recording.steps, *steps),
    ), found
