"""The rigid-body algorithms against one another."""

import casadi as ca
import numpy as np
import pytest

from casid.dynamics import factor_mass_matrix, mass_matrix
from casid.dynamics._rigid_body import LinkMotion, inertial_wrench, link_motion
from casid.testing import random_robot


def test_the_factor_of_a_tree_has_no_entry_between_branches():
    robot = random_robot(0, n=6)
    lines = [{k} for k in range(6)]
    for k, joint in enumerate(robot.joints):
        lines[k] |= lines[joint.parent] if joint.parent >= 0 else set()
    apart = [(i, k) for k in range(6) for i in range(k) if i not in lines[k]]
    M = mass_matrix(robot, ca.SX.sym("q", 6), [ca.SX.sym(f"p{k}", 10) for k in range(6)])
    tree, full = factor_mass_matrix(M, robot), factor_mass_matrix(M, robot, dense=True)
    assert apart and not any(tree.L.sparsity().has_nz(k, i) for i, k in apart)
    assert [set(path) for path in tree.paths] == [line - {k} for k, line in enumerate(lines)]
    assert all(len(path) == k for k, path in enumerate(full.paths))


@pytest.mark.claim("the antisymmetric part of an unstructured inertia has its sign")
def test_an_inertia_that_is_not_symmetric_acts_as_its_matrix_does():
    rng = np.random.default_rng(0)
    w, dw, ten, a = rng.normal(size=3), rng.normal(size=3), rng.normal(size=10), rng.normal(size=3)
    symbol = ca.SX.sym("p", 13)
    motion = link_motion(ca.SX(ca.DM(w)), ca.SX(ca.DM(dw)), ca.SX(3, 1))
    assert isinstance(motion, LinkMotion)
    wrench = ca.Function("wrench", [symbol], [inertial_wrench(symbol, motion).moment])
    cross = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    inertia = np.array([ten[[0, 1, 2]], ten[[1, 3, 4]], ten[[2, 4, 5]]]) + cross
    moment = wrench(np.concatenate([ten, a])).full().ravel()
    np.testing.assert_allclose(moment, inertia @ dw + np.cross(w, inertia @ w), atol=1e-12)
