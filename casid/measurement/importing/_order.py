"""Clocks, and tables without names: which column is the time, which blocks are positions, velocities and torques."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.errors import DatasetError
from casid.measurement._text import clock_seconds
from casid.measurement.importing._evidence import (
    LEAST_SPEED,
    MOST_SPEED,
    beyond_limits,
    explained,
    speed_of,
    velocity_factors,
)

Array = NDArray[np.float64]

#: Least share of the torques that the right order explains, and most that any other one does.
_RIGHT, _OTHER = 0.9, 0.8


def even_clock(columns: Sequence[Array]) -> int | None:
    """Index of the only column that advances evenly and is no count of samples."""
    found = []
    for k, column in enumerate(columns):
        steps = np.diff(column)
        middle = float(np.median(steps)) if len(steps) else 0.0
        if middle > 0 and np.isfinite(column).all() and (np.abs(steps - middle) < 0.5 * middle).mean() > 0.99:
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
            if i == j or not all(_derivative(t, values[i], values[k]) for k in rest):
                continue
            if beyond_limits(robot, values[i]) or not LEAST_SPEED <= speed_of(robot, t, values[i]) <= MOST_SPEED:
                continue
            fit = explained(robot, t, values[i], values[j])
            share = -1.0 if fit is None else float(np.nanmedian(fit.share))
            ways.append((share, {"q": parts[i], "tau": parts[j], **({"dq": parts[rest[0]]} if rest else {})}))
    ways.sort(key=lambda way: -way[0])
    clear = ways and ways[0][0] > _RIGHT and all(way[0] < _OTHER for way in ways[1:])
    return ways[0][1] if clear else None


def _derivative(t: Array, q: Array, dq: Array) -> bool:
    factor, correlation = velocity_factors(t, q, dq)
    return bool(0.9 < np.nanmedian(factor) < 1.1 and np.nanmin(correlation) > 0.8)


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
    steps = np.diff(t)
    return bool(np.isfinite(t).all() and (steps >= 0).all() and (steps > 0).mean() > 0.9)


def rate_text(t: Array, factor: float) -> str:
    """Sampling rate in words."""
    step = float(np.median(np.diff(t))) * factor
    return f"{1.0 / step:.5g} Hz" if step > 0 else "no rate"
