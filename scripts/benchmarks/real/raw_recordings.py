"""Robots and raw recordings that faults, directions of gravity and options are measured on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import casid
from benchmarks import recordings
from benchmarks.measure import data_folder
from benchmarks.real.simulated import TORQUE_NOISE, fourier, nominal
from casid.description import Robot
from casid.dynamics import Model
from casid.measurement import Dataset, read_dataset

Case = tuple[Robot, Dataset]
#: Robots whose recordings numbers of the verdict and cut-offs were set on, and those that judge them.
SET_ON = ("AR5", "UR10e", "Rokae", "Panda")
JUDGED_ON = ("Kinova", "UR10", "KR300", "TX40", "simulated")
#: The files that what is identified from these recordings depends on, but for the verdict.
IDENTIFYING = (
    "casid/codegen/**/*.py", "casid/description/**/*.py", "casid/dynamics/**/*.py", "casid/expressions/**/*.py",
    "casid/files/**/*.py", "casid/inertia/**/*.py", "casid/measurement/**/*.py", "casid/regression/**/*.py",
    "casid/retrieval/**/*.py", "casid/identification/*.py", "scripts/benchmarks/recordings.py",
    "scripts/benchmarks/real/raw_recordings.py", "scripts/benchmarks/real/simulated.py",
)  # fmt: skip
KR300_GAINS = (256.85714285714283, 267.42857142857144, 252.33333333333334, 221.0, 239.61904761904762, 154.3231343283582)


@cache
def recording_of(name: str) -> Case:
    """Robot and raw recording."""
    folder = data_folder()
    if name == "Panda":
        return casid.load_robot("panda"), recordings.panda_raw()
    if name == "AR5":
        robot = casid.load_robot(folder / "ar5" / "ar5_kinematics_only.toml")
        return robot, read_dataset(folder / "ar5" / "recording.npz")
    if name == "Rokae":
        data = read_dataset(folder / "rokae_xmate" / "excitation.npz", rate=1000.0)
        return recordings.rokae()[0].robot, data
    if name == "Kinova":
        columns = {"t": "t_ms", "tau": "tau_current"}
        path = folder / "kinova_gen3" / "opti_traj_testing1.npz"
        data = read_dataset(path, columns=columns, time_scale=1e-3, unwrap=True)
        return recordings.kinova()[0].robot, data
    if name == "UR10":
        robot = casid.load_robot(folder / "ur10_unisa" / "ur10_unisa.toml")
        return robot, read_dataset(folder / "ur10_unisa" / "exciting_trajectory.npz")
    if name == "KR300":
        columns = {"q": "act_pos_mot_deg", "dq": "act_vel_mot_deg_per_s", "tau": "act_torque_abs_nm"}
        zero = [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
        path = folder / "kr300" / "recording_A.npz"
        data = read_dataset(path, columns=columns, degrees=True, gains=KR300_GAINS, position_offset=zero)
        return casid.load_robot(folder / "kr300" / "kr300.toml"), data
    if name == "TX40":
        reduction = np.diag([32.0, 32, 45, -48, 45, 32])
        reduction[5, 4] = 32
        data = read_dataset(
            folder / "tx40" / "recording.npz", columns={"q": "pos_motor", "tau": "tau_motor"}, rate=5000.0,
            transmission=reduction, position_offset=[0, -np.pi / 2, np.pi / 2, 0, 0, 0], between=(0.0, 7.5),
        )  # fmt: skip
        return casid.load_robot("tx40"), data
    if name == "simulated":
        return _simulated()
    data = recordings.ur10e_raw()
    return casid.load_robot("ur10e"), replace(data, t=data.t - data.t[0])


def _simulated() -> Case:
    """An arm with its nominal bodies, viscous and Coulomb friction, rotors and noise; 30 s at 500 Hz."""
    robot = casid.load_robot("kuka_iiwa")
    model = Model(robot, ("viscous", "coulomb", "offset", "rotor"))
    t = np.arange(0.0, 30.0, 2e-3)
    q, dq, ddq = fourier(robot.n, t, 0.08, 3, 0.35)
    parameters = model.parameters(nominal(robot), np.tile([2.0, 3.0, -0.3, 0.2], robot.n))
    tau = np.array(model.inverse_dynamics.map(len(t))(q.T, dq.T, ddq.T, parameters)).T
    tau += TORQUE_NOISE * np.random.default_rng(0).normal(size=tau.shape)

    return robot, Dataset(t, q, tau, name="simulated")
