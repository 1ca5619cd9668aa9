"""Believable links against known truth: a row of the table ``real``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks import recordings
from benchmarks.measure import Measure, NotMeasured
from casid.description import LinkBounds, Robot
from casid.dynamics import Model
from casid.excitation import DesignSettings
from casid.identification import RegressionProblem, predict
from casid.identification._bounds import default_bounds
from casid.inertia import from_standard
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.retrieval import total_mass

URDFS = "share/example-robot-data/robots"
#: The five arms that the bars are about, on which the plausible bodies' proportions were set.
FILES = {
    "iiwa": ("pybullet_data", "kuka_iiwa/model.urdf"),
    "UR10": ("cmeel.prefix", f"{URDFS}/ur_description/urdf/ur10_robot.urdf"),
    "Z1": ("cmeel.prefix", f"{URDFS}/z1_description/urdf/z1.urdf"),
    "xArm7": ("cmeel.prefix", f"{URDFS}/xarm_description/urdf/xarm7.urdf"),
    "Talos arm": ("cmeel.prefix", f"{URDFS}/talos_data/robots/talos_left_arm.urdf"),
}
#: Four others, for information: nothing was set on them.
OTHERS = {
    "UR3": ("cmeel.prefix", f"{URDFS}/ur_description/urdf/ur3_robot.urdf"),
    "UR5": ("cmeel.prefix", f"{URDFS}/ur_description/urdf/ur5_robot.urdf"),
    "Kinova": ("cmeel.prefix", f"{URDFS}/kinova_description/robots/kinova.urdf"),
    "Panda": ("cmeel.prefix", f"{URDFS}/panda_description/urdf/panda.urdf"),
}
LOCKED = {"Panda": ("panda_finger_joint1", "panda_finger_joint2")}
#: Noise of a simulated torque sensor, and friction, as shares of the joint's RMS torque.
NOISE, VISCOUS, COULOMB, OFFSET = 0.02, 0.05, 0.08, 0.02
#: Bars of the medians over links, of masses and principal moments: total mass unknown and known.
BARS = {False: (0.3, 0.5), True: (0.2, 0.4)}


def described(package: str, inside: str) -> Path:
    """A file of a package; `NotMeasured` without it."""
    spec = find_spec("casid") if package == "cmeel.prefix" else find_spec(package)
    numpy_folder = Path(np.__file__).resolve().parents[1]
    roots = [numpy_folder / package] + ([Path(p) for p in spec.submodule_search_locations or ()] if spec else [])
    path = next((root / inside for root in roots if (root / inside).is_file()), None)
    if path is None:
        raise NotMeasured("needs the packages example-robot-data and pybullet")
    return path


def _robot(name: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return casid.load_robot(described(*(FILES | OTHERS)[name]), lock=LOCKED.get(name, ()))


def blind(robot: Robot) -> Robot:
    """The robot's kinematics alone."""
    joints = tuple(replace(j, link=replace(j.link, inertial=None, bounds=LinkBounds())) for j in robot.joints)
    return replace(robot, joints=joints, total_mass=(0.0, np.inf))


def designed_motion(robot: Robot, seed: int, t: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """A motion designed by casid for the condition number; default: 2000 samples."""
    unlimited = ~np.isfinite(robot.limits.velocity) | (robot.limits.velocity <= 0)
    limits = replace(
        robot.limits,
        lower=np.maximum(robot.limits.lower, -np.pi),
        upper=np.minimum(robot.limits.upper, np.pi),
        velocity=np.where(unlimited, 2.0, np.minimum(robot.limits.velocity, 2.5)),
        acceleration=np.full(robot.n, 8.0),
        jerk=np.full(robot.n, np.inf),
    )
    study = DesignSettings(collision=False, torque=False, samples=80)
    design = study.designer(replace(blind(robot), limits=limits)).run(1, seed, max_seconds=15.0, robot=robot.name)
    t = np.arange(0.0, 20.0, 0.01) if t is None else t
    return t, *design.trajectory.motion(t)


def _simulated(robot: Robot, seed: int) -> tuple[Dataset, Dataset]:
    """Two motions of the robot with friction and sensor noise: to identify from, and to test on."""
    rng = np.random.default_rng(seed)
    model = Model(robot, recordings.FRICTION)
    made = []
    terms: np.ndarray | None = None
    for part in (seed, seed + 1):
        t, q, dq, ddq = designed_motion(robot, part)
        rigid = model.parameters(robot.standard_parameters(), np.zeros(3 * robot.n))
        torque = model.inverse_dynamics.map(len(t))
        load = np.array(torque(q.T, dq.T, ddq.T, np.tile(rigid[:, None], len(t)))).T
        size = np.sqrt((load**2).mean(axis=0))
        if terms is None:
            terms = np.column_stack(
                [VISCOUS * size, COULOMB * size, rng.uniform(-OFFSET, OFFSET, robot.n) * size]
            ).ravel()
        x = model.parameters(robot.standard_parameters(), terms)
        tau = np.array(torque(q.T, dq.T, ddq.T, np.tile(x[:, None], len(t)))).T
        made.append(Dataset(t, q, tau + NOISE * size * rng.normal(size=tau.shape), dq, ddq, name=robot.name))
    return made[0], made[1]


@dataclass(frozen=True)
class _Links:
    """Relative errors of one robot's links, and of the torques on another motion [%].

    Attributes
    ----------
    masses, moments : list of float
        Each link's; of the three principal moments the median.
    plain, chosen : float
        Of the consistent fit alone, and of the believable one.
    """

    masses: list[float]
    moments: list[float]
    plain: float
    chosen: float


def _links(name: str, known: bool) -> _Links:
    """One robot, identified from its kinematics and a simulated recording; its total mass known or not."""
    robot = _robot(name)
    training, other = _simulated(robot, 0)
    true = robot.standard_parameters().reshape(-1, 10)
    total = float(true[:, 9].sum())
    unknown = blind(robot)
    model = Model(unknown, recordings.FRICTION)
    build = default_bounds(unknown, np.abs(training.tau).max(axis=0))

    def constraints(v: Any) -> Any:
        return (build(v), total_mass(v, 0.999 * total, 1.001 * total)) if known else build(v)

    problem = RegressionProblem(wls(compress(model, training)), constraints=constraints)
    best = problem.solve()
    chosen = problem.choose(best)
    found = chosen.standard_parameters.reshape(-1, 10)
    masses = [abs(b[9] / a[9] - 1.0) for a, b in zip(true, found, strict=True)]
    moments = []
    for a, b in zip(true, found, strict=True):
        real, got = (np.linalg.eigvalsh(from_standard(ten)[2]) for ten in (a, b))
        moments.append(float(np.median(np.abs(got / real - 1.0))))
    errors = [predict(model, fit.parameters, other).relative_error for fit in (best, chosen)]
    return _Links(masses, moments, *errors)


def _medians(found: list[_Links]) -> tuple[float, float]:
    return (
        float(np.median([m for links in found for m in links.masses])),
        float(np.median([m for links in found for m in links.moments])),
    )


def known_truth(jobs: int = 2) -> tuple[str, bool]:
    """All arms, spread over processes."""
    work = [(name, known) for name in (*FILES, *OTHERS) for known in (False, True)]
    made = dict(zip(work, Parallel(n_jobs=jobs)(delayed(_links)(*one) for one in work), strict=True))
    texts, met = [], True
    for name in (*FILES, *OTHERS):
        free, informed = made[name, False], made[name, True]
        pairs = ", ".join("{:.0f} {:.0f}".format(*(100 * m for m in _medians([links]))) for links in (free, informed))
        texts.append(f"{name} {pairs}; torques {free.chosen:.2f} ({free.plain:.2f})")
        met = met and (name in OTHERS or free.chosen <= 1.01 * free.plain)
    for label, names in (("the five", FILES), ("the others, for information", OTHERS)):
        for known, bars in BARS.items():
            medians = _medians([made[name, known] for name in names])
            texts.append(
                f"{label}{', total mass known' if known else ''}: masses {100 * medians[0]:.0f}, "
                f"moments {100 * medians[1]:.0f} %"
            )
            met = met and (names is OTHERS or all(m <= bar for m, bar in zip(medians, bars, strict=True)))
    return " | ".join(texts), met


TRUTH_ROWS = (
    Measure(
        "believable links against known truth, five arms", "medians 30, 50 %; total mass known 20, 40 %; prediction",
        "716, 89 %", known_truth,
    ),
)  # fmt: skip
