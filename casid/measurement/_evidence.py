"""What the numbers of a log say: clock, blocks, units, signs; by differences, limits, the robot's dynamics."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from casid.arrays import ALIKE, RANK, Array
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import REPEATED
from casid.measurement._dataset import Dataset
from casid.measurement._defects import CORRELATED, MOST_LOST, same_velocity, velocity_factors
from casid.measurement._processing import Processing, prepare
from casid.measurement._text import clock_seconds

#: Samples that enter the fit of the dynamics.
_SAMPLES = 1200
#: Sampling rates of recordings [Hz].
SLOWEST, FASTEST = 10.0, 12e3
#: Speeds of recordings as a share of the limits; a limit that is not known is taken as 3 rad/s or m/s.
LEAST_SPEED, MOST_SPEED, USUAL_LIMIT = 0.01, 1.3, 3.0
#: Largest stroke of a joint in recordings that are made for identification [rad or m].
LEAST_STROKE = np.radians(10.0)


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
            data = prepare(
                Dataset(t, q, tau), Processing(velocity="differentiate", filter_columns=False, defects=False, every=1)
            )
    except DatasetError:
        return None
    assert data.dq is not None and data.ddq is not None
    pick = np.linspace(0, len(data) - 1, min(_SAMPLES, len(data))).astype(int)
    q, dq, ddq, tau = data.q[pick], data.dq[pick], data.ddq[pick], data.tau[pick]
    model = Model(robot)
    rows = model.regressor(q, dq, ddq)
    fixed = model.regressor(q, 0 * q, 0 * q)
    found = []
    for k in range(robot.n):
        moved = np.asarray(model.regressor(q, 0 * q, np.tile(np.eye(robot.n)[k], (len(q), 1))))
        inertia = (moved[:, k] - fixed[:, k]).mean(axis=0)
        found.append(_joint(rows[:, k], fixed[:, k], inertia, dq[:, k], tau[:, k]))
    share, gravity, sense, noise = np.array(found).T
    ends: list[Any] = [
        np.linalg.qr(np.column_stack([rows[:, k], tau[:, k]]) / noise[k], mode="r") for k in range(robot.n)
    ]
    signs = _signs(np.array([end[:, :-1] for end in ends]), np.array([end[:, -1] for end in ends]))
    signs = signs * (1.0 if float(signs @ np.nan_to_num(sense)) >= 0 else -1.0)
    signs = np.where(np.abs(sense) > CERTAIN, np.sign(sense), signs)
    return Explained(share, gravity, tuple(int(k) for k in np.flatnonzero(signs < 0)))


def _signs(rows: Array, tau: Array) -> Array:
    """Sign of each joint's torque, up to a common one, with which one set of parameters fits all.

    Parameters
    ----------
    rows, tau
        Triangular factors of the joints, shapes (n, r, P) and (n, r).
    """
    n = len(rows)
    basis = _basis(rows.reshape(-1, rows.shape[2]))
    loose = [tau[k] - (b := _basis(rows[k])) @ (b.T @ tau[k]) for k in range(n)]
    floor = sum(float(one @ one) for one in loose)

    parts = np.array([basis.reshape(n, -1, basis.shape[1])[k].T @ tau[k] for k in range(n)])

    def misfit(signs: Array) -> float:  # the torques' own length does not depend on the signs
        return max(float((tau**2).sum() - ((signs @ parts) ** 2).sum()) - floor, 0.0) + floor

    ways = [np.array([1.0, *one]) for one in product((1.0, -1.0), repeat=min(n, _FEW) - 1)]
    ways = [np.concatenate([way, np.ones(n - len(way))]) for way in ways]
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


def speed_of(robot: Robot, t: Array, q: Array) -> float:
    """Largest speed of a joint as a share of its limit, single steps aside."""
    stride = max(1, len(t) // 2000)
    dq = np.abs(q[stride:] - q[:-stride]) / np.maximum(t[stride:] - t[:-stride], 1e-12)[:, None]
    limits = np.where(np.isfinite(robot.limits.velocity), robot.limits.velocity, USUAL_LIMIT)
    return float((np.quantile(dq, 0.995, axis=0) / np.where(limits > 0, limits, USUAL_LIMIT)).max())


def beyond_limits(robot: Robot, q: Array) -> bool:
    """Whether positions lie outside the joint limits by more than a tenth of the stroke."""
    lower, upper = robot.limits.lower, robot.limits.upper
    lower, upper = np.where(np.isfinite(lower), lower, -4 * np.pi), np.where(np.isfinite(upper), upper, 4 * np.pi)
    room = 0.1 * (upper - lower) + 1e-3
    return bool(((q.min(axis=0) < lower - room) | (q.max(axis=0) > upper + room)).any())


#: Least share of the torques that the right order explains, and most that any other one does.
_RIGHT, _OTHER = 0.9, 0.8

#: Least share of the steps of a clock that are its period; the others are gaps.
_EVEN = 0.99


def even_clock(columns: Sequence[Array]) -> int | None:
    """Index of the only column that advances evenly and is no count of samples."""
    found = []
    for k, column in enumerate(columns):
        if not np.isfinite(column).all():
            continue
        steps = np.diff(column)
        middle = float(np.median(steps)) if len(steps) else 0.0
        if middle > 0 and (np.rint(steps / middle) == 1).mean() > _EVEN:
            if not (middle == 1.0 and np.all(steps == 1.0)):
                found.append(k)
    return found[0] if len(found) == 1 else None


def blocks(robot: Robot, t: Array, columns: Sequence[int], table: Sequence[Array]) -> dict[str, list[int]] | None:
    """Columns of q, dq and tau in a table of as many blocks of n columns; ``None`` where the numbers do not decide.

    Parameters
    ----------
    t
        Time [s].
    columns
        Indices of all columns but the time.
    table
        Columns of the file; angles are taken as radians.
    """
    n = robot.n
    if len(columns) not in (2 * n, 3 * n):
        return None
    parts = [list(columns[k : k + n]) for k in range(0, len(columns), n)]
    values = [np.column_stack([table[k] for k in part]) for part in parts]
    ways = []
    for i in range(len(parts)):
        for j in range(len(parts)):
            rest = [k for k in range(len(parts)) if k not in (i, j)]
            found = [velocity_factors(t, values[i], values[k]) for k in rest]
            if i == j or not all(same_velocity(np.nanmedian(f)) and np.nanmin(r) > CORRELATED for f, r in found):
                continue
            if beyond_limits(robot, values[i]) or not LEAST_SPEED <= speed_of(robot, t, values[i]) <= MOST_SPEED:
                continue
            fit = explained(robot, t, values[i], values[j])
            share = -1.0 if fit is None else float(np.nanmedian(fit.share))
            ways.append((share, {"q": parts[i], "tau": parts[j], **({"dq": parts[rest[0]]} if rest else {})}))
    ways.sort(key=lambda way: -way[0])
    clear = ways and ways[0][0] > _RIGHT and all(way[0] < _OTHER for way in ways[1:])
    return ways[0][1] if clear else None


def clock_of(cells: Any, where: str) -> Array | None:
    """Seconds of a column of times of day; ``None`` for other texts."""
    if not any(":" in str(cell) for cell in cells[:3]):
        return None
    try:
        return clock_seconds(cells, where)
    except DatasetError:
        return None


def advances(t: Array) -> bool:
    """Whether a clock goes on from sample to sample, single repeats and no step back aside."""
    if not np.isfinite(t).all():
        return False
    steps = np.diff(t)
    return bool((steps >= 0).all() and (steps == 0).mean() < MOST_LOST)


def rate_text(t: Array, factor: float) -> str:
    """Sampling rate in words."""
    step = float(np.median(np.diff(t))) * factor
    return f"{1.0 / step:.5g} Hz" if step > 0 else "no rate"
