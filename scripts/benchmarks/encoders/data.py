"""The recordings of robots without torque sensors, and the split of each into training and held-out motions."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import casid
from benchmarks.measure import data_folder
from casid.description import Robot
from casid.drives import FREE, CommandRecording, Servo, Unknown

#: Kinds of the SO-101's motions in the order of its table; those at odd places train, the others are held out.
KINDS = ("static", "friction", "backlash", "broadband", "single", "sine", "pattern", "workspace")
#: So much of each training motion is used [s].
SECONDS = 25.0
#: XL330: supply of the bench [V], and duty for each radian at firmware gain 1 (see the data's README).
SUPPLY = 7.4
XL330_DUTY = 4096 / (2 * np.pi) / 256 / 885

_PENDULUM = """<robot name="{name}"><link name="base"/><link name="{link}"><inertial><origin xyz="{com}"/>
<mass value="{mass}"/><inertia ixx="1e-9" ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link>
<joint name="{joint}" type="{kind}"><parent link="base"/><child link="{link}"/><axis xyz="{axis}"/>
<limit lower="-10" upper="10" effort="1000" velocity="100"/></joint></robot>"""


@dataclass(frozen=True)
class Bench:
    """A robot, what is known of its servos, recordings to train on and to hold out."""

    name: str
    robot: Robot
    servo: Servo
    train: tuple[CommandRecording, ...]
    test: tuple[CommandRecording, ...]


def one_joint(name: str, kind: str, mass: float, com: str, axis: str) -> Robot:
    """A robot of one joint with a point mass."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.urdf"
        words = {"name": name, "link": "load", "joint": "joint", "kind": kind, "mass": mass, "com": com, "axis": axis}
        path.write_text(_PENDULUM.format(**words))
        return casid.load_robot(path)


@cache
def so101(exchanged: bool = False) -> Bench:
    """Five joints, the jaw locked; kinds of motion held out."""
    folder = data_folder() / "so101"
    robot = casid.load_robot(folder / "so101_new_calib.xml", lock={"gripper": 0.0})
    train, test = [], []
    with (folder / "table.csv").open(encoding="utf-8") as table:
        for row in csv.DictReader(table):
            z = np.load(folder / f"{row['name']}.npz")
            data = CommandRecording(z["t"], z["q"][:, :5], z["q_des"][:, :5], name=row["name"])
            if (KINDS.index(row["kind"]) % 2 == 1) != exchanged:
                train.append(data.rows(slice(0, int(SECONDS / data.period))))
            else:
                test.append(data)
    return Bench("SO-101", robot, Servo(), tuple(train), tuple(test))


@cache
def go2() -> Bench:
    """Twelve joints, gains known; the last third of the recording held out."""
    folder = data_folder() / "go2"
    robot = casid.load_robot(folder / "go2_fixed.xml")
    z = np.load(folder / "go2_train.npz")
    data = CommandRecording(z["t"], z["q"], z["q_des"], name="traj_0")
    cut = 2 * len(data) // 3
    servo = Servo(kp=float(z["kp"].flat[0]), kd=float(z["kd"].flat[0]))
    return Bench("Go2", robot, servo, (data.rows(slice(0, cut)),), (data.rows(slice(cut, len(data))),))


@cache
def xl330() -> Bench:
    """One servo with a pendulum (0: hanging); firmware gains 100 and 200 train, 400 is held out."""
    folder = data_folder() / "servos"
    robot = one_joint("xl330", "revolute", 0.49, "0 0 -0.1", "0 1 0")
    train: list[CommandRecording] = []
    test: list[CommandRecording] = []
    for path in sorted(folder.glob("xl330_*.npz")):
        z = np.load(path)
        q, u = (np.asarray(z[key], dtype=float).reshape(-1, 1) for key in ("q", "q_des"))
        t, kp = np.asarray(z["t"], dtype=float), float(z["kp"])
        on = np.asarray(z["torque_enable"], dtype=float) * np.asarray(z["volts"], dtype=float) / SUPPLY
        data = CommandRecording(t - t[0], q, u, on, kp, name=path.stem)
        (test if kp == 400 else train).append(data)
    servo = Servo(kp=Unknown(lower=1e-5, upper=1.0), duty=1.0 / XL330_DUTY, back_emf=FREE)
    return Bench("XL330", robot, servo, tuple(train), tuple(test))


@cache
def emps() -> tuple[Bench, int]:
    """One prismatic axis driven by a known force; the first 18,000 samples train, the rest is held out."""
    z = np.load(data_folder() / "emps" / "estimation.npz")
    robot = one_joint("emps", "prismatic", 1e-6, "0 0 0", "1 0 0")
    q, tau = (np.asarray(z[key], dtype=float).reshape(-1, 1) for key in ("q", "tau"))
    data = CommandRecording(np.ravel(z["t"]), q, np.zeros_like(q), torque=tau, name="emps")
    mass = Unknown(lower=1.0, upper=1000.0)
    servo = Servo(kp=0.0, bias=0.0, delay=0.0, armature=mass, viscous=FREE, coulomb=FREE, offset=FREE)
    cut = 18000
    train, test = data.rows(slice(0, cut)), data.rows(slice(cut, len(data)))
    return Bench("EMPS", robot, servo, (train,), (test,)), cut
