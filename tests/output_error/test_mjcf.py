"""The identified robot as MJCF: bodies, drives and actuators; what the format cannot hold is noted."""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from casid.description import load_robot
from casid.errors import ExportError
from casid.output_error._mjcf import identified_robot, write_mjcf

TABLE = {
    "kp": [12.0, 9.0], "kd": [0.3, 0.2], "armature": [0.03, 0.02], "viscous": [0.4, 0.3], "coulomb": [0.1, 0.05],
    "bias": [0.01, -0.02], "limit": [1.5, np.inf], "offset": [0.0, 0.2], "delay": [0.013, 0.013], "scale": [1.0, 2.0],
    "load_friction": [0.0, 0.3],
}  # fmt: skip


@pytest.fixture
def found(arm):
    return SimpleNamespace(robot=arm, table={name: np.array(values) for name, values in TABLE.items()})


def test_bodies_are_scaled_and_drives_added(found, arm):
    made = identified_robot(found)
    before, after = (robot.standard_parameters().reshape(2, 10) for robot in (arm, made))
    assert after == pytest.approx(before * [[1.0], [2.0]])
    terms = [joint.terms for joint in made.joints]
    assert [(t["Ia"], t["fv"], t["fc"]) for t in terms] == [(0.03, 0.4, 0.1), (0.02, 0.3, 0.05)]


def test_actuators_are_the_servos(found, tmp_path):
    path, notes = write_mjcf(found, tmp_path / "arm.xml")
    root = ElementTree.parse(path).getroot()
    first, second = root.find("actuator")
    kp, kd, bias = 12.0, 0.3, 0.01
    assert float(first.get("gainprm")) == kp and first.get("joint") == "shoulder"
    assert [float(x) for x in first.get("biasprm").split()] == pytest.approx([kp * bias, -kp, -kd])
    assert [float(x) for x in first.get("forcerange").split()] == [-1.5, 1.5] and second.get("forcerange") is None
    joint = next(one for one in root.iter("joint") if one.get("name") == "elbow")
    assert [float(joint.get(key)) for key in ("armature", "damping", "frictionloss")] == [0.02, 0.3, 0.05]
    assert any("13 ms" in note for note in notes) and any("constant torques" in note for note in notes)
    assert any("grows with load" in note for note in notes)
    again = load_robot(path)
    assert again.standard_parameters()[10:] == pytest.approx(identified_robot(found).standard_parameters()[10:])


def test_other_endings_are_refused(found, tmp_path):
    with pytest.raises(ExportError, match=r"\.xml or \.mjcf"):
        write_mjcf(found, tmp_path / "arm.urdf")
