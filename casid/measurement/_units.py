"""Units of recorded signals: the factor of each to SI, and the ways in which files write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.files._words import listed, shown

_DEG, _RPM = math.pi / 180.0, 2.0 * math.pi / 60.0
#: Signal -> unit -> factor to SI.
UNITS: Mapping[str, Mapping[str, float]] = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": {"rad": 1.0, "deg": _DEG, "mrad": 1e-3, "rev": 2 * math.pi, "m": 1.0, "mm": 1e-3},
    "dq": {"rad/s": 1.0, "deg/s": _DEG, "mrad/s": 1e-3, "rpm": _RPM, "rev/s": 2 * math.pi, "m/s": 1.0, "mm/s": 1e-3},
    "ddq": {"rad/s^2": 1.0, "deg/s^2": _DEG, "m/s^2": 1.0, "mm/s^2": 1e-3},
    "tau": {"N.m": 1.0, "mN.m": 1e-3, "kN.m": 1e3, "N": 1.0, "kN": 1e3},
}


def factors(units: object, signal: str, n: int, where: str) -> NDArray[np.float64]:
    """Factor to SI of each column of a signal, shape (n,).

    Parameters
    ----------
    units
        One unit for all columns, or one a column.
    signal
        ``t``, ``q``, ``dq``, ``ddq`` or ``tau``; others have the units of ``q``.
    n
        Number of columns.
    where
        Name of the file, for messages.

    Raises
    ------
    DatasetError
        If a unit is not known, or their number is not that of the columns.
    """
    known = UNITS.get(signal, UNITS["q"])
    given = [units] * n if isinstance(units, str) else list(units) if isinstance(units, Sequence) else [units]
    for unit in given:
        if unit not in known:
            raise DatasetError(f"{where}: unit of {signal} is {shown(unit)}; known are {listed(known)}")
    if len(given) != n:
        raise DatasetError(f"{where}: {len(given)} units of {signal} for {n} columns")
    return np.array([known[str(unit)] for unit in given])
