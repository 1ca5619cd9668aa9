"""The identified robot as MJCF: bodies, drives and actuators; what the format cannot hold is noted."""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from casid.description import load_robot
from casid.drives import CommandRecording, FreeRuns, Servo, identified_robot, write_mjcf
from casid.errors import ExportError

TABLE = {
    "kp": [12.0, 9.0], "kd": [0.3, 0.2], "armature": [0.03, 0.02], "viscous": [0.4, 0.3], "coulomb": [0.1, 0.05],
    "bias": [0.01, -0.02], "limit": [1.5, np.inf], "offset": [0.0, 0.2], "delay": [0.013, 0.013], "scale": [1.0, 2.0],
    "load_friction": [0.0, 0.3], "stiffness": [np.inf, np.inf], "joint_damping": [0.0, 0.0], "backlash": [0.0, 0.0],
    "warm_up": [0.0, 0.0], "bristle_stiffness": [np.inf, np.inf], "ki": [0.0, 2.0], "viscous_asymmetry": [0.0, 0.0],
    "offset_drift": [0.0, 0.0], "tilt_x": [0.0, 0.0], "tilt_y": [0.0, 0.0],
}  # fmt: skip


@pytest.fixture
def found(arm):
    return SimpleNamespace(robot=arm, servo=Servo(), table={name: np.array(values) for name, values in TABLE.items()})


def test_what_mjcf_cannot_hold_is_a_note(found, tmp_path):
    _, notes = write_mjcf(found, tmp_path / "arm.xml")
    assert any("integral" in note for note in notes) and not any("drift" in note for note in notes)
    found.table["offset_drift"] += 0.1
    assert any("drift" in note for note in write_mjcf(found, tmp_path / "arm.xml")[1])


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


def test_play_and_springs_are_joints(found, tmp_path):
    found.table |= {"backlash": np.array([0.03, 0.02]), "stiffness": np.array([np.inf, 40.0]),
                    "joint_damping": np.array([0.0, 0.5]), "warm_up": np.array([0.2, 0.0])}  # fmt: skip
    path, notes = write_mjcf(found, tmp_path / "arm.xml")
    root = ElementTree.parse(path).getroot()
    joints = {joint.get("name"): joint for joint in root.iter("joint") if joint.get("name")}
    assert set(joints) == {"shoulder", "shoulder_backlash", "elbow", "elbow_backlash"}
    play, soft = joints["shoulder_backlash"], joints["elbow_backlash"]
    assert play.get("range") == "-0.015 0.015" and play.get("axis") == joints["shoulder"].get("axis")
    assert soft.get("limited") == "false"
    (spring,) = root.find("tendon")
    assert [spring.get(key) for key in ("stiffness", "damping", "springlength")] == ["40", "0.5", "-0.01 0.01"]
    assert [one.get("joint") for one in spring] == ["elbow_backlash"]
    assert any("minus qpos of shoulder_backlash" in note for note in notes) and any("warm" in note for note in notes)


@pytest.mark.parametrize(("stiffness", "damping"), [(np.inf, 0.0), (60.0, 0.05)])
def test_play_moves_in_mujoco_as_in_the_free_run(arm, tmp_path, stiffness, damping):
    """MuJoCo's limits and tendons as an oracle, encoders at the drives, from the middle of the play."""
    pytest.importorskip("mujoco", reason="needs the extra peers")
    from casid.dynamics import Model
    from casid.testing import MuJoCo, broadband_commands

    values = {"kp": 12.0, "kd": 0.1, "armature": 0.02, "viscous": 0.2, "coulomb": 0.05, "bias": 0.0, "delay": 0.0,
              "backlash": 0.05, "stiffness": stiffness, "joint_damping": damping}  # fmt: skip
    t = np.arange(100) * 0.02
    u = broadband_commands(t, [1.5, 0.1], 0.6)
    load = np.array(Model(arm).inverse_dynamics(u[0], np.zeros(2), np.zeros(2), arm.standard_parameters())).ravel()

    def run(**changes):
        servo = Servo(**{**values, **changes}, encoder="drive")
        runs = FreeRuns(arm, servo, [CommandRecording(t, u, u)], 4e-4, np.inf, 1)
        point = runs.point(np.zeros(0))
        point.starts[0][2:4] = 0.0
        point.starts[0][4:6] = np.sign(load) * 0.5 * np.array(servo.of("backlash", 2)) + load / stiffness
        return servo, runs.simulate(point)[0]

    servo, mine = run()
    full = {name: np.full(2, values.get(name, 0.0)) for name in TABLE}
    full |= {"scale": np.ones(2), "limit": np.full(2, 1e9), "bristle_stiffness": np.full(2, np.inf)}
    path, _ = write_mjcf(SimpleNamespace(robot=arm, servo=servo, table=full), tmp_path / "arm.xml")
    engine = MuJoCo(path, arm)
    engine.model.opt.disableflags &= ~int(engine.mujoco.mjtDisableBit.mjDSBL_LIMIT)
    engine.start(u[0], np.zeros(2), 4e-4)
    replay = np.array([u[0], *([engine.command(x, 4e-4) for _ in range(50)][-1] for x in u[:-1])])
    rigid = run(backlash=0.0)[1]
    assert np.sqrt(np.mean((replay - mine) ** 2)) < 0.35 * np.sqrt(np.mean((rigid - mine) ** 2))
