"""Exact dry friction against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import Passive
from casid.description import Inertial, Joint, Link, Robot
from casid.dynamics import Model
from casid.motion import Hold
from casid.simulation import (
    ExactCoulomb,
    Plant,
    SmoothCoulomb,
    simulate,
)
from casid.simulation._stick_slip import StickSlip
from casid.simulation.integrators import Cvodes, DormandPrince

GRAVITY = 9.80665


def sledge(angle: float = 0.0) -> Robot:
    """A mass of 2 kg that slides along x, gravity inclined by an angle."""
    link = Link("mass", Inertial(2.0, np.zeros(3), np.eye(3)))
    gravity = GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    return Robot("sledge", (Joint("slide", "prismatic", -1, link, axis=np.array([1.0, 0.0, 0.0])),), gravity=gravity)


def test_exact_friction_stops_a_sledge_where_the_closed_form_stops(free) -> None:
    plant = Plant.of(sledge(), ExactCoulomb(), coulomb=3.0)
    done = free(plant, 3.0, DormandPrince(), 0.0, dq0=2.0, rate=10.0)
    a, stop = 1.5, 2.0 / 1.5  # v0 / (F / m)
    t = np.minimum(done.t, stop)
    assert np.abs(done.q[:, 0] - (2.0 * t - a * t**2 / 2)).max() < 1e-12
    assert (done.dq[done.t > stop] == 0.0).all()
    assert done.dissipated[-1] == pytest.approx(4.0, rel=1e-12)  # m v0^2 / 2


@pytest.mark.parametrize(("angle", "moves"), [(0.15, False), (0.16, True)])
def test_exact_friction_holds_on_a_slope_until_it_is_too_steep(free, angle: float, moves: bool) -> None:
    """Friction 3 N holds 2 kg up to asin(3 / (2 g)) = 0.1536 rad."""
    plant = Plant.of(sledge(angle), ExactCoulomb(), coulomb=3.0)
    done = free(plant, 2.0, DormandPrince(), 0.0, rate=10.0)
    expected = (GRAVITY * np.sin(angle) - 1.5) * done.t**2 / 2 if moves else 0 * done.t
    assert np.abs(done.q[:, 0] - expected).max() < 1e-10
    creeping = free(Plant.of(sledge(angle), SmoothCoulomb(1e-3), coulomb=3.0), 2.0, DormandPrince(), 0.0, rate=10.0)
    assert creeping.q[-1, 0] > 1e-4 or not moves  # smooth friction cannot hold


def test_exact_friction_with_offset_and_viscosity_matches_smooth_friction_in_the_limit() -> None:
    robot = casid.load_robot("panda")
    coefficients = {"viscous": 0.5, "coulomb": [0.6, 0.5, 0.4, 0.5, 0.2, 0.2, 0.1], "offset": 0.05}
    q0 = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.5, 0.1])
    ends = []
    for friction in (ExactCoulomb(), SmoothCoulomb(1e-5)):
        plant = Plant.of(robot, friction, **coefficients)
        done = simulate(
            plant, Passive(7), Hold(q0), 0.8, integrator=Cvodes(1e-9) if ends else DormandPrince(), rate=100.0
        )
        assert done.energy.relative_imbalance < 1e-6
        ends.append(done.q[-1])
    assert np.abs(ends[0] - ends[1]).max() < 2e-3
    assert np.abs(ends[0] - q0).max() > 0.3


def test_motors_behind_a_transmission_stick_together_with_their_joints() -> None:
    """All of the WAM's wrist and shoulder are held: joints and motors stick redundantly, nothing moves."""
    model = Model(casid.load_robot("wam7"), ("coulomb", "motor_coulomb", "motor_rotor"))
    values = model.parameters(casid.load_robot("wam7").standard_parameters())
    for column, (term, _) in model.term_columns.items():
        values[column] = 0.01 if term.name == "motor_rotor" else 40.0
    plant = Plant(model, values, ExactCoulomb())
    done = simulate(plant, Passive(7), Hold(np.full(7, 0.5)), 1.0, integrator=DormandPrince(), rate=10.0)
    assert (done.q == 0.5).all()
    assert (done.dq == 0.0).all()


@pytest.mark.parametrize(("force", "sticks"), [(2.9, True), (-2.9, True), (3.1, False)])
def test_a_body_at_rest_sticks_up_to_the_friction_s_limit(force: float, sticks: bool) -> None:
    plant = Plant.of(sledge(), ExactCoulomb(), coulomb=3.0)
    modes = StickSlip(plant)
    state, mode = modes.begin(plant.start([0.0]), np.array([force]))
    assert mode.at_rest == sticks
    assert modes.holds(state, np.array([force]), mode)
    assert (mode.signs == (0.0 if sticks else np.sign(force))).all()
