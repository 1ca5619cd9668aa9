"""Does a recording fit the robot, its locked joints left out? Errors, or notes."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.errors import CasidWarning, DatasetError
from casid.measurement._dataset import Dataset
from casid.measurement._defects import STILL, Defect
from casid.measurement._evidence import explained
from casid.measurement._processing import is_motion, repaired


def defects(recording: Dataset, robot: Robot | None = None) -> tuple[Defect, ...]:
    """What is wrong with a recording, in its samples as measured.

    `Processing` finds the same and adds what it did with each to the processed `Dataset`.

    Parameters
    ----------
    recording
        As read. Samples whose time repeats are dropped; what is no motion (`is_motion`) has no defects.
    robot
        With it, torques whose sign contradicts its dynamics are found too; its joints are the columns.
    """
    found = repaired(recording)[1] if is_motion(recording) else ()
    return (*found, *(() if robot is None else _reversed(recording, robot)))


def _reversed(data: Dataset, robot: Robot) -> tuple[Defect, ...]:
    """Joints whose torque has the other sign."""
    fit = explained(robot, data.t, data.q, data.tau)
    span, count = data.t[[0, -1]][None], np.array([len(data)])
    return () if fit is None else tuple(Defect("reversed", k, span, count) for k in fit.reversed)


def check_against(dataset: Dataset, robot: Robot) -> Dataset:
    """The recording with its columns in the order of the robot's joints, their names, and a note on reversed torques.

    Where the recording names its joints, those of the robot are picked by name, others (a gripper's) are left out; a
    prefix as in ``panda_joint1`` does not matter.

    Raises
    ------
    DatasetError
        If the number of joints differs, none of them moves, or positions are so far outside the joint limits that
        degrees are the likely unit.
    """
    dataset = in_robot_order(dataset, robot)
    if dataset.n != robot.n:
        joints = [joint.name for joint in robot.coordinates]
        choice = "choose the columns that belong to it"
        if dataset.n < robot.n:
            choice += f", or lock the joints that did not move, e.g. --lock {','.join(joints[dataset.n :])}"
        raise DatasetError(
            f"{dataset.name} has {dataset.n} joints, robot '{robot.name}' has {robot.n} ({', '.join(joints)}); {choice}"
        )
    if not (np.ptp(dataset.q, axis=0) >= STILL).any():
        raise DatasetError(
            f"{dataset.name}: no joint moves (by {STILL:g} rad or m at least): a recording of standstill does not "
            "determine the dynamics; choose the columns of the measured positions"
        )
    check_angles(dataset.q, robot, dataset.name)
    names = tuple(joint.name for joint in robot.coordinates)
    dataset = replace(dataset, joints=dataset.joints or names)
    found = _reversed(dataset, robot)
    against = [f"'{names[one.joint]}'" for one in found if one.joint is not None]
    why = "contradicts the others', or its friction and inertia are negative: its sign seems reversed"
    notes = [f"{dataset.name}: the torque of joint {', '.join(against)} {why}"] if against else []
    known = {one.joint for one in dataset.defects if one.kind == "reversed"}
    return replace(
        dataset,
        notes=(*dataset.notes, *(note for note in notes if note not in dataset.notes)),
        defects=(*dataset.defects, *(one for one in found if one.joint not in known)),
    )


def in_robot_order(dataset: Dataset, robot: Robot) -> Dataset:
    """Columns picked and ordered by the names of the joints, where both know them."""
    order = []
    for joint in robot.coordinates:
        exact = [k for k, name in enumerate(dataset.joints) if name == joint.name]
        near = [k for k, name in enumerate(dataset.joints) if _same_joint(name, joint.name)]
        chosen = exact or near
        if len(chosen) != 1:
            return dataset
        order += chosen
    if len(set(order)) != robot.n or order == list(range(dataset.n)):
        return dataset
    left = [name for k, name in enumerate(dataset.joints) if k not in order]
    out = f"; left out: {', '.join(left)}" if left else ""
    return dataset.columns(order, f"joints by name in the order of robot '{robot.name}'{out}")


def _same_joint(name: str, joint: str) -> bool:
    """Whether two names differ by a prefix or by case only."""
    a, b = name.lower(), joint.lower()
    return a == b or a.endswith(f"_{b}") or b.endswith(f"_{a}")


#: Recorded positions may exceed the limits by this factor: those of a description are often a little narrower.
OVERRUN = 1.05


def check_angles(q: NDArray[np.float64], robot: Robot, name: str) -> None:
    """DatasetError if positions (samples, n) are so far outside the joint limits that degrees are the likely unit."""
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    bound = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
    bound = np.where(np.isfinite(bound), bound, 4 * np.pi)
    reach = np.abs(q).max(axis=0)
    worst = int(np.argmax(np.where(revolute, reach / bound, 0.0)))
    if (
        revolute[worst]
        and reach[worst] > 2 * bound[worst]
        and (np.deg2rad(reach[revolute]) <= OVERRUN * bound[revolute]).all()
    ):
        raise DatasetError(
            f"{name}: joint '{robot.coordinates[worst].name}' reaches {reach[worst]:.4g}, its limit is "
            f"{bound[worst]:.4g} rad: these look like degrees. Say degrees = true in a TOML beside the "
            "recording (`casid new recording`), read_dataset(..., degrees=True) in Python: positions, velocities and "
            "accelerations are converted"
        )


#: Largest motion of a locked joint, and largest distance from the position it is locked at [rad or m]: that of an
#: angle given in whole degrees.
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
