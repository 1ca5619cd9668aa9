"""A KUKA with linear friction and known parameters, its recordings with a load, and at rest."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.inertia import to_standard
from casid.testing import recorded, with_friction

BODY = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
LOAD = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([6e-3, 5e-3, 4e-3]))


@pytest.fixture(scope="session")
def model() -> Model:
    return with_friction(casid.load_robot("kuka_iiwa"))[0]


def carrying(model: Model, count: int, load: np.ndarray = LOAD, noise: float = 0.05) -> tuple[np.ndarray, ...]:
    """``t, q, dq, ddq, tau`` with a load, and the parameters of the robot without it."""
    *signals, pi = recorded(model, count, load, noise)
    pi[list(model.link_columns[-1])] -= load
    return *signals, pi


def resting(
    model: Model, t: np.ndarray, q: np.ndarray, pi: np.ndarray, count: int, push: np.ndarray
) -> tuple[np.ndarray, ...]:
    """``q, dq, ddq, tau, t`` of ``count`` samples at the last position, with torques that are pushed off by so much."""
    still, zero = np.tile(q[-1], (count, 1)), np.zeros((count, model.n))
    hold = np.asarray(model.inverse_dynamics(q[-1], zero[0], zero[0], pi)).ravel()
    return still, zero, zero, hold + push, t[-1] + 0.01 * np.arange(1, count + 1)
