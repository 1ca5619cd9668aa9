"""The recordings of the data folder as the reference protocol reads them, and the robots they come from.

The protocol filters torques and positions but not the columns of the regressor, hence ``filter_columns=False``.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np

import casid
from benchmarks.measure import data_folder
from casid.description import Joint, Link, Robot, modified_dh, xyz_rpy
from casid.dynamics import Model
from casid.measurement import Dataset, Processing, read_dataset

GRAVITY = (0.0, 0.0, -9.81)  # of the reference numbers
FRICTION = ("viscous", "coulomb", "offset")
TX40_TERMS = (*FRICTION, "rotor", "motor_viscous@joint_6", "motor_coulomb@joint_6", "motor_rotor@joint_6")
T = TypeVar("T")
Placement = tuple[np.ndarray, tuple[float, float, float]]
PROTOCOL: dict[str, Any] = {"velocity": "differentiate", "defects": False}  # every sample, whatever it is
UR_GAINS = (10.0, 10.6956, 8.4566, 9.0029, 9.48, 10.1232)  # N.m/A, UR10E_parameters.txt of the source
#: Samples in motion of each recording of the UR10e by the end of its name, and the reference protocol.
UR10E_ROWS = {
    "30sec_12harm": (634, 3510), "40sec_12harm": (499, 4460), "20sec_8harm": (319, 2310), "14harm50sec": (194, 4966),
    "14harm50secLoad": (307, 5071),
}  # fmt: skip
#: Recordings of the Kinova.
KINOVA = ("opti_traj_testing1", "RunTrajectory1", "RecordTrajectory_quadratic")
#: Gear ratios of the KR300: its torques are those of the motors.
KR300_GAINS = (256.85714285714283, 267.42857142857144, 252.33333333333334, 221.0, 239.61904761904762, 154.3231343283582)
UR10E = Processing(
    cutoff=7.5, torque_cutoff=10.0, order=5, rate=None, velocity="measured", filter_position=False,
    acceleration_cutoff=7.5, trim=0.0, every=1,
)  # fmt: skip


@cache
def panda_raw() -> Dataset:
    return read_dataset(data_folder() / "panda" / "trajectory_1.npz")


def panda(**changes: Any) -> Dataset:
    settings: dict[str, Any] = {"rate": 1000.0, "cutoff": 5.0, "trim": 0.5, "every": 10, "filter_columns": False}
    return Processing(**{**settings, **PROTOCOL, **changes}).apply(panda_raw())


def panda_model() -> Model:
    return Model(casid.load_robot("panda"), FRICTION, GRAVITY)


def ur10e_raw(where: str | Path = "30sec_12harm", gains: Any = UR_GAINS, whole: bool = False) -> Dataset:
    """By a path, or by the end of its name; of one in `UR10E_ROWS` the samples in motion, or the whole."""
    rows = None if whole or isinstance(where, Path) else UR10E_ROWS[where]
    if isinstance(where, str):
        (where,) = (data_folder() / "ur10e" / "identification_data").glob(f"*{where}.npz")
    return read_dataset(where, columns={"tau": "i"}, gains=gains, rows=rows)


def ur10e() -> tuple[Model, list[Dataset]]:
    settings = replace(UR10E, defects=False, filter_columns=False)
    return Model(casid.load_robot("ur10e"), (*FRICTION, "rotor"), GRAVITY), [settings.apply(ur10e_raw())]


def ur10e_recording(where: str | Path, gains: Any = UR_GAINS) -> Dataset:
    """`ur10e_raw` through the reference protocol, the regressor's columns filtered too."""
    return UR10E.apply(ur10e_raw(where, gains))


def tx40_raw(**settings: Any) -> Dataset:
    reduction = np.diag([32.0, 32, 45, -48, 45, 32])
    reduction[5, 4] = 32
    return read_dataset(
        data_folder() / "tx40" / "recording.npz", columns={"q": "pos_motor", "tau": "tau_motor"}, rate=5000.0,
        transmission=reduction, position_offset=[0, -np.pi / 2, np.pi / 2, 0, 0, 0], **settings,
    )  # fmt: skip


def tx40_data(filter_columns: bool = False) -> Dataset:
    settings = Processing(
        cutoff=50.0, trim=0.02, every=20, between=(0.0, 7.4), filter_columns=filter_columns, **PROTOCOL
    )  # fmt: skip
    return settings.apply(tx40_raw())


def tx40() -> tuple[Model, list[Dataset]]:
    return Model(casid.load_robot("tx40"), TX40_TERMS, GRAVITY, velocity_deadband=0.02), [tx40_data()]


def rokae_robot() -> Robot:
    keys = ("a_m", "alpha_rad", "d_m", "theta_offset_rad")
    rows = [[float(row[key]) for key in keys] for row in table("rokae_xmate/kinematics_mdh.csv")]
    return _chain("rokae_xmate", [(modified_dh(*row), (0.0, 0.0, 1.0)) for row in rows])


def rokae_raw(**settings: Any) -> Dataset:
    return read_dataset(data_folder() / "rokae_xmate" / "excitation.npz", rate=1000.0, **settings)


def rokae() -> tuple[Model, list[Dataset]]:
    settings = Processing(cutoff=5.0, every=10, filter_columns=False, **PROTOCOL)
    return Model(rokae_robot(), (*FRICTION, "rotor"), GRAVITY), [settings.apply(rokae_raw())]


def kinova_raw(name: str = "opti_traj_testing1", signal: str = "tau_current") -> Dataset:
    path, columns = data_folder() / "kinova_gen3" / f"{name}.npz", {"t": "t_ms", "tau": signal}
    return read_dataset(path, columns=columns, time_scale=1e-3, unwrap=True)


def kinova_robot() -> Robot:
    placements: list[Placement] = []
    for row in table("kinova_gen3/kinematics_urdf.csv"):
        if row["type"] != "fixed":
            xyz = [float(row[f"{k}_m"]) for k in "xyz"]
            rpy = [float(row[f"{k}_rad"]) for k in ("roll", "pitch", "yaw")]
            axis = (float(row["axis_x"]), float(row["axis_y"]), float(row["axis_z"]))
            placements.append((xyz_rpy(xyz, rpy, 1e-5), axis))  # 1.5708 and 3.1416 stand for pi/2 and pi
    return _chain("kinova_gen3", placements)


def kinova() -> tuple[Model, list[Dataset]]:
    settings = Processing(cutoff=5.0, trim=0.15, every=5, filter_columns=False, **PROTOCOL)
    data = [settings.apply(kinova_raw(name)) for name in KINOVA]
    return Model(kinova_robot(), (*FRICTION, "rotor"), GRAVITY), data


def wam() -> tuple[Model, list[Dataset]]:
    robot, data = RAW["WAM"]()
    settings = Processing(rate=250.0, cutoff=5.0, trim=0.3, every=1, filter_columns=False, **PROTOCOL)
    return Model(robot, (*FRICTION, "rotor"), GRAVITY), [settings.apply(data).only([1, 3])]


def kr300_raw(part: str) -> Dataset:
    columns = {"q": "act_pos_mot_deg", "dq": "act_vel_mot_deg_per_s", "tau": "act_torque_abs_nm"}
    path, quarters = data_folder() / "kr300" / f"recording_{part}.npz", [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    return read_dataset(path, columns=columns, degrees=True, gains=KR300_GAINS, position_offset=quarters)


def from_zero(data: Dataset) -> Dataset:
    """The same with time from zero on."""
    return replace(data, t=data.t - data.t[0])


def _of_folder(robot: str, recording: str) -> tuple[Robot, Dataset]:
    return casid.load_robot(data_folder() / robot), read_dataset(data_folder() / recording)


#: Robot, and a recording as it was made.
RAW: Mapping[str, Callable[[], tuple[Robot, Dataset]]] = {
    "Panda": lambda: (casid.load_robot("panda"), panda_raw()),
    "AR5": lambda: _of_folder("ar5/ar5_kinematics_only.toml", "ar5/recording.npz"),
    "UR10e": lambda: (casid.load_robot("ur10e"), from_zero(ur10e_raw())),
    "Rokae": lambda: (rokae_robot(), rokae_raw()),
    "Kinova": lambda: (kinova_robot(), kinova_raw()),
    "UR10": lambda: _of_folder("ur10_unisa/ur10_unisa.toml", "ur10_unisa/exciting_trajectory.npz"),
    "KR300": lambda: (casid.load_robot(data_folder() / "kr300" / "kr300.toml"), kr300_raw("A")),
    "TX40": lambda: (casid.load_robot("tx40"), tx40_raw(between=(0.0, 7.5))),
    "WAM": lambda: (
        casid.load_robot("wam7"), from_zero(read_dataset(data_folder() / "wam7" / "two_joint_recording.npz")),
    ),
}  # fmt: skip


def _chain(name: str, placements: Sequence[Placement]) -> Robot:
    return Robot(name, tuple(
        Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}"), placement, np.array(axis, dtype=float))
        for k, (placement, axis) in enumerate(placements)
    ))  # fmt: skip


def arrays(data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities, accelerations and torques of a processed recording."""
    assert data.dq is not None and data.ddq is not None
    return data.q, data.dq, data.ddq, data.tau


def records(path: Path, kind: Callable[..., T]) -> list[T]:
    """Rows of a table below its head as named tuples, each field read by its annotated type."""
    types = get_type_hints(kind).values()
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [kind(*(read(text) for read, text in zip(types, row, strict=True))) for row in rows]


def table(name: str) -> list[dict[str, str]]:
    """Rows of a table among the recordings."""
    with (data_folder() / name).open(newline="") as file:
        return list(csv.DictReader(file))
