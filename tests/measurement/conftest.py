"""Recordings with known columns, shared by the tests of this room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casid.description import Robot, load_robot
from casid.dynamics import Model
from casid.measurement import Dataset
from casid.testing import arm as arm_of  # noqa: F401
from casid.testing import motion

T, Q, DQ, _ = motion(3, 40, 1)
TAU = 2.0 * Q + 1.0


def csv(header: list[str], table: np.ndarray, delimiter: str = ",") -> str:
    """Text of a table of numbers."""
    rows = (delimiter.join(repr(float(x)) for x in row) for row in table)
    return "\n".join([delimiter.join(header), *rows]) + "\n"


def written(path: Path, header: list[str], *columns: np.ndarray) -> Path:
    """A plain csv."""
    path.write_text(csv(header, np.column_stack(columns)), encoding="utf-8")
    return path


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


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, Dataset]:
    """A planar arm with friction, at 100 Hz."""
    robot = load_robot("spatial_2r")
    model = Model(robot, ("viscous", "coulomb", "offset"))
    t, q, dq, ddq = motion(2, 801, 2, speed=0.7)
    t = np.arange(801) * 0.01
    body = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0, 0.2, 0.01, 0.01, 0.2, 0.01, 0.1, 0.2, 0.05, 0.1, 1.5]
    pi = np.array([*body, 0.5, 0.4, 0.1, 0.5, 0.4, 0.1])
    tau = np.array([model.inverse_dynamics(*row, pi) for row in zip(q, dq, ddq, strict=True)])
    return robot, Dataset(t, q, tau)


def german_log(
    path: Path, data: Dataset, sign: float = 1.0, names: str = "Zeit [ms];A1_Ist [°];A2_Ist [°];M1;M2"
) -> Path:
    """A German log: preamble, degrees, milliseconds, decimal commas, a status column."""
    rows = [
        ";".join(f"{x:.6f}".replace(".", ",") for x in (1e3 * t, *np.rad2deg(q), tau[0], sign * tau[1])) + ";läuft"
        for t, q, tau in zip(data.t, data.q, data.tau, strict=True)
    ]
    text = "\r\n".join(["Gerät 7", "", f"{names};Zustand", *rows, ""])
    path.write_bytes(text.encode("cp1252"))
    return path
