"""Controllers of the joints against closed forms."""

from __future__ import annotations

import numpy as np

import casid
from casid.control import (
    PD,
    ComputedTorque,
    FeedForward,
    PDGravity,
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
