"""The identified robot as MJCF: bodies, drives and actuators; what the format cannot hold is noted."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from casid.description import load_robot
from casid.drives import (
    CommandIdentification,
    CommandRecording,
    FreeRuns,
    Servo,
    SimulationOptions,
    identified_robot,
    identify_from_commands,
    write_actuators,
    write_mjcf,
)
from casid.errors import ExportError
from casid.testing import broadband_commands, commanded_motion

VALUES = {"kp": [12.0, 9.0], "kd": [0.3, 0.2], "armature": [0.03, 0.02], "viscous": [0.4, 0.3], "coulomb": [0.1, 0.05],
          "bias": [0.01, -0.02], "limit": [1.5, np.inf], "offset": [0.0, 0.2], "delay": 0.013}  # fmt: skip
SOURCE = """<mujoco model="arm"><compiler angle="degree"/>
<default><default class="small"><position kp="3" ctrlrange="-2 2" forcerange="-0.05 0.05"/></default></default>
<worldbody><body name="upper"><joint name="shoulder" axis="0 1 0" range="-150 10"/>
<inertial pos="0.1 0 0.01" mass="0.4" diaginertia="3e-4 1.5e-3 1.5e-3"/>
<body name="fore" pos="0.2 0 0"><joint name="elbow" axis="0 1 0" range="-160 160"/>
<inertial pos="0.08 0 0" mass="0.25" diaginertia="1e-4 8e-4 8e-4"/>
<body name="jaw" pos="0.1 0 0"><joint name="jaw" axis="0 1 0"/>
<inertial pos="0.01 0 0" mass="0.02" diaginertia="1e-5 1e-5 1e-5"/></body></body></body></worldbody>
<actuator><position name="grip" joint="jaw" kp="1"/><position name="e" class="small" joint="elbow"/>
<position name="s" joint="shoulder" kp="5" ctrlrange="-0.1 3" forcerange="-8 8"/>
<velocity name="more" joint="shoulder" kv="2"/></actuator>
<sensor><actuatorfrc name="one" actuator="e"/><actuatorfrc name="two" actuator="more"/></sensor></mujoco>"""


def known(robot, data, **values):
    """An identification in which every value is given."""
    servo = Servo(**{**VALUES, **values})
    runs = FreeRuns(robot, servo, [data], threads=1)
    none = np.zeros((0, 0))
    return CommandIdentification(
        robot, servo, (data,), (), none, np.zeros(2), np.nan, None, 0.0, 0.0, 0.0, 0.0, (), {}, runs
    )


@pytest.fixture
def found(arm, data):
    return known(arm, data)


def actuators(path):
    root = ElementTree.parse(path).getroot()
    return root, {one.get("joint"): one for one in root.find("actuator")}


def row(element, key):
    return [float(x) for x in element.get(key).split()]


def test_what_a_simulator_cannot_hold_is_fitted_by_the_rest(arm, tmp_path):
    t = np.arange(300) * 0.02
    u = broadband_commands(t, [0.8, 0.4], 0.6)
    true = Servo(kp=12.0, armature=0.03, viscous=0.3, coulomb=0.05, bias=0.0, delay=0.0, load_friction=0.25)
    asked = replace(true, coulomb=Servo().coulomb, load_friction=Servo().kp)
    options = SimulationOptions(threads=1, folds=0, terms=())
    found = identify_from_commands(arm, [commanded_motion(arm, true, t, u, noise=1e-4)], asked, options)
    assert found.table["load_friction"] == pytest.approx([0.25, 0.25], rel=0.1)
    plain, (note,) = found.without({"load_friction": "friction that grows with load"})
    cut = replace(found.runs.servo, coulomb=found.table["coulomb"].tolist(), load_friction=0.0)
    dropped = FreeRuns(arm, cut, found.recordings, threads=1)
    assert plain.error < 0.8 * dropped.error(dropped.point(np.zeros(0))) and f"{1e3 * plain.error:.3g} mrad" in note
    for name in ("arm.xml", "arm.isaac.json"):
        path, notes = write_actuators(found, tmp_path / name)
        assert any(note in one for one in notes) and str(plain.table["coulomb"][0])[:6] in path.read_text()


def test_bodies_are_scaled_and_drives_added(arm, data):
    found = known(arm, data, links="scaled", scale=[1.0, 2.0])
    made = identified_robot(found)
    before, after = (robot.standard_parameters().reshape(2, 10) for robot in (arm, made))
    assert after == pytest.approx(before * [[1.0], [2.0]])
    terms = [joint.terms for joint in made.joints]
    assert [(t["Ia"], t["fv"], t["fc"]) for t in terms] == [(0.03, 0.4, 0.1), (0.02, 0.3, 0.05)]


def test_actuators_are_the_servos(found, tmp_path):
    path, notes = write_mjcf(found, tmp_path / "arm.xml")
    root, made = actuators(path)
    kp, kd, bias = 12.0, 0.3, 0.01
    assert row(made["shoulder"], "gainprm") == [kp] and made["shoulder"].get("ctrllimited") == "false"
    assert row(made["shoulder"], "biasprm") == pytest.approx([kp * bias, -kp, -kd])
    assert row(made["shoulder"], "forcerange") == [-1.5, 1.5]
    # a constant torque acts behind the limit, which here is the description's
    assert row(made["elbow"], "biasprm") == pytest.approx([-9.0 * 0.02 - 0.2, -9.0, -0.2])
    assert row(made["elbow"], "forcerange") == pytest.approx([-10.2, 9.8])
    joint = next(one for one in root.iter("joint") if one.get("name") == "elbow")
    assert [float(joint.get(key)) for key in ("armature", "damping", "frictionloss")] == [0.02, 0.3, 0.05]
    assert row(joint, "range") == [-3.0, 3.0] and joint.get("limited") != "false"
    assert [note for note in notes if "13 ms" in note] == list(notes)
    again = load_robot(path)
    assert again.standard_parameters()[10:] == pytest.approx(identified_robot(found).standard_parameters()[10:])


def test_ranges_and_places_of_the_source_stay(data, tmp_path):
    source = tmp_path / "source.xml"
    source.write_text(SOURCE)
    robot = load_robot(source, lock={"jaw": 0.0})
    path, notes = write_mjcf(known(robot, data, limit=np.inf, offset=0.0), tmp_path / "found.xml")
    root, made = actuators(path)
    assert [one.get("name") for one in root.find("actuator")] == ["grip", "e", "s"]
    assert made["jaw"].tag == "position" and made["jaw"].get("kp") == "1"
    assert row(made["elbow"], "ctrlrange") == [-2.0, 2.0] and row(made["shoulder"], "forcerange") == [-8.0, 8.0]
    # what the recordings contradict: a limit that no motion had, and ranges that they leave
    assert made["elbow"].get("forcelimited") == "false" and any("elbow" in note and "0.05" in note for note in notes)
    low, high = float(data.q_des[:, 0].min()), float(data.q[:, 0].max())
    assert row(made["shoulder"], "ctrlrange") == pytest.approx([low, 3.0]) and low < -0.1
    joint = next(one for one in root.iter("joint") if one.get("name") == "shoulder")
    assert row(joint, "range") == pytest.approx([-150.0, np.rad2deg(high)]) and any("range" in note for note in notes)
    assert [one.get("name") for one in root.find("sensor")] == ["one"]
    mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.actuator_ctrllimited.tolist() == [0, 1, 1] and model.actuator_forcelimited.tolist() == [0, 0, 1]


@pytest.mark.claim("repeated sections of a source in MJCF count as MuJoCo merges them: angles, time step, gravity")
def test_repeated_sections_of_the_source_count_together(data, tmp_path):
    repeated = (
        '<compiler/><option timestep="0.01"/><compiler angle="radian"/><option timestep="0.03" gravity="0 0 -1"/>'
    )
    text = SOURCE.replace('<compiler angle="degree"/>', repeated).replace("-150 10", "-2.6 0.2")
    (tmp_path / "source.xml").write_text(text.replace("-160 160", "-2.8 2.8"))
    robot = load_robot(tmp_path / "source.xml", lock={"jaw": 0.0})
    path, _ = write_mjcf(known(robot, data, limit=np.inf, offset=0.0), tmp_path / "found.xml")
    root, _ = actuators(path)
    joint = next(one for one in root.iter("joint") if one.get("name") == "shoulder")
    assert row(joint, "range") == pytest.approx([-2.6, float(data.q[:, 0].max())])
    merged = {key: value for option in root.findall("option") for key, value in option.items()}
    assert merged["timestep"] == "0.002" and [float(x) for x in merged["gravity"].split()] == [0.0, 0.0, -1.0]


def test_voltage_servos_are_limited_before_their_motors_damping(arm, data, tmp_path):
    data = replace(data, gain=2.0)
    found = known(arm, data, kp=[6.0, 4.5], duty=[0.1, np.inf], back_emf=0.5, offset=0.0, limit=np.inf)
    path, notes = write_mjcf(found, tmp_path / "arm.xml")
    root, made = actuators(path)
    damping = {one.get("name"): float(one.get("damping")) for one in root.iter("joint")}
    assert row(made["shoulder"], "forcerange") == pytest.approx([-0.6, 0.6])
    assert row(made["shoulder"], "gainprm") == [12]
    assert damping == pytest.approx({"shoulder": 0.4 + 2 * 0.3 + 0.5, "elbow": 0.3})
    assert row(made["elbow"], "biasprm") == pytest.approx([-9.0 * 0.02, -9.0, -(2 * 0.2 + 0.5)])
    assert any("gain setting 2" in note for note in notes)


def test_other_endings_are_refused(found, tmp_path):
    with pytest.raises(ExportError, match=r"\.xml or \.mjcf"):
        write_mjcf(found, tmp_path / "arm.urdf")


def test_play_and_springs_are_joints(arm, data, tmp_path):
    found = known(arm, data, backlash=[0.03, 0.02], stiffness=[np.inf, 40.0], joint_damping=[0.0, 0.5])
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
    assert any("minus qpos of shoulder_backlash" in note for note in notes)


@pytest.mark.parametrize(("stiffness", "damping"), [(np.inf, 0.0), (60.0, 0.05)])
def test_play_moves_in_mujoco_as_in_the_free_run(arm, tmp_path, stiffness, damping):
    """MuJoCo's limits and tendons as an oracle, encoders at the drives, from the middle of the play."""
    pytest.importorskip("mujoco", reason="needs the extra peers")
    from casid.dynamics import Model
    from casid.testing import MuJoCo

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
    free = replace(servo, limit=1e9)
    path, _ = write_mjcf(known(arm, CommandRecording(t, u, u), **{f: getattr(free, f) for f in values}, limit=1e9,
                               offset=0.0, encoder="drive"), tmp_path / "arm.xml")  # fmt: skip
    engine = MuJoCo(path, arm)
    engine.model.opt.disableflags &= ~int(engine.mujoco.mjtDisableBit.mjDSBL_LIMIT)
    engine.start(u[0], np.zeros(2), 4e-4)
    replay = np.array([u[0], *([engine.command(x, 4e-4) for _ in range(50)][-1] for x in u[:-1])])
    rigid = run(backlash=0.0)[1]
    assert np.sqrt(np.mean((replay - mine) ** 2)) < 0.35 * np.sqrt(np.mean((rigid - mine) ** 2))
