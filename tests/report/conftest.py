"""An identification whose report several tests read."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.identification import Checks, Identification, ModelOptions, identify
from casid.testing import recording


@pytest.fixture(scope="session")
def result() -> Identification:
    """A robot of two joints with viscous friction, recovered from a simulated recording."""
    robot = casid.load_robot("spatial_2r")
    robot = robot.with_parameters(np.array([0.1, 0, 0, 0.1, 0, 0.1, 0.1, 0, 0, 2.0] * 2))
    model = casid.Model(robot, ("viscous",))
    data = recording(model, np.append(robot.standard_parameters(), [0.4, 0.3]), noise=0.01)
    return identify(robot, data, model=ModelOptions(terms=("viscous",)), processing=False, checks=Checks(folds=0))
