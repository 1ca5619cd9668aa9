"""Random trajectories in every basis."""

import numpy as np
import pytest

from casid.testing._trajectories import BASES, random_trajectory


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_a_trajectory_of_a_seed_repeats(basis):
    first, second, other = (random_trajectory(basis, 2, seed) for seed in (1, 1, 2))
    at = np.linspace(0.1, 1.0, 5)
    np.testing.assert_array_equal(first.motion(at).q, second.motion(at).q)
    assert first.motion(at).q.shape == (5, 2) and not np.allclose(first.motion(at).q, other.motion(at).q)
