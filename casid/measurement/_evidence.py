"""What the numbers of a log say: clock, blocks, units; by differences, limits, the robot's dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.measurement._checks import explained
from casid.measurement._defects import CORRELATED, MOST_LOST, same_velocity, velocity_factors
from casid.measurement._text import clock_seconds

#: Sampling rates of recordings [Hz].
SLOWEST, FASTEST = 10.0, 12e3
#: Speeds of recordings as a share of the limits; a limit that is not known is taken as 3 rad/s or m/s.
LEAST_SPEED, MOST_SPEED, USUAL_LIMIT = 0.01, 1.3, 3.0
#: Largest stroke of a joint in recordings that are made for identification [rad or m].
LEAST_STROKE = np.radians(10.0)


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
        if middle > 0 and (np.rint(steps / middle) == 1).mean() > _EVEN and not np.all(steps == 1.0):
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
    for i, j, *rest in permutations(range(len(parts))):
        found = [velocity_factors(t, values[i], values[k]) for k in rest]
        if not all(same_velocity(np.nanmedian(f)) and np.nanmin(r) > CORRELATED for f, r in found):
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
