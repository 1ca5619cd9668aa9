"""Controllers of a frame against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import (
    OperationalSpace,
    VelocityOperationalSpace,
    nominal,
)
from casid.dynamics import Model

PANDA = casid.load_robot("panda")


POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


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
