"""The TOML format: what a file holds is what the robot holds, and errors name the file, the table and the key."""

import math
from importlib import resources

import numpy as np
import pytest

from casid.description import load_robot
from casid.errors import InertiaWarning, RobotError
from tests.description.conftest import FILES, parsed

HEAD = """
schema = 1
name = "example"
convention = "{convention}"
[source]
licence = "BSD-3-Clause"
kinematics = "a test"
"""
MDH = HEAD.format(convention="modified-dh")
DH = HEAD.format(convention="standard-dh")
PLACEMENT = HEAD.format(convention="placement")
JOINT = """
[[joint]]
type = "revolute"
mdh = [0.1, 90, 0.2, 30]
"""


def parse(text, **options):
    return parsed(text, "example.toml", **options)


def test_everything_a_file_can_say():
    robot = load_robot(FILES / "example.toml")
    assert (robot.name, robot.n, robot.total_mass) == ("example", 2, (1.0, 20.0))
    assert robot.gravity.tolist() == [0, -9.81, 0]
    assert robot.source == {"licence": "BSD-3-Clause OR MIT", "kinematics": "a test"}
    turn, slide = robot.joints
    assert [(j.name, j.type, j.parent, j.link.name) for j in robot.joints] == [
        ("turn", "revolute", -1, "arm"),
        ("slide", "prismatic", 0, "link2"),
    ]
    c, s = math.cos(math.radians(30)), math.sin(math.radians(30))
    expected = [[c, -s, 0, 0.1], [0, 0, 1, 0.2], [-s, -c, 0, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(turn.placement, expected, atol=1e-16)
    assert (turn.link_placement == np.eye(4)).all()
    assert turn.axis.tolist() == [0, 0, 1]
    np.testing.assert_allclose(slide.placement[:3, 3], [0, -0.4 * math.sin(0.5), 0.4 * math.cos(0.5)])
    limits = robot.limits
    np.testing.assert_allclose(limits.lower, [-math.pi / 2, 0.1])
    np.testing.assert_allclose(limits.upper, [1, np.inf])
    np.testing.assert_allclose(limits.velocity, [math.pi, np.inf])
    assert [limits.acceleration[0], limits.jerk[0], limits.effort[0]] == [3, 4, 5]
    assert turn.link.inertial.inertia_com.tolist() == [[0.3, 0.01, 0.02], [0.01, 0.3, 0.03], [0.02, 0.03, 0.3]]
    assert turn.link.bounds.mass.tolist() == [0, 9]
    assert turn.link.bounds.com.tolist() == [[-1, 1], [-2, 2], [-math.inf, 3]]
    assert np.isinf(turn.link.bounds.inertia_com).all()
    # m = 2, c = (0.1, 0.2, 0.3): L = I + m (c'c 1 - c c'), by hand
    np.testing.assert_allclose(
        robot.standard_parameters()[:10], [0.56, -0.03, -0.04, 0.5, -0.09, 0.4, 0.2, 0.4, 0.6, 2], atol=1e-15
    )
    np.testing.assert_allclose(robot.standard_parameters()[10:], [1.5, 0, 0, 1.5, 0, 1.5, 0.3, 0.6, 0.9, 3], atol=1e-15)
    frames = {frame.name: frame for frame in robot.frames}
    assert {name: frame.joint for name, frame in frames.items()} == {"wall": -1, "flange": 1, "tool": 1, "anchor": -1}
    assert frames["tool"].placement.tolist() == [[0, -1, 0, 0], [1, 0, 0, 0.5], [0, 0, 1, 1], [0, 0, 0, 1]]


def test_standard_dh_keeps_the_published_joint_position():
    robot = parse(DH + '[[joint]]\ntype = "revolute"\ndh = [0.3, 90, 0.2, 90]\n')
    joint = robot.joints[0]
    assert (joint.placement == np.eye(4)).all()
    assert joint.link_placement.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0.3], [0, 1, 0, 0.2], [0, 0, 0, 1]]


def test_placement_convention():
    text = '[[joint]]\ntype = "prismatic"\nxyz = [1, 2, 3]\nrpy_deg = [0, 90, 0]\naxis = [0, -2, 0]\n'
    joint = parse(PLACEMENT + text).joints[0]
    assert joint.axis.tolist() == [0, -1, 0]
    assert joint.placement.tolist() == [[0, 0, 1, 1], [0, 1, 0, 2], [-1, 0, 0, 3], [0, 0, 0, 1]]


BAD = {
    "unknown key at the top": ("nmae = 'x'\n" + MDH + JOINT, "example.toml: unknown key 'nmae'; did you mean 'name'"),
    "unknown key of a joint": (
        MDH + '[[joint]]\nname = "elbow"\ntype = "revolute"\nmdh = [0, 0, 0, 0]\nparant = "base"\n',
        "example.toml: joint 1 'elbow': unknown key 'parant'; did you mean 'parent'",
    ),
    "unknown key of limits": (MDH + JOINT + "limits = { uper = 1 }\n", "joint 1, limits: unknown key 'uper'.*'upper'"),
    "missing name": (MDH.replace('name = "example"', "") + JOINT, "example.toml: missing key 'name'"),
    "missing type": (MDH + "[[joint]]\nmdh = [0, 0, 0, 0]\n", "joint 1: missing key 'type'"),
    "missing angle": (
        MDH + '[[joint]]\ntype = "revolute"\nmdh = { a = 0, d = 0, theta_deg = 0 }\n',
        "missing key 'alpha_deg' .degrees. or 'alpha' .radians.",
    ),
    "angle twice": (
        MDH + '[[joint]]\ntype = "revolute"\nmdh = { a = 0, d = 0, theta_deg = 0, alpha = 1, alpha_deg = 0 }\n',
        "give either 'alpha' or 'alpha_deg', not both",
    ),
    "infinite angle": (
        MDH + '[[joint]]\ntype = "revolute"\nmdh = { a = 0, d = 0, theta_deg = 0, alpha = inf }\n',
        "joint 1, mdh: key 'alpha': must be finite, got inf",
    ),
    "row too short": (
        MDH + '[[joint]]\nname = "j"\ntype = "revolute"\nmdh = [0.1, 90, 0.2]\n',
        r"joint 1 'j': key 'mdh': expected 4 numbers \(a, alpha_deg, d, theta_deg\), got a row of 3 numbers",
    ),
    "mistyped number": (
        MDH + JOINT + "limits.lower = '1'\n",
        "joint 1, limits: key 'lower': expected a number, got the string '1'",
    ),
    "mistyped joints": (MDH.replace("[source]", "joint = 3\n[source]"), "an array of tables .*got the number 3"),
    "mistyped source": (
        "schema = 1\nname = 'x'\nconvention = 'modified-dh'\nsource = 'me'\n" + JOINT,
        "key 'source': expected a table",
    ),
    "NaN": ("gravity = [0, nan, 0]\n" + MDH + JOINT, "key 'gravity': is or holds NaN"),
    "crossed bounds": (
        MDH + JOINT + "link.bounds.com = [[0, 1], [2, 1], [0, 1]]\n",
        "joint 1, link, bounds: bounds of com cross: lower bound 2 exceeds upper bound 1",
    ),
    "crossed limits": (
        MDH + JOINT + "name = 'j'\nlimits = { lower = 1, upper = -1 }\n",
        "the limits of joint 'j' cross: lower 1 exceeds upper -1",
    ),
    "convention": (MDH.replace("modified-dh", "modified_dh") + JOINT, "'modified_dh' .*mean 'modified-dh'"),
    "joint type": (MDH + '[[joint]]\ntype = "revolut"\nmdh = [0, 0, 0, 0]\n', "'revolut' is not one of .*'revolute'"),
    "row of another convention": (DH + JOINT, "key 'mdh' does not fit the file's convention 'standard-dh'"),
    "row in a placement file": (PLACEMENT + JOINT, "key 'mdh' does not fit .*places joints by xyz, rpy and axis"),
    "schema": (MDH.replace("schema = 1", "schema = 2") + JOINT, "reads schema 1, got 2"),
    "license": (MDH.replace("licence", "license") + JOINT, "missing key 'licence'; it is spelt 'license' here"),
    "not TOML": (MDH + "[[joint]\n", "example.toml: not valid TOML: .*line"),
    "half an inertial": (MDH + JOINT + "link.mass = 1\n", "joint 1, link: missing keys 'com', 'inertia_com'"),
    "two inertials": (
        MDH + JOINT + "link = { mass = 1, com = [0, 0, 0], inertia = [1, 0, 0, 1, 0, 1] }\n",
        "give either 'com' and 'inertia_com'",
    ),
    "degrees of a slider": (
        MDH + JOINT.replace("revolute", "prismatic") + "limits.lower_deg = 1\n",
        "key 'lower_deg': a prismatic joint moves in metres",
    ),
    "axis of nothing": (PLACEMENT + '[[joint]]\ntype = "revolute"\naxis = [0, 0, 0]\n', "key 'axis': an axis needs"),
    "bounds on a fixed link": (
        MDH + JOINT + '[[joint]]\ntype = "fixed"\nxyz = [0, 0, 0]\nlink.bounds.mass = [0, 1]\n',
        "joint 2, link, bounds: a fixed joint's link has no bounds",
    ),
    "limits of a fixed joint": (
        MDH + '[[joint]]\ntype = "fixed"\nxyz = [0, 0, 0]\nlimits.lower = 0\n',
        "a fixed joint has no limits",
    ),
    "frame on nothing": (MDH + JOINT + '[[frame]]\nname = "f"\nlink = "lnk1"\n', "on link 'lnk1', .*mean 'link1'"),
    "parent that is not there": (
        MDH + JOINT + "parent = 'bse'\n",
        "joint 'joint1' stands on link 'bse', which does not exist; did you mean 'base'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    text, words = BAD[case]
    with pytest.raises(RobotError, match=words) as caught:
        parse(text)
    assert str(caught.value).startswith("example.toml")


def test_inconsistent_inertials_warn():
    link = "link = { name = 'arm', mass = 1, com = [0, 0, 0], inertia_com = [0.1, 0, 0, 0.2, 0, 0.4] }"
    with pytest.warns(
        InertiaWarning, match="robot 'example' .example.toml., link 'arm': .*triangle inequality.* = -0.05 kg"
    ):
        parse(MDH + JOINT + link)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RobotError, match=r"bytes.toml.*not text in UTF-8"):
        load_robot(tmp_path / "bytes.toml")


@pytest.mark.claim("a robot whose numbers overflow is refused in one line")
def test_numbers_that_overflow_are_refused(tmp_path):
    robot = resources.files("casid.robots").joinpath("kuka_iiwa.toml").read_text(encoding="utf-8")
    mass = next(line for line in robot.splitlines() if line.strip().startswith("mass ="))
    file = tmp_path / "huge.toml"
    file.write_text(robot.replace(mass, "mass = 1e308").replace("com = [", "com = [1e200, 1e200, 1e200] # ", 1))
    with pytest.raises(RobotError, match=r"huge\.toml"):
        load_robot(file)


@pytest.mark.claim("a user's robot file needs no SPDX expression")
def test_any_text_is_a_licence() -> None:
    text = MDH.replace("BSD-3-Clause", "none stated") + JOINT
    assert parse(text).source["licence"] == "none stated"
