import numpy as np
import pytest

from casid.description import Inertial, Joint, Link, Robot, load_robot
from casid.drives import Servo
from casid.testing import broadband_commands, commanded_motion

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.1 0 0.01"/><mass value="0.4"/>
<inertia ixx="3e-4" ixy="0" ixz="0" iyy="1.5e-3" iyz="0" izz="1.5e-3"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.08 0 0"/><mass value="0.25"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="8e-4" iyz="0" izz="8e-4"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="10" velocity="10"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="10" velocity="10"/></joint></robot>"""


@pytest.fixture(scope="session")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(URDF)
    return load_robot(path)


@pytest.fixture(scope="session")
def axis():
    """A car on rails along x without a mass of its own."""
    car = Link("car", Inertial(1e-6, np.zeros(3), 1e-9 * np.eye(3)))
    return Robot("axis", (Joint("x", "prismatic", -1, car, axis=np.array([1.0, 0.0, 0.0])),))


@pytest.fixture(scope="session")
def data(arm):
    """4 s of motion without dry friction, without the fall into the first posture."""
    t = np.arange(250) * 0.02
    servo = Servo(kp=[12.0, 9.0], armature=0.03, viscous=0.4, coulomb=0.0, bias=0.01, delay=0.01)
    whole = commanded_motion(arm, servo, t, broadband_commands(t, [0.2, -0.3], 0.5), noise=1e-3)
    return whole.rows(slice(50, 250))
