"""Fixtures of the tests of excitation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import casid
from casid.description import Limits, Robot
from casid.excitation import Observation
from casid.motion import Motion


@pytest.fixture(scope="module")
def arm() -> Robot:
    """The two-link arm, with limits."""
    two = np.full(2, 2.0)
    return replace(casid.load_robot("spatial_2r"), limits=Limits(-two, two, two, 4 * two, np.full(2, np.inf), 50 * two))


@pytest.fixture(scope="module")
def observed(arm: Robot) -> Observation:
    return Observation.of_model(casid.Model(arm, terms=("viscous", "coulomb")))


def random_motion(n: int = 7, count: int = 6) -> Motion:
    rng = np.random.default_rng(5)
    return Motion(*rng.normal(size=(3, n, count)).transpose(0, 2, 1))


@pytest.fixture(name="random_motion")
def fixture_of_random_motion() -> Callable[..., Any]:
    return random_motion
