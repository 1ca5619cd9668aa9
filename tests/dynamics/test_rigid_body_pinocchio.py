"""Every dynamics function beside Pinocchio's."""

import numpy as np
import pytest
from benchmarks.measure import NotMeasured

from casid.testing import URDFS, compare, compare_urdf, installed_urdf, random_body, random_robot, standard_parameters

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


@pytest.mark.parametrize(("package", "file"), URDFS, ids=[file.split("/")[-1] for _, file in URDFS])
@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
def test_urdf_files_as_pinocchio_reads_them(package, file):
    try:
        path = installed_urdf(package, file)
    except NotMeasured as reason:
        pytest.skip(str(reason))
    assert compare_urdf(path) < 1e-10
