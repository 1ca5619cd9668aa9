"""Random robots: reproducible trees with proper placements."""

from __future__ import annotations

import numpy as np

from casid.testing import random_robot
from casid.testing._random_robots import random_placement


def test_the_seed_decides() -> None:
    one, two, other = (random_robot(seed, n=8, shifted_links=True) for seed in (1, 1, 2))
    for a, b in zip(one.joints, two.joints, strict=True):
        assert a.parent == b.parent and a.type == b.type and np.array_equal(a.placement, b.placement)
    assert not np.array_equal(one.joints[0].placement, other.joints[0].placement)
    assert not np.array_equal(one.joints[0].link_placement, np.eye(4))


def test_chains_are_chains() -> None:
    assert [joint.parent for joint in random_robot(0, n=5, chain=True).joints] == [-1, 0, 1, 2, 3]


def test_placements_are_rigid() -> None:
    T = random_placement(np.random.default_rng(4))
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(T[:3, :3]) > 0 and np.abs(T[:3, 3]).max() <= 0.5
