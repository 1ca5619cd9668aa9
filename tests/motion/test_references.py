"""References before, during and after their motion."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.motion import Follow, Fourier, Hold, Motion, Trajectory


def test_references_hold_before_and_after() -> None:
    trajectory = Trajectory(Fourier(2 * np.pi, 1), np.array([[1.0, 0.5, 0.2]]))
    motion = Follow(trajectory, start=2.0).at([0.0, 1.9, 2.25, 5.0])
    assert np.array_equal(motion.q[0], motion.q[1])
    assert motion.q[0] == pytest.approx(trajectory.motion([0.0]).q[0])
    assert motion.q[2] == pytest.approx(trajectory.motion([0.25]).q[0])
    assert motion.q[3] == pytest.approx(trajectory.motion([1.0]).q[0])
    assert not motion.dq[[0, 1, 3]].any()


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize("shape", [(3, 1), (3, 4), (1, 2), (0, 2)])
def test_shapes_of_a_reference_are_checked(shape: tuple[int, int]) -> None:
    class Own(Hold):
        def moving(self, t: np.ndarray) -> Motion:
            return Motion.at_rest(np.zeros(shape))

    with pytest.raises(
        DatasetError, match=rf"'Own': `moving`: expected shape \(3, 2\), got shape \({shape[0]}, {shape[1]}\)"
    ):
        Own(np.zeros(2)).at([0.0, 1.0, 2.0])
