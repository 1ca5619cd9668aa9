"""Other libraries on the same problem: what is missing is named, their answers are ours."""

from __future__ import annotations

import numpy as np
import pytest

from casid.testing import Body, NotMeasured, inverse_dynamics, need, random_robot, states
from tests.helpers import close


def test_a_missing_package_is_named() -> None:
    with pytest.raises(NotMeasured, match=r"needs the package 'no_such_module' \(pip install casid\[peers\]\)"):
        need("no_such_module")
    assert need("math").pi > 3


def test_a_single_joint_is_a_pendulum() -> None:
    robot = random_robot(3, n=1)
    joint = robot.joints[0]
    assert joint.type == "revolute"
    body = Body(2.0, np.array([0.1, -0.2, 0.05]), np.diag([0.02, 0.03, 0.04]))
    q, dq, ddq = (x[:1] for x in states(1))
    tau = inverse_dynamics(robot, [body], q, dq, ddq, np.zeros(3))
    arm = np.cross(joint.axis, body.com)
    close(tau, [(joint.axis @ body.inertia @ joint.axis + body.mass * arm @ arm) * ddq[0]])
    close(inverse_dynamics(robot, [body], q, 0 * dq, 0 * ddq, np.zeros(3)), [0.0])
