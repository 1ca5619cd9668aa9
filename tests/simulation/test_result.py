"""Results and their recordings."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import Passive
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.motion import Hold
from casid.simulation import (
    Plant,
    simulate,
)
from casid.simulation._result import EnergyBalance
from problems.spatial_2r import true_parameters


def test_recording_of_a_run_that_ended_at_once_is_refused() -> None:
    robot = casid.load_robot("spatial_2r")
    plant = Plant(Model(robot), -true_parameters())
    done = simulate(plant, Passive(2), Hold(np.zeros(2)), 1.0)
    with pytest.raises(DatasetError, match=r"no recording.*positive definiteness"):
        done.dataset()


VISCOUS, COULOMB = np.array([0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.1]), np.array([0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05])


def test_imbalance_is_what_kinetic_potential_and_dissipated_energy_do_not_explain() -> None:
    kinetic, potential = np.array([1.0, 2.0, 3.0]), np.array([0.0, -1.0, -1.0])
    work, dissipated = np.array([0.0, 0.5, 2.0]), np.array([0.0, 0.5, 1.0])
    balance = EnergyBalance(kinetic, potential, work, dissipated)
    assert balance.total.tolist() == [1.0, 1.0, 2.0]
    assert balance.imbalance.tolist() == [0.0, 0.0, 0.0]
    assert EnergyBalance(np.add(kinetic, [0, 0, 0.3]), potential, work, dissipated).relative_imbalance == pytest.approx(
        0.3 / 3.3
    )
