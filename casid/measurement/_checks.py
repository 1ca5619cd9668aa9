"""Does a recording fit the robot, its locked joints left out, and its dynamics, torque by torque? Errors, or notes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, RANK, Array
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import REPEATED
from casid.measurement._dataset import Dataset
from casid.measurement._defects import STILL, Defect, standing_joints
from casid.measurement._processing import Processing, is_motion, prepare, repaired


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
    """As `check_columns`, with a note on torques whose sign contradicts the robot's dynamics.

    Raises
    ------
    DatasetError
        As `check_columns`.
    """
    dataset = check_columns(dataset, robot)
    known = {one.joint for one in dataset.defects if one.kind == "reversed"}
    found = [one for one in _reversed(dataset, robot) if one.joint not in known]
    against = [f"'{robot.coordinates[one.joint].name}'" for one in found if one.joint is not None]
    why = "contradicts the others', or its friction and inertia are negative: its sign seems reversed"
    notes = [f"{dataset.name}: the torque of joint {', '.join(against)} {why}"] if against else []
    return replace(dataset, notes=(*dataset.notes, *notes), defects=(*dataset.defects, *found))


def check_columns(dataset: Dataset, robot: Robot) -> Dataset:
    """The recording with its columns in the order of the robot's joints, and their names.

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
    if standing_joints(dataset.q).all():
        raise DatasetError(
            f"{dataset.name}: no joint moves (by {STILL:g} rad or m at least): a recording of standstill does not "
            "determine the dynamics; choose the columns of the measured positions"
        )
    check_angles(dataset.q, robot, dataset.name)
    return replace(dataset, joints=dataset.joints or tuple(joint.name for joint in robot.coordinates))


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


def likely_degrees(q: NDArray[np.float64], robot: Robot) -> int | None:
    """The joint whose positions (samples, n) are so far outside its limits that degrees are the likely unit."""
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    bound = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
    bound = np.where(np.isfinite(bound), bound, 4 * np.pi)
    reach = np.where(revolute, np.abs(q).max(axis=0), 0.0)
    worst = int(np.argmax(reach / bound))
    beyond = reach[worst] > 2 * bound[worst] and bool((np.deg2rad(reach) <= OVERRUN * bound).all())
    return worst if beyond else None


def check_angles(q: NDArray[np.float64], robot: Robot, name: str) -> None:
    """DatasetError if positions (samples, n) are likely in degrees."""
    worst = likely_degrees(q, robot)
    if worst is not None:
        joint, reach = robot.coordinates[worst], float(np.abs(q[:, worst]).max())
        bound = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))[worst]
        raise DatasetError(
            f"{name}: joint '{joint.name}' reaches {reach:.4g}, its limit is "
            f"{bound if np.isfinite(bound) else 4 * np.pi:.4g} rad: these look like degrees. Say degrees = true in a "
            "TOML beside the recording (`casid new recording`), read_dataset(..., degrees=True) in Python: positions, "
            "velocities and accelerations are converted"
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


# ------------------------------------------------------------------ torques by the robot's dynamics

#: Samples that enter the fit of the dynamics.
_SAMPLES = 1200
#: Friction and inertia so many deviations from zero show the sign of a torque; misfits that differ by this factor too.
CERTAIN, _BETTER = 6.0, 3.0
#: Joints whose signs are tried, all ways.
_FEW = 10


@dataclass(frozen=True)
class Explained:
    """How far the robot's dynamics with friction explain each torque, whatever its scale.

    Attributes
    ----------
    share : ndarray, shape (n,)
        Share of the variance (R^2) under each joint's own parameters.
    gravity : ndarray, shape (n,)
        Correlation of the torque with the gravity torque that fits it best; NaN where gravity does not act.
    reversed : tuple of int
        Joints (from 0) whose torque has the other sign: with it all joints' torques fit one set of parameters far
        better, and friction and inertia are positive.
    """

    share: Array
    gravity: Array
    reversed: tuple[int, ...]


def explained(robot: Robot, t: Array, q: Array, tau: Array) -> Explained | None:
    """Fit of every joint's torque by its row of the dynamics; None where the recording cannot be processed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settings = Processing(velocity="differentiate", filter_columns=False, defects=False, every=1)
            data = prepare(Dataset(t, q, tau), settings)
    except DatasetError:
        return None
    assert data.dq is not None and data.ddq is not None
    pick = np.linspace(0, len(data) - 1, min(_SAMPLES, len(data))).astype(int)
    q, dq, ddq, tau = data.q[pick], data.dq[pick], data.ddq[pick], data.tau[pick]
    model = Model(robot)
    rows = model.regressor(q, dq, ddq)
    fixed = model.regressor(q, 0 * q, 0 * q)
    found, ends = [], []
    for k in range(robot.n):
        moved = np.asarray(model.regressor(q, 0 * q, np.tile(np.eye(robot.n)[k], (len(q), 1))))
        inertia = (moved[:, k] - fixed[:, k]).mean(axis=0)
        found.append(_joint(rows[:, k], fixed[:, k], inertia, dq[:, k], tau[:, k]))
        ends.append(np.linalg.qr(np.column_stack([rows[:, k], tau[:, k]]) / found[k][-1], mode="r"))
    share, gravity, sense, _ = np.array(found).T
    signs = _signs(np.array(ends))
    signs = signs * (1.0 if float(signs @ np.nan_to_num(sense)) >= 0 else -1.0)
    signs = np.where(np.abs(sense) > CERTAIN, np.sign(sense), signs)
    return Explained(share, gravity, tuple(int(k) for k in np.flatnonzero(signs < 0)))


def _signs(factors: Array) -> Array:
    """Sign of each joint's torque, up to a common one, with which one set of parameters fits all.

    Parameters
    ----------
    factors
        Triangular factors of each joint's ``[rows, torque]``, shape (n, r, P + 1).
    """
    n, rows, tau = len(factors), factors[:, :, :-1], factors[:, :, -1]
    basis = _basis(rows.reshape(-1, rows.shape[2]))
    loose = [tau[k] - (b := _basis(rows[k])) @ (b.T @ tau[k]) for k in range(n)]
    floor = sum(float(one @ one) for one in loose)

    parts = np.array([basis.reshape(n, -1, basis.shape[1])[k].T @ tau[k] for k in range(n)])

    def misfit(signs: Array) -> float:  # the torques' own length does not depend on the signs
        return max(float((tau**2).sum() - ((signs @ parts) ** 2).sum()) - floor, 0.0) + floor

    tried = min(n, _FEW) - 1
    ways = [np.array([1.0, *one, *np.ones(n - 1 - tried)]) for one in product((1.0, -1.0), repeat=tried)]
    best = min(ways, key=misfit)
    return best if misfit(best) < misfit(np.ones(n)) / _BETTER else np.ones(n)


def _joint(rows: Array, fixed: Array, inertia: Array, dq: Array, tau: Array) -> tuple[float, ...]:
    """Explained share, correlation with gravity, friction and inertia over their deviations, and noise of a joint."""
    power = float(((tau - tau.mean()) ** 2).sum())
    speed = float(np.abs(dq).max())
    if power == 0.0 or speed == 0.0:
        return np.nan, np.nan, 0.0, 1.0
    columns = np.column_stack([np.tanh(dq / (0.03 * speed)), np.ones_like(dq), rows])
    scale = np.linalg.norm(columns, axis=0)
    used = scale > RANK * scale.max()
    u, s, v = np.linalg.svd(columns[:, used] / scale[used], full_matrices=False)
    kept = s > RANK * s[0]
    u, s, v = u[:, kept], s[kept], v[kept]
    left = tau - u @ (u.T @ tau)
    noise = np.sqrt(REPEATED * float(left @ left) / len(dq)) + 1e-12
    sense = 0.0
    for wanted in (np.eye(1, len(scale)).ravel(), np.concatenate([[0.0, 0.0], inertia])):
        weights = (v @ (wanted[used] / scale[used])) / s
        sense += float(weights @ (u.T @ tau)) / (noise * float(np.linalg.norm(weights)) + 1e-300)
    still = _basis(np.column_stack([np.ones_like(dq), fixed]))
    torque = still @ (still.T @ tau)
    acts = np.ptp(fixed, axis=0).max(initial=0.0) > ALIKE and np.ptp(torque) > 0
    correlation = float(np.corrcoef(torque, tau)[0, 1]) if acts else np.nan
    return 1.0 - float(left @ left) / power, correlation, sense, max(noise, 1e-9)


def _basis(columns: Array) -> Array:
    """Orthonormal basis of what columns span."""
    scale = np.linalg.norm(columns, axis=0)
    used = scale > RANK * scale.max(initial=0.0)  # what rounding leaves of a column that does not act
    u, s, _ = np.linalg.svd(columns[:, used] / scale[used], full_matrices=False)
    kept: Array = u[:, s > RANK * s.max(initial=0.0)]
    return kept
