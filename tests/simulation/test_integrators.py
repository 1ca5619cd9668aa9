"""Integrators against closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.control import ComputedTorque
from casid.description import Inertial, Joint, Link, Robot
from casid.errors import ProblemError
from casid.motion import Sine
from casid.simulation import (
    Plant,
    simulate,
)
from casid.simulation.integrators import (
    Cvodes,
    DormandPrince,
    Idas,
    Integrator,
    RungeKutta4,
    SemiImplicitEuler,
    integrator_of,
)
from casid.simulation.integrators._catalogue import INTEGRATORS

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
    ("integrator", "error"),
    [(DormandPrince(1e-11), 1e-9), (Cvodes(1e-11), 1e-7), (Idas(1e-11), 1e-7), (RungeKutta4(5e-4), 1e-9)],
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


@pytest.mark.parametrize("name", INTEGRATORS)
def test_integrators_by_name(name: str) -> None:
    assert type(integrator_of(name)) is type(integrator_of(name, 1e-4))
    with pytest.raises(ProblemError, match="unknown integrator"):
        integrator_of(name + "-2")


def test_points_and_step_are_those_of_the_classical_tableau() -> None:
    point2, point3, point4, advance = RungeKutta4(0.1).points(3, 1)
    x, k, h = np.arange(3.0), np.eye(4, 3), 0.1
    assert np.array(point2(x, k[0], h)).ravel() == pytest.approx(x + h / 2 * k[0])
    assert np.array(point3(x, *k[:2], h)).ravel() == pytest.approx(x + h / 2 * k[1])
    assert np.array(point4(x, *k[:3], h)).ravel() == pytest.approx(x + h * k[2])
    assert np.array(advance(x, *k, h)).ravel() == pytest.approx(x + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3]))
    assert isinstance(advance, ca.Function)
