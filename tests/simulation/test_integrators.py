"""Integrators against closed forms, with smooth and with exact dry friction."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque, Passive
from casid.description import Inertial, Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.motion import Hold, Sine
from casid.simulation import ExactCoulomb, Plant, SmoothCoulomb, simulate
from casid.simulation.integrators import (
    Cvodes,
    DormandPrince,
    Integrator,
    RungeKutta4,
    SemiImplicitEuler,
    integrator_of,
)

GRAVITY = 9.80665


def pendulum() -> Robot:
    """A point mass of 2 kg at 0.5 m, turning about the horizontal y axis; hanging down at q = 0."""
    link = Link("bob", Inertial(2.0, np.array([0.0, 0.0, -0.5]), np.zeros((3, 3))))
    return Robot("pendulum", (Joint("pivot", "revolute", -1, link, axis=np.array([0.0, 1.0, 0.0])),))


def exact_swing(q0: float, t: np.ndarray) -> np.ndarray:
    """Angle of a pendulum let go at q0, by Jacobi's functions."""
    from scipy.special import ellipj, ellipk

    k, w = np.sin(q0 / 2), np.sqrt(GRAVITY / 0.5)
    sn = ellipj(ellipk(k**2) - w * t, k**2)[0]
    return np.asarray(2 * np.arcsin(k * sn))


@pytest.mark.parametrize(
    ("integrator", "error"), [(DormandPrince(1e-11), 1e-9), (Cvodes(1e-11), 1e-7), (RungeKutta4(5e-4), 1e-9)]
)
def test_pendulum_swings_by_elliptic_functions(free, integrator: Integrator, error: float) -> None:
    done = free(Plant.of(pendulum()), 2.0, integrator, 2.0, rate=100.0)
    assert np.abs(done.q[:, 0] - exact_swing(2.0, done.t)).max() < error
    assert done.energy.relative_imbalance < error
    assert done.energy.kinetic.max() > 10.0  # the book holds something


@pytest.mark.parametrize(("kind", "order"), [(RungeKutta4, 4), (SemiImplicitEuler, 1)])
def test_fixed_steps_converge_with_their_order(free, kind: type[RungeKutta4], order: int) -> None:
    errors = []
    for h in (0.02, 0.01):
        done = free(Plant.of(pendulum()), 1.0, kind(h), 1.5, rate=10.0)
        errors.append(abs(done.q[-1, 0] - exact_swing(1.5, np.array([1.0]))[0]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_computed_torque_makes_double_integrators(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    """With the right model, the error of every joint obeys e'' + 20 e' + 100 e = 0."""
    plant, controller, reference = panda
    exact = Plant(plant.links[0], plant.links[1])
    q0 = reference.at(0).q[0] + 0.1
    done = simulate(exact, controller, reference, 1.0, q0=q0, integrator=RungeKutta4(2e-4), rate=5000.0)
    expected = -0.1 * (1 + 10 * done.t) * np.exp(-10 * done.t)
    assert np.abs(done.tracking_error - expected[:, None]).max() < 2e-3  # torques are held for 0.2 ms


@pytest.mark.parametrize("name", ["runge-kutta", "euler", "dormand-prince", "cvodes"])
def test_integrators_by_name(name: str) -> None:
    assert type(integrator_of(name)) is type(integrator_of(name, 1e-4))
    with pytest.raises(ProblemError, match="unknown integrator"):
        integrator_of(name + "-2")


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
