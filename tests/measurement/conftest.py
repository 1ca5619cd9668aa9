"""Recordings with known columns, shared by the tests of this room."""

from __future__ import annotations

import numpy as np
import pytest

from casid.description import load_robot
from casid.dynamics import Model
from casid.measurement import Dataset
from casid.testing._synthetic import motion

T, Q, DQ, _ = motion(3, 40, 1)
TAU = 2.0 * Q + 1.0


def csv(header: list[str], table: np.ndarray, delimiter: str = ",") -> str:
    """Text of a table of numbers."""
    rows = (delimiter.join(repr(float(x)) for x in row) for row in table)
    return "\n".join([delimiter.join(header), *rows]) + "\n"


def sine(rate: float = 1000.0, seconds: float = 10.0, n: int = 2) -> Dataset:
    """A slow sine at every joint."""
    t = np.arange(0.0, seconds, 1.0 / rate)
    phase = np.arange(1, n + 1) * 0.7
    q = np.sin(2 * np.pi * 0.3 * t[:, None] + phase)
    return Dataset(t, q, np.cos(t)[:, None] * np.ones(n), name="sine")


@pytest.fixture(scope="module")
def model() -> Model:
    """A seven-joint arm with friction."""
    return Model(load_robot("kuka_iiwa"), ("viscous", "coulomb", "offset"))
