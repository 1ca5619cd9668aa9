"""Motions have one shape, instants by joints, and other shapes are refused."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque, OperationalSpace, Passive, nominal
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.excitation import Observation
from casid.motion import Fourier, Motion, Trajectory


@pytest.fixture(scope="module")
def trajectory() -> Trajectory:
    return Trajectory(Fourier(0.5, 2), 0.1 * np.random.default_rng(0).standard_normal((7, 5)))


@pytest.mark.claim("house f: a motion has shape (instants, joints) in trajectories, controllers and observations alike")
def test_a_trajectory_s_motion_is_what_controllers_and_observations_take(trajectory: Trajectory) -> None:
    panda = casid.load_robot("panda")
    motion = trajectory.motion(np.linspace(0, 1, 5))
    assert [part.shape for part in motion] == [(5, 7)] * 3
    assert len(motion) == 5
    assert motion.n == 7
    assert ComputedTorque(*nominal(panda), 100.0, 20.0).rows(motion).shape == (5, 21)  # type: ignore[arg-type]
    assert Observation.of_model(Model(panda)).matrix(motion).shape[0] == 5 * 7


@pytest.mark.claim("house f: a motion of another shape is refused, not read by columns")
def test_motions_of_other_shapes_are_refused(trajectory: Trajectory) -> None:
    panda = casid.load_robot("panda")
    turned = Motion(*(part.T for part in trajectory.motion(np.linspace(0, 1, 5))))
    for use in (
        ComputedTorque(*nominal(panda), 100.0, 20.0).rows,  # type: ignore[arg-type]
        OperationalSpace(*nominal(panda), 100.0, 20.0, "flange").rows,  # type: ignore[arg-type]
        Passive(7).rows,
        Observation.of_model(Model(panda)).matrix,
    ):
        with pytest.raises(DatasetError, match=r"expected a motion of shape \(instants, 7\), got \(7, 5\)"):
            use(turned)
    with pytest.raises(DatasetError, match="one shape"):
        Motion(np.zeros((5, 7)), np.zeros((7, 5)), np.zeros((5, 7)))
    with pytest.raises(DatasetError, match="one shape"):
        Motion(np.zeros(7), np.zeros(7), np.zeros(7))


def test_a_motion_at_rest_and_one_of_coefficients(trajectory: Trajectory) -> None:
    still = Motion.at_rest(np.arange(7.0))
    assert still.q.shape == (1, 7)
    assert not still.dq.any() and not still.ddq.any()
    t = np.linspace(0, 1, 5)
    motion = Motion.of_coefficients(trajectory.coefficients, trajectory.basis.matrices(t))
    for order, part in enumerate(motion):
        assert np.array_equal(part, trajectory.derivative(t, order))
