"""Other libraries on the same problem: what is missing is named, their answers are ours."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.testing import random_robot
from casid.testing._peers import NotMeasured, need


def test_pinocchio_visits_branch_by_branch() -> None:
    from casid.testing._peers import depth_first, parameter_map

    robot = random_robot(2, n=6)
    order = depth_first(robot)
    assert sorted(order) == list(range(6))
    assert all(order.index(joint.parent) < order.index(k) for k, joint in enumerate(robot.joints) if joint.parent >= 0)
    assert parameter_map(robot).shape == (60, 60)


def test_a_missing_package_is_named() -> None:
    with pytest.raises(NotMeasured, match=r"needs the package 'no_such_module' \(pip install casid\[peers\]\)"):
        need("no_such_module")
    assert need("math").pi > 3


def test_clarabel_solves_the_feasible_regression() -> None:
    pytest.importorskip("clarabel", reason="needs Clarabel: pip install casid[peers]")
    from casid.dynamics import Model
    from casid.regression import compress
    from casid.regression._fit import ols
    from casid.testing import recording
    from casid.testing._peers import clarabel_regression

    model = Model(random_robot(1, n=2, chain=True))
    x = np.tile(casid.testing._synthetic.BODY, 2)
    fit = ols(compress(model, [recording(model, x, noise=0.01)]))
    ratio, _ = clarabel_regression(fit, lambda v: ())
    assert 1.0 <= ratio < 1.1
