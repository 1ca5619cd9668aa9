"""Controllers of the joints against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import (
    PD,
    ComputedTorque,
    FeedForward,
    OperationalSpace,
    PDGravity,
    VelocityOperationalSpace,
    nominal,
)
from casid.dynamics import Model
from casid.motion import Sine
from casid.simulation import Plant, SmoothCoulomb, simulate

PANDA = casid.load_robot("panda")


POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


def test_gravity_compensation_leaves_no_error_at_rest_and_pd_alone_does(run, settings) -> None:
    kp, kd = settings(bandwidth=15.0).gains(settings().inertia)
    alone = run(PD(kp, kd), duration=3.0)
    with_gravity = run(PDGravity(*nominal(PANDA), kp, kd), POSTURE + 0.05, 3.0)
    assert np.abs(alone.tracking_error[-1]).max() > 0.05
    assert np.abs(with_gravity.tracking_error[-1]).max() < 0.05 * np.abs(alone.tracking_error[-1]).max()
    expected = np.array(Model(PANDA).gravity(alone.q[-1], PANDA.standard_parameters())).ravel() / kp
    assert np.abs(alone.tracking_error[-1] - expected).max() < 0.02 * np.abs(expected).max()  # Kp e = g(q)


def test_feed_forward_needs_no_error_to_follow(settings) -> None:
    reference = Sine.within(PANDA, amplitude=0.6, frequency=0.5, duration=2.0)
    kp, kd = settings().gains(settings().inertia)
    plant = Plant.of(PANDA)
    errors = {
        name: np.abs(simulate(plant, law, reference, 2.0, rate=2000.0).tracking_error).max()
        for name, law in {
            "feed": FeedForward(*nominal(PANDA), kp, kd),
            "pd": PDGravity(*nominal(PANDA), kp, kd),
        }.items()
    }
    assert errors["feed"] < 2e-3
    assert errors["feed"] < 0.1 * errors["pd"]


def test_feed_forward_compensates_the_friction_of_its_model() -> None:
    plant = Plant.of(PANDA, SmoothCoulomb(0.05), viscous=2.0)
    reference = Sine.within(PANDA, amplitude=0.6, frequency=0.5, duration=2.0)
    errors = []
    for model in (plant.links, (plant.model, plant.parameters)):
        law = ComputedTorque(*model, 100.0, 20.0)  # type: ignore[arg-type]
        errors.append(np.abs(simulate(plant, law, reference, 2.0, rate=2000.0).tracking_error).max())
    assert errors[1] < 0.05 * errors[0]


def flange(q: np.ndarray) -> np.ndarray:
    place = Model(PANDA).frame_placement("flange")
    return np.array([np.array(place(row)) for row in q])


@pytest.mark.parametrize("kind", [OperationalSpace, VelocityOperationalSpace])
def test_the_frame_s_error_obeys_its_equation(run, kind: type[OperationalSpace]) -> None:
    """Second order and critically damped, or first order after the velocity has caught up."""
    slow = kind is VelocityOperationalSpace
    controller = kind(*nominal(PANDA), 4.0 if slow else 100.0, 60.0 if slow else 20.0, "flange")  # type: ignore[arg-type]
    q0 = POSTURE + 0.03 * np.array([1, -1, 1, -1, 1, -1, 1])
    done = run(controller, q0)
    positions = flange(done.q)[:, :3, 3]
    error = flange(POSTURE[None])[0, :3, 3] - positions
    if slow:  # e'' + (Kp + Kd) e' + Kp Kd e = 0 from rest
        expected = (60 * np.exp(-4 * done.t) - 4 * np.exp(-60 * done.t)) / 56
    else:
        expected = (1 + 10 * done.t) * np.exp(-10 * done.t)
    assert np.abs(error - expected[:, None] * error[0]).max() < 0.02 * np.abs(error[0]).max()
    assert np.abs(error[0]).max() > 0.01


def test_the_frame_stays_while_the_posture_is_drawn_in(run) -> None:
    controller = OperationalSpace(*nominal(PANDA), 400.0, 40.0, "flange")  # type: ignore[arg-type]
    null = np.linalg.svd(np.array(Model(PANDA).frame_jacobian("flange")(POSTURE)))[2][-1]
    done = run(controller, POSTURE + 0.2 * null, 3.0)
    inside = np.abs((done.q - POSTURE) @ null)
    assert inside[-1] < 0.3 * inside[0]
    late = done.t > 1.0  # the first error, of second order in the displacement, has gone
    assert np.abs(flange(done.q[late])[:, :3, 3] - flange(POSTURE[None])[0, :3, 3]).max() < 1e-3
