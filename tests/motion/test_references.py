"""References before, during and after their motion."""

from __future__ import annotations

import numpy as np
import pytest

from casid.motion import Follow, Fourier, Trajectory


def test_references_hold_before_and_after() -> None:
    trajectory = Trajectory(Fourier(2 * np.pi, 1), np.array([[1.0, 0.5, 0.2]]))
    motion = Follow(trajectory, start=2.0).at([0.0, 1.9, 2.25, 5.0])
    assert np.array_equal(motion.q[0], motion.q[1])
    assert motion.q[0] == pytest.approx(trajectory.motion([0.0]).q[0])
    assert motion.q[2] == pytest.approx(trajectory.motion([0.25]).q[0])
    assert motion.q[3] == pytest.approx(trajectory.motion([1.0]).q[0])
    assert not motion.dq[[0, 1, 3]].any()
