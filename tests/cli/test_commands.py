"""``casid identify`` of recordings that have commands and no torques."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from casid._annexes import recordings
from casid.description import load_robot
from casid.drives import Servo, read_commands
from casid.errors import DatasetError
from casid.testing import broadband_commands, commanded_motion
from tests.helpers import run

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.1 0 0.01"/><mass value="0.4"/>
<inertia ixx="3e-4" ixy="0" ixz="0" iyy="1.5e-3" iyz="0" izz="1.5e-3"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="10" velocity="10"/></joint></robot>"""

(COMMANDED,) = recordings()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "arm.urdf").write_text(URDF)
    robot = load_robot(folder / "arm.urdf")
    t = np.arange(700) * 0.02
    servo = Servo(kp=12.0, armature=0.03, viscous=0.4, coulomb=0.1, bias=0.0, delay=0.01)
    data = commanded_motion(robot, servo, t, broadband_commands(t, [0.2], 0.7), quantum=1.5e-3)
    table = np.column_stack([data.t, data.q, data.q_des])
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q_shoulder,q_des_shoulder", comments="")
    (folder / "log.toml").write_text('file = "log.csv"\n[servo]\ndelay = 0.01\n')
    return folder


def casid(folder, *words):
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "casid", *words], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_recording_without_torques_is_identified_by_simulation(folder):
    done = casid(
        folder, "identify", "arm.urdf", "log.csv", "--mjcf", "found.xml", "--actuators", "found.usda", "--out", "result"
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "explains the motion" in done.stdout and "shoulder" in done.stdout
    record = json.loads((folder / "result" / "identification.json").read_text())
    values = {p["name"]: p["value"] for p in record["parameters"]}
    assert values["kp shoulder"] == pytest.approx(12.0, rel=0.1)
    text = (folder / "found.xml").read_text()
    assert "<actuator>" in text and "frictionloss" in text and "armature" in text
    assert "physxJointAxis:angular:armature" in (folder / "found.usda").read_text()


@pytest.mark.slow
def test_profiles_are_printed_and_written(folder):
    words = ("identify", "arm.urdf", "log.csv", "--profile", "kp", "--out", "profiled")
    done = casid(folder, *words)
    assert done.returncode == 0, done.stderr
    assert "Profiles: all others optimised again" in done.stdout and "(95 %)" in done.stdout
    (one,) = json.loads((folder / "profiled" / "identification.json").read_text())["profiles"]
    assert one["name"] == "kp shoulder" and one["low"] < one["value"] < one["high"]
    refused = casid(folder, "identify", "arm.urdf", "log.csv", "--profile", "stiffness")
    assert refused.returncode == 1 and "is no unknown here" in refused.stderr


def test_what_is_known_stands_in_the_recordings_toml(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert "delay" not in run("identify", "arm.urdf", "log.toml")


def test_recordings_of_both_kinds_are_refused(folder):
    table = np.genfromtxt(folder / "log.csv", delimiter=",", names=True)
    mixed = np.column_stack([table["t"], table["q_shoulder"], table["q_shoulder"]])
    np.savetxt(folder / "torque.csv", mixed, delimiter=",", header="t,q1,tau1", comments="")
    both, robot = [folder / "log.csv", folder / "torque.csv"], load_robot(folder / "arm.urdf")
    assert COMMANDED.from_commands(robot, both[:1]) == [(both[0], None)]
    assert COMMANDED.from_commands(robot, both[1:]) is None and COMMANDED.from_commands(robot, []) is None
    with pytest.raises(DatasetError, match=r"log.csv has commands and no torques, torque.csv has torques"):
        COMMANDED.from_commands(robot, both)
    with pytest.raises(DatasetError, match=r"torque.csv"):
        COMMANDED.from_commands(robot, both[::-1])


def test_a_log_of_an_odd_layout_is_identified(folder):
    """Degrees, semicolons, other names: what `casid import` would write down is found on the way."""
    t, q, u = np.loadtxt(folder / "log.csv", delimiter=",", skiprows=1).T
    rows = ["Zeit [ms];Soll_Achse1 [deg];Ist_Achse1 [deg]", *(f"{1e3 * a:.3f};{np.degrees(c):.6f};{np.degrees(b):.6f}"
            for a, b, c in zip(t, q, u, strict=True))]  # fmt: skip
    (folder / "odd.csv").write_text("\n".join(rows))
    robot = load_robot(folder / "arm.urdf")
    settings = COMMANDED.from_commands(robot, [folder / "odd.csv"])[0][1]
    data = read_commands(folder / "odd.csv", robot, settings)
    assert data.q[:, 0] == pytest.approx(q, abs=1e-7) and data.q_des[:, 0] == pytest.approx(u, abs=1e-7)
    degrees = np.column_stack([t, np.degrees(q), np.degrees(u)])
    np.savetxt(folder / "plain.csv", degrees, delimiter=",", header="t,q_shoulder,q_des_shoulder", comments="")
    assert COMMANDED.from_commands(robot, [folder / "plain.csv"])[0][1]["units"]["q"] == "deg"


def test_servos_described_differently_are_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "other.toml").write_text('file = "log.csv"\n[servo]\ndelay = 0.02\n')
    assert "log.toml, other.toml describe the servos differently" in run(
        "identify", "arm.urdf", "log.toml", "other.toml", code=1
    )


@pytest.mark.slow
def test_commands_are_designed_for_the_servos_of_a_log(folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = ("--position-commands", "log.csv", "--duration", "6", "--iterations", "4", "--out", "design")
    assert "worst parameter" in run("excite", "arm.urdf", *words) and (folder / "design" / "commands.toml").exists()
    assert "position-commands" in run("excite", "arm.urdf", *words, "--criterion", "d-optimal", code=2)
