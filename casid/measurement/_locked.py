"""Columns of locked joints in recordings of the whole robot."""

from __future__ import annotations

import warnings

import numpy as np

from casid.description import Robot
from casid.errors import CasidWarning, DatasetError
from casid.measurement._checks import check_against
from casid.measurement._dataset import Dataset

#: Largest motion of a locked joint, and largest distance from the position it is locked at [rad or m].
HELD = 0.02


def without_locked(dataset: Dataset, robot: Robot) -> Dataset:
    """The recording without the columns of joints that are locked.

    Parameters
    ----------
    dataset
        As recorded. One without columns of the locked joints is returned as it is; joints of types that casid cannot
        move (floating, planar) have no columns.
    robot
        As loaded, ``load_robot(..., lock=...)``.

    Raises
    ------
    DatasetError
        If a locked joint moves, or stands at another position than the one it is locked at.
    """
    if robot.origin is None or not robot.origin.locked:
        return dataset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CasidWarning)  # the loader has given them
        whole = robot.origin.unlocked()
    names = [joint.name for joint in whole.coordinates]
    held = {names.index(name): position for name, position in robot.origin.locked.items() if name in names}
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
