"""Recordings of joints that the model holds still."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from casid.description import Robot
from casid.errors import DatasetError
from casid.measurement import Dataset, check_against

#: By how much a joint may move, or be away from where it is locked [rad or m].
HELD = 0.02


def without_locked(dataset: Dataset, whole: Robot, locked: Mapping[str, float]) -> Dataset:
    """The recording without the columns of joints that are locked.

    Parameters
    ----------
    dataset
        As recorded. One that has other columns than the whole robot is returned as it is.
    whole
        The robot with all its joints.
    locked
        Position of each locked joint, by name [rad or m].

    Raises
    ------
    DatasetError
        If a locked joint moves, or is held elsewhere.
    """
    names = [joint.name for joint in whole.coordinates]
    held = {names.index(name): position for name, position in locked.items() if name in names}
    if not held or dataset.n < whole.n or (dataset.joints and len(set(dataset.joints)) < whole.n):
        return dataset
    data = check_against(dataset, whole)
    for k, position in held.items():
        place, way = float(np.median(data.q[:, k])), float(np.ptp(data.q[:, k]))
        if way > HELD:
            raise DatasetError(f"{data.name}: joint '{names[k]}' is to be locked, but moves by {way:.3g} in it")
        if abs(place - position) > HELD:
            raise DatasetError(
                f"{data.name}: joint '{names[k]}' is to be locked at {position:g}, but stands at {place:.4g}; "
                f"use --lock {names[k]}={place:.4g}"
            )
    rest = [k for k in range(whole.n) if k not in held]
    return data.columns(rest, f"locked joints left out: {', '.join(names[k] for k in held)}")
