"""Fixtures of the tests of control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import casid
from casid.control import Controller, ControllerSettings, nominal
from casid.motion import Hold
from casid.simulation import Plant, Simulation, simulate

PANDA = casid.load_robot("panda")


POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


def settings(**changes: object) -> ControllerSettings:
    return replace(ControllerSettings(*nominal(PANDA), POSTURE, 10.0, "flange"), **changes)  # type: ignore[arg-type]


@pytest.fixture(name="settings")
def fixture_of_settings() -> Callable[..., Any]:
    return settings


def run(controller: Controller, q0: np.ndarray = POSTURE, duration: float = 1.0, **options: object) -> Simulation:
    options = {"rate": 2000.0, **options}
    return simulate(Plant.of(PANDA), controller, Hold(POSTURE), duration, q0=q0, **options)  # type: ignore[arg-type]


@pytest.fixture(name="run")
def fixture_of_run() -> Callable[..., Any]:
    return run
