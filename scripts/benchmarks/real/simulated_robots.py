"""Thirty simulated robots with known bodies by the default call: masses, moments, and the interval of the total mass.

Robots are chains of the descriptions that the packages example-robot-data and pybullet ship; other joints are locked.
Numbers of the method were set on `TUNED`, but for the spread of the masses and the shape of the template bodies: those
were chosen on `SPREAD` too, so that its eight of the 24 `JUDGED` are no blind judges of them. How masses grow with the
volume of a link's shape was set on `TUNED` alone. The recordings hold what the model does not: Stribeck and load
friction, delayed and noisy torques, quantised positions, lost samples.

The humanoid's arm of example-robot-data, once among them, is none: each of its links, of 0.4 to 3 kg, has the unit
matrix as moments of inertia (`placeholders`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks.measure import Measure, NotMeasured
from benchmarks.real.simulated import fourier
from benchmarks.real.truth import URDFS, blind, described, designed_motion
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification import Checks, identify
from casid.inertia import consistency, from_standard
from casid.measurement import Dataset

Result = tuple[str, bool]
_CMEEL = "cmeel.prefix"


def _file(inside: str, *keep: str) -> tuple[str, str, tuple[str, ...]]:
    return _CMEEL, f"{URDFS}/{inside}", keep


#: Package, file, and beginnings of the names of the joints that move (none: all).
TUNED = {
    "iiwa": ("pybullet_data", "kuka_iiwa/model.urdf", ()),
    "UR5": _file("ur_description/urdf/ur5_robot.urdf"),
    "UR10": _file("ur_description/urdf/ur10_robot.urdf"),
    "Z1": _file("z1_description/urdf/z1.urdf"),
    "xArm7": _file("xarm_description/urdf/xarm7.urdf"),
    "Talos arm": _file("talos_data/robots/talos_left_arm.urdf"),
}
JUDGED = {
    "UR3": _file("ur_description/urdf/ur3_robot.urdf"),
    "Kinova": _file("kinova_description/robots/kinova.urdf"),
    "Panda": _file("panda_description/urdf/panda.urdf", "panda_joint"),
    "TIAGo arm": _file("tiago_description/robots/tiago_no_hand.urdf", "arm_"),
    "TIAGo Pro arm": _file("tiago_pro_description/robots/tiago_pro.urdf", "arm_left_"),
    "Alex arm": _file("alex_description/urdf/alex_nub_hands.urdf", "Left"),
    "G1 arm": _file("g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_shoulder", "left_elbow", "left_wrist"),
    "G1 leg": _file("g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_hip", "left_knee", "left_ankle"),
    "Talos leg": _file("talos_data/robots/talos_reduced.urdf", "leg_left_"),
    "PR2 arm": _file("pr2_description/urdf/pr2.urdf", "r_shoulder", "r_upper", "r_elbow", "r_forearm", "r_wrist"),
    "Romeo arm": _file("romeo_description/urdf/romeo.urdf", "LShoulder", "LElbow", "LWrist"),
    "Romeo leg": _file("romeo_description/urdf/romeo.urdf", "LHip", "LKnee", "LAnkle"),
    "A1 leg": _file("a1_description/urdf/a1.urdf", "FR_"),
    "Go1 leg": _file("go1_description/urdf/go1.urdf", "FR_"),
    "Go2 leg": _file("go2_description/urdf/go2.urdf", "FL_"),
    "B1 leg": _file("b1_description/urdf/b1-z1.urdf", "FR_"),
    "ANYmal leg": _file("anymal_c_simple_description/urdf/anymal.urdf", "LF_"),
    "Solo leg": _file("solo_description/robots/solo12.urdf", "FL_"),
    "Bolt leg": _file("bolt_description/robots/bolt.urdf", "FL_"),
    "HyQ leg": _file("hyq_description/robots/hyq_no_sensors.urdf", "lf_"),
    "Centauro arm": _file("centauro_description/urdf/centauro.urdf", "j_arm1_"),
    "Centauro leg": _file("centauro_description/urdf/centauro.urdf", "hip_yaw_1", "hip_pitch_1", "knee_pitch_1"),
    "Baxter arm": _file("baxter_description/urdf/baxter.urdf", "left_s", "left_e", "left_w"),
    "SO-101": _file("so_arm_description/urdf/so101.urdf"),
}
#: Robots that the spread of the masses was set on, with those of `TUNED`: every third. The others judge the intervals.
SPREAD = tuple(JUDGED)[::3]
#: Of ``--quick``.
FEW = ("UR3", "Kinova", "TIAGo Pro arm", "G1 arm", "PR2 arm", "ANYmal leg")


def robot_of(name: str) -> Robot:
    """The chain with the bodies of its description; `NotMeasured` without the packages."""
    package, inside, keep = (TUNED | JUDGED)[name]
    path = described(package, inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = casid.load_robot(path)
        others = [j.name for j in whole.coordinates if keep and not j.name.startswith(keep)]
        robot = casid.load_robot(path, lock=others) if others else whole
    tens = robot.standard_parameters().reshape(-1, 10)
    if not all(consistency(ten).full for ten in tens):
        raise NotMeasured(f"{name}: its description has impossible bodies")
    if placeholders(robot):
        raise NotMeasured(f"{name}: moments of inertia of its description are placeholders")
    return robot


def placeholders(robot: Robot) -> bool:
    """Whether a link's radius of gyration is larger than the robot reaches: a unit matrix in place of its moments."""
    bodies = [link.inertial for link in robot.links if link.inertial is not None and link.inertial.mass > 0]
    return any(np.trace(body.inertia_com) / 2 > body.mass * (robot.reach or np.inf) ** 2 for body in bodies)


def _motion(robot: Robot, rng: np.random.Generator, designed: bool) -> tuple[np.ndarray, ...]:
    """30 to 60 s at 200 samples a second."""
    t = np.arange(0.0, float(rng.uniform(30.0, 60.0)), 0.005)
    if designed:
        return designed_motion(robot, int(rng.integers(1000)), t)
    q, dq, ddq = fourier(robot.n, t, 0.1, int(rng.integers(1 << 30)), 1.0)
    low, high = np.maximum(robot.limits.lower, -2.0), np.minimum(robot.limits.upper, 2.0)
    fits = 0.8 * (high - low) / np.maximum(np.ptp(q, axis=0), 1e-9)
    factor = np.minimum(fits, 2.0 / np.abs(dq).max(axis=0))
    middle = (low + high) / 2 - factor * (q.max(axis=0) + q.min(axis=0)) / 2
    return t, middle + factor * q, factor * dq, factor * ddq


def recorded(robot: Robot, seed: int, designed: bool = False) -> Dataset:
    """A recording of the robot with everything that real ones have."""
    rng = np.random.default_rng(seed)
    t, q, dq, ddq = _motion(robot, rng, designed)
    n, model = robot.n, Model(robot, ("viscous", "coulomb", "offset", "rotor"))
    standard = robot.standard_parameters()

    def torque(terms: np.ndarray) -> np.ndarray:
        x = model.parameters(standard, terms.ravel())
        return np.asarray(np.array(model.inverse_dynamics.map(len(t))(q.T, dq.T, ddq.T, np.tile(x[:, None], len(t)))).T)

    load = torque(np.zeros((n, 4)))
    size = np.sqrt((load**2).mean(axis=0)) + 0.02 * np.sqrt((load**2).mean(axis=0).max())
    bare = model.parameters(standard, np.zeros(4 * n))
    moved = np.diag(np.array(model.mass_matrix(np.zeros(n), bare)))
    terms = np.column_stack([
        rng.uniform(0.02, 0.1, n) * size, rng.uniform(0.03, 0.12, n) * size, rng.uniform(-0.02, 0.02, n) * size,
        rng.uniform(0.1, 1.0, n) * moved,
    ])  # fmt: skip
    tau = torque(terms)
    tau += terms[:, 1] * rng.uniform(0.3, 1.0, n) * np.exp(-((dq / 0.1) ** 2)) * np.sign(dq)
    tau += rng.uniform(0.0, 0.05, n) * np.abs(load) * np.sign(dq)
    late = float(rng.uniform(0.001, 0.008))
    tau = np.column_stack([np.interp(t - late, t, column) for column in tau.T])
    tau += 0.02 * size * rng.normal(size=tau.shape)
    step = 2 * np.pi / 2.0**17
    kept = np.ones(len(t), dtype=bool)
    for start in rng.integers(200, len(t) - 200, 3):
        kept[start : start + int(rng.integers(5, 40))] = False
    return Dataset(t[kept], (np.round(q / step) * step)[kept], tau[kept], name=robot.name)


@dataclass(frozen=True)
class Found:
    """Relative errors of one robot: total mass, masses, moments; whether the masses' intervals hold the truth."""

    name: str
    total: float
    masses: tuple[float, ...]
    moments: tuple[float, ...]
    held: bool
    links: tuple[bool, ...] = ()
    failure: str = ""


def identified(name: str, seed: int = 0) -> Found:
    """One robot by the default call, from its kinematics, its links' shapes and a recording: no inertial values."""
    robot = robot_of(name)
    data = recorded(robot, seed, designed=seed % 2 == 1)
    try:
        result = identify(blind(robot), data, checks=Checks(verdict=False))
    except CasidError as error:
        return Found(name, np.inf, (np.inf,), (np.inf,), False, (False,), str(error))
    true, found = (x.reshape(-1, 10) for x in (robot.standard_parameters(), result.standard_parameters))
    moments = []
    for a, b in zip(true, found, strict=True):
        real, got = (np.linalg.eigvalsh(from_standard(ten)[2]) for ten in (a, b))
        moments.append(float(np.median(np.abs(got / real - 1.0))))
    total = float(found[:, 9].sum() / true[:, 9].sum()) - 1.0
    masses = (float(true[:, 9].sum()), *true[:, 9])
    held, *links = (e.low <= mass <= e.high for e, mass in zip(result.mass_ranges, masses, strict=True))
    return Found(name, total, tuple(np.abs(found[:, 9] / true[:, 9] - 1.0)), tuple(moments), held, tuple(links))


def measured(names: tuple[str, ...] = tuple(JUDGED), seeds: tuple[int, ...] = (0, 1), jobs: int = 2) -> Result:
    """All robots, spread over processes."""
    made = Parallel(n_jobs=jobs)(delayed(identified)(name, seed) for name in names for seed in seeds)
    totals = np.abs([one.total for one in made])
    masses, moments = (np.concatenate([getattr(one, kind) for one in made]) for kind in ("masses", "moments"))
    judged = [one.held for one in made if one.name not in SPREAD]
    links = [held for one in made if one.name not in SPREAD for held in one.links]
    held = float(np.mean(judged)) if judged else 0.0
    ordered = sorted(made, key=lambda one: -abs(one.total))
    worst = ", ".join(f"{one.name} {100 * one.total:+.0f} %{' ' + one.failure[:60]}".rstrip() for one in ordered[:4])
    text = (
        f"{len(made)} recordings of {len(names)} robots: total mass median {100 * np.median(totals):.0f} %, worst "
        f"{100 * totals.max():.0f} % ({worst}); masses {100 * np.median(masses):.0f} %, moments "
        f"{100 * np.median(moments):.0f} %; prior range of the total mass holds {100 * held:.0f} % of "
        f"{len(judged)} that it was not set on, those of single links {100 * float(np.mean(links)):.0f} %"
    )
    met = bool(np.median(totals) <= 0.15 and totals.max() <= 0.4 and np.median(masses) <= 0.3)
    return text, met and bool(np.median(moments) <= 0.6) and 0.92 <= held <= 0.98


SIMULATED_ROWS = (
    Measure(
        "24 simulated robots by default (6 others tuned on; mass spread and body shape on 8 of the 24 too)",
        "total mass median 15, worst 40 %; masses 30, moments 60 %; interval 95 +- 3 %", "-", measured,
        partial(measured, FEW, (0,)), "18 robots, designed motions",
    ),
)  # fmt: skip
