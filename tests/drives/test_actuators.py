"""Files of other simulators about identified servos."""

import json
import re

import numpy as np
import pytest

from casid.drives import FREE, Servo, SimulationOptions, identify_from_commands, write_actuators
from casid.errors import ExportError
from casid.testing import broadband_commands, commanded_motion

yaml = pytest.importorskip("yaml", reason="needs the extra all-tests")


@pytest.fixture(scope="module")
def found(arm):
    t = np.arange(500) * 0.02
    true = Servo(kp=[12.0, 9.0], kd=0.1, armature=0.03, viscous=0.3, coulomb=0.1, bias=0.01, delay=0.02)
    data = commanded_motion(arm, true, t, broadband_commands(t, [0.2, -0.3], 0.7), quantum=1e-4)
    known = Servo(kp=FREE, kd=0.1, armature=0.03, viscous=FREE, coulomb=FREE, bias=0.01, delay=0.02)
    return identify_from_commands(arm, [data], known, SimulationOptions(threads=1, folds=0))


def written(found, folder, name):
    path, notes = write_actuators(found, folder / name)
    return path.read_text(), notes


def test_usd_drives_are_per_degree(found, tmp_path):
    text, _ = written(found, tmp_path, "arm.usda")
    kp = [float(x) for x in re.findall(r"drive:angular:physics:stiffness = (\S+)", text)]
    assert np.rad2deg(kp) == pytest.approx(found.table["kp"], rel=1e-6)
    viscous = [float(x) for x in re.findall(r"physxJointAxis:angular:viscousFrictionCoefficient = (\S+)", text)]
    assert np.rad2deg(viscous) == pytest.approx(found.table["viscous"], rel=1e-6)
    assert text.startswith("#usda 1.0") and text.count("{") == text.count("}") == 4
    assert 'over "shoulder"' in text and "maxForce = 10" in text


def test_isaac_and_pace_hold_gains_limits_and_delays(found, tmp_path):
    text, notes = written(found, tmp_path, "arm.isaac.json")
    group = json.loads(text)["actuators"][found.robot.name]
    assert group["stiffness"]["elbow"] == pytest.approx(found.table["kp"][1])
    assert (group["min_delay"], group["max_delay"]) == (4, 4) and group["effort_limit"]["elbow"] == 10.0
    assert any("offset" in note for note in notes)
    group = yaml.safe_load(written(found, tmp_path, "arm.pace.yaml")[0])["pace_actuator"]
    assert group["joint_names_expr"] == ["shoulder", "elbow"] and group["max_delay"] == 4
    assert group["encoder_bias"] == [-0.01, -0.01]  # kp (q_des - (q + encoder_bias))
    assert group["viscous_friction"]["shoulder"] == pytest.approx(found.table["viscous"][0], rel=1e-6)


def test_mjlab_and_bam_have_one_entry_a_joint(found, tmp_path):
    one, two = yaml.safe_load(written(found, tmp_path, "arm.mjlab.yaml")[0])["actuators"]
    assert one["target_names_expr"] == ["shoulder"] and two["delay_max_lag"] == 4
    assert two["frictionloss"] == pytest.approx(found.table["coulomb"][1], rel=1e-6)
    text, notes = written(found, tmp_path, "arm.bam.json")
    made = json.loads(text)["elbow"]
    assert made["friction_viscous"] == pytest.approx(found.table["viscous"][1] + 0.1)
    assert made["command_delay"] == pytest.approx(0.02) and any("kt and R" in note for note in notes)


def test_ranges_are_the_intervals_of_what_is_determined(found, tmp_path):
    made = json.loads(written(found, tmp_path, "arm.ranges.json")[0])
    by_name = {e.name: e for e in found.estimates}
    for row in made["parameters"]:
        assert row["range"] == [by_name[row["name"]].low, by_name[row["name"]].high]
    assert {row["name"] for row in made["parameters"]} | set(made["not_determined"]) == set(by_name)
    assert np.shape(made["correlation"]) == (len(made["parameters"]),) * 2


def test_unknown_endings_are_refused(found, tmp_path):
    with pytest.raises(ExportError, match=r"\.pace\.yaml"):
        write_actuators(found, tmp_path / "arm.json")
