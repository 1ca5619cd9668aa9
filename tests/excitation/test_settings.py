"""Settings of designs, and published trajectories judged by them."""

from __future__ import annotations

import numpy as np
import pytest

from casid.description import Robot
from casid.errors import ProblemError
from casid.excitation import (
    DesignSettings,
)
from casid.motion import Fourier, Trajectory
from casid.motion._basis import Ramped


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


def test_published_trajectories_have_their_condition_numbers() -> None:
    from benchmarks import excitation as measured
    from benchmarks.measure import NotMeasured

    try:
        panda, wam = measured.table_ii(), measured.wam_table("wam_table_4_4_trajectory_A")
    except NotMeasured as reason:
        pytest.skip(str(reason))
    # other samples than the papers' recordings: 121.9 (Gaz et al. 2019) and 105 (Sousa 2014)
    assert measured.condition(measured.panda_observation(), panda) == pytest.approx(95.82, abs=0.01)
    assert len(measured.wam_observation().names) == 76
    assert measured.condition(measured.wam_observation(), wam) == pytest.approx(105, rel=0.04)
