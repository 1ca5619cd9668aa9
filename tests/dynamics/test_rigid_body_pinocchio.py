"""Every dynamics function beside Pinocchio's."""

import numpy as np
import pytest
from benchmarks.pinocchio import compare

from casid.testing import random_body, random_robot, standard_parameters

pytest.importorskip("pinocchio", reason="needs the extra peers")


@pytest.mark.parametrize(
    "kind",
    [
        {"n": 1},
        {"n": 6, "chain": True},
        {"n": 6, "chain": True, "shifted_links": True},
        {"n": 10, "shifted_links": True},
    ],
    ids=["one joint", "chain", "shifted link frames", "tree"],
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_random_trees(kind, seed):
    robot = random_robot(seed, **kind)
    rng = np.random.default_rng(seed)
    errors = compare(robot, standard_parameters([random_body(rng) for _ in range(robot.n)]), seed=seed)
    assert len(errors) >= 18
    assert max(errors.values()) < 1e-10, errors
