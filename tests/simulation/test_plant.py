"""Plants and their friction."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import Passive
from casid.errors import CasidWarning
from casid.motion import Hold
from casid.simulation import (
    Plant,
    SmoothCoulomb,
    simulate,
)
from casid.simulation.integrators import RungeKutta4


def test_steps_too_long_for_the_friction_are_warned_of() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(1e-3), coulomb=[0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05])
    with pytest.warns(CasidWarning, match=r"joint 3 is too steep for steps of 0.001 s"):
        simulate(plant, Passive(7), Hold(np.zeros(7)), 0.01, integrator=RungeKutta4())
