"""Results and their recordings."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import PD, Passive
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.motion import Hold, Sine
from casid.simulation import (
    Plant,
    simulate,
)
from casid.simulation._result import EnergyBalance, Reason
from casid.simulation.integrators import Cvodes, DormandPrince, Idas, Integrator, RungeKutta4
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


def test_unstable_gains_end_with_time_and_reason_and_keep_what_there_is() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot)
    done = simulate(plant, PD(np.full(7, 5e4), np.full(7, 500.0)), Sine.within(robot), 5.0)  # type: ignore[call-arg]
    assert not done.end.finished
    assert 0.0 < done.end.time < 5.0
    assert done.end.reason in (Reason.DIVERGED, Reason.NOT_FINITE)
    assert "stopped at" in str(done.end)
    assert len(done) >= 1
    assert np.isfinite(done.q).all()
    assert np.isfinite(done.tau).all()


@pytest.mark.parametrize("integrator", [RungeKutta4(), DormandPrince(), Cvodes(), Idas()])
def test_a_plant_without_a_positive_definite_mass_matrix_is_named(integrator: Integrator) -> None:
    """m0 + m1 cos(q) changes its sign on the way of a two-link arm with a negative inertia."""
    robot = casid.load_robot("spatial_2r")
    pi = true_parameters()
    pi[10:20] *= -0.02
    plant = Plant(Model(robot), pi)
    done = simulate(plant, Passive(2), Hold(np.zeros(2)), 1.0, integrator=integrator)
    assert done.end.reason is Reason.INDEFINITE
    assert "positive definite" in str(done.end)
    assert "pivot of joint 'joint" in str(done.end)
    assert done.end.time < 0.1
