"""Settings of designs, and published trajectories judged by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description import Limits, Robot
from casid.errors import ProblemError
from casid.excitation import DesignSettings
from casid.motion import Fourier, Ramped, Trajectory


def test_settings_build_their_design_problem(panda: Robot) -> None:
    designer = DesignSettings(duration=10.0, ramp=0.5, floor=0.1).designer(panda)
    assert isinstance(designer.basis, Ramped)
    assert [constraint.name for constraint in designer.constraints] == ["collision", "torque limits", "floor"]
    assert len(designer.observation.names) == 64
    assert len(DesignSettings(payload=True).designer(panda).observation.names) == 10
    basis = Fourier(0.6, 5)
    _, judged = DesignSettings(collision=False).judge(panda, Trajectory(basis, np.ones((7, 11))))
    assert judged.trajectory.basis == basis
    assert judged.violations.keys() == {"torque limits"}
    with pytest.raises(ProblemError, match="3 joints"):
        DesignSettings().judge(panda, Trajectory(basis, np.ones((3, 11))))
    with pytest.raises(ProblemError, match="unknown basis"):
        DesignSettings(basis="wavelet").motion_basis()


# ---------------------------------------------------------------------- published trajectories


@pytest.mark.parametrize("motion", [{"ramp": 0.5}, {}, {"basis": "spline"}], ids=["ramp", "fourier", "spline"])
def test_a_motion_begins_and_ends_at_home_within_the_workspace(motion: dict) -> None:
    robot, home = casid.load_robot("spatial_2r"), (0.4, -0.3)
    two = np.ones(2)
    limits = replace(Limits.unlimited(2), lower=-2 * two, upper=2 * two, velocity=2 * two, acceleration=8 * two)
    robot = replace(robot, limits=limits)
    box = ((-0.7, np.inf), (-0.6, 0.75), (1.0, np.inf))
    settings = DesignSettings(home=home, workspace=box, duration=6.0, harmonics=3, samples=40, terms=(), **motion)
    done = settings.designer(robot).run(1, 0, iterations=15).trajectory
    at = done.motion(np.array(done.basis.span))
    assert np.allclose(at.q, home, atol=1e-9) and np.allclose(at.dq, 0, atol=1e-9) and np.allclose(at.ddq, 0, atol=1e-8)
    along = done.motion(np.linspace(*done.basis.span, 300)).q
    point = casid.Model(robot).frame_placement("link2")
    places = np.array([point(q)[:3, 3] for q in along])
    for place, (low, high) in zip(places.T, box, strict=True):
        assert place.min() >= low - 1e-6 and place.max() <= high + 1e-6
    assert np.ptp(along, axis=0).min() > 0.3


def test_a_workspace_is_three_intervals() -> None:
    with pytest.raises(ProblemError, match="expected bounds"):
        DesignSettings(workspace=((1.0, 0.0), (0.0, 1.0), (0.0, 1.0))).constraints(casid.load_robot("spatial_2r"))
