"""Real robots and their recordings, and believable links by the default call: rows of the table ``real``."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks import recordings
from benchmarks.measure import README_RECORDING, Result, Rows, data_folder, process, scratch
from benchmarks.pinocchio import installed_urdf
from casid.description import Inertial, Robot
from casid.dynamics import Model
from casid.errors import CasidError, DatasetError
from casid.excitation import DesignSettings
from casid.files import read_toml
from casid.identification import Checks, RegressionProblem, identify, predict
from casid.identification._bounds import default_bounds, expected_rotors
from casid.identification._consistent_fits import SHARES
from casid.inertia import from_standard, to_standard
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.retrieval import total_mass
from casid.retrieval.plausible import plausible_bodies
from casid.testing import blind as blind
from casid.testing import random_robot, recording

row = Rows()

TORQUE_NOISE = 0.05  # N.m, BIRDy
POSITION_NOISE = (float(np.deg2rad(0.057e-3)), float(np.deg2rad(0.172e-3)))  # rad, BIRDy: least and largest


def nominal(robot: Robot) -> np.ndarray:
    """Standard parameters; a link without nominal values is a small body."""
    bodies = [
        to_standard(0.2, [0.0, 0.0, 0.02], 1e-4 * np.eye(3))
        if link.inertial is None
        else link.inertial.standard_parameters()
        for link in robot.links
    ]
    return np.concatenate(bodies)


def fourier(n: int, t: np.ndarray, base: float, seed: int, speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, dq, ddq = (np.zeros((len(t), n)) for _ in range(3))
    for harmonic in range(1, 6):
        w = 2 * np.pi * base * harmonic
        a, b = rng.normal(size=(2, n)) * speed / w
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, dq, ddq = q + s * a + c * b, dq + w * (c * a - s * b), ddq - w**2 * (s * a + c * b)
    return q, dq, ddq


Case = tuple[Robot, Dataset]
#: Robots whose recordings numbers of the verdict and cut-offs were set on, and those that judge them.
SET_ON = ("AR5", "UR10e", "Rokae", "Panda")
JUDGED_ON = ("Kinova", "UR10", "KR300", "TX40", "simulated")
#: The files that what is identified from these recordings depends on, but for the verdict.
IDENTIFYING = (
    "casid/codegen/**/*.py", "casid/description/**/*.py", "casid/dynamics/**/*.py", "casid/expressions/**/*.py",
    "casid/files/**/*.py", "casid/inertia/**/*.py", "casid/measurement/**/*.py", "casid/regression/**/*.py",
    "casid/retrieval/**/*.py", "casid/identification/*.py", "scripts/benchmarks/recordings.py",
    "scripts/benchmarks/real/robots.py", "scripts/benchmarks/real/chains.toml",
)  # fmt: skip


@cache
def recording_of(name: str) -> Case:
    """Robot and raw recording."""
    return _simulated() if name == "simulated" else recordings.RAW[name]()


def _simulated() -> Case:
    """An arm with its nominal bodies, viscous and Coulomb friction, rotors and noise; 30 s at 500 Hz."""
    robot = casid.load_robot("kuka_iiwa")
    model = Model(robot, ("viscous", "coulomb", "offset", "rotor"))
    t = np.arange(0.0, 30.0, 2e-3)
    q, dq, ddq = fourier(robot.n, t, 0.08, 3, 0.35)
    parameters = model.parameters(nominal(robot), np.tile([2.0, 3.0, -0.3, 0.2], robot.n))
    tau = model.inverse_dynamics(q, dq, ddq, parameters)
    tau = tau + TORQUE_NOISE * np.random.default_rng(0).normal(size=tau.shape)

    return robot, Dataset(t, q, tau, name="simulated")


#: Names -> file and beginnings of joints' names: arms that the bars are about, others for information, further ones.
FILES, OTHERS, FURTHER = (
    {name: (file, tuple(keep)) for name, (file, *keep) in group.items()}
    for group in read_toml(Path(__file__).with_name("chains.toml"), "chains", DatasetError).values()
)
#: Noise of a simulated torque sensor, and friction, as shares of the joint's RMS torque.
NOISE, VISCOUS, COULOMB, OFFSET = 0.02, 0.05, 0.08, 0.02
#: Bars of the medians over links, of masses and principal moments: total mass unknown and known.
BARS = {False: (0.3, 0.5), True: (0.2, 0.4)}


def chain(inside: str, keep: tuple[str, ...]) -> Robot:
    """The joints of a package's file that move, `NotMeasured` without the package."""
    path = installed_urdf(inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = casid.load_robot(path)
        others = [j.name for j in whole.coordinates if keep and not j.name.startswith(keep)]
        return casid.load_robot(path, lock=others) if others else whole


def body_errors(true: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of links, shape (n, 10) each: masses, and of the three principal moments the median."""
    moments = []
    for a, b in zip(true, found, strict=True):
        real, got = (np.linalg.eigvalsh(from_standard(ten)[2]) for ten in (a, b))
        moments.append(np.median(np.abs(got / real - 1.0)))
    return np.abs(found[:, 9] / true[:, 9] - 1.0), np.array(moments)


#: Of the design of a motion: its result does not depend on the machine (condition numbers as after 15 s).
ITERATIONS = 40


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
    design = study.designer(replace(blind(robot), limits=limits)).run(1, seed, robot=robot.name, iterations=ITERATIONS)
    t = np.arange(0.0, 20.0, 0.01) if t is None else t
    return t, *design.trajectory.motion(t)


def _simulated_truth(robot: Robot, seed: int) -> tuple[Dataset, Dataset]:
    """Two motions of the robot with friction and sensor noise: to identify from, and to test on."""
    rng = np.random.default_rng(seed)
    model = Model(robot, recordings.FRICTION)
    made = []
    terms: np.ndarray | None = None
    for part in (seed, seed + 1):
        t, q, dq, ddq = designed_motion(robot, part)
        rigid = model.parameters(robot.standard_parameters(), np.zeros(3 * robot.n))
        load = model.inverse_dynamics(q, dq, ddq, rigid)
        size = np.sqrt((load**2).mean(axis=0))
        if terms is None:
            terms = np.column_stack(
                [VISCOUS * size, COULOMB * size, rng.uniform(-OFFSET, OFFSET, robot.n) * size]
            ).ravel()
        x = model.parameters(robot.standard_parameters(), terms)
        tau = model.inverse_dynamics(q, dq, ddq, x)
        made.append(Dataset(t, q, tau + NOISE * size * rng.normal(size=tau.shape), dq, ddq, name=robot.name))
    return made[0], made[1]


@dataclass(frozen=True)
class _Links:
    """Relative errors of one robot's links, and of the torques on another motion [%].

    Attributes
    ----------
    masses, moments : ndarray, shape (n,)
        See `body_errors`.
    plain, chosen : float
        Of the consistent fit alone, and of the believable one.
    """

    masses: np.ndarray
    moments: np.ndarray
    plain: float
    chosen: float


def _both(name: str) -> dict[bool, _Links]:
    """One robot, identified from its kinematics and a simulated recording; its total mass unknown, and known."""
    robot = chain(*(FILES | OTHERS)[name])
    made = _simulated_truth(robot, 0)
    return {known: _links(robot, *made, known) for known in (False, True)}


def _links(robot: Robot, training: Dataset, other: Dataset, known: bool) -> _Links:
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
    masses, moments = body_errors(true, chosen.standard_parameters.reshape(-1, 10))
    errors = [predict(model, fit.parameters, other).relative_error for fit in (best, chosen)]
    return _Links(masses, moments, *errors)


def _medians(found: list[_Links]) -> tuple[float, float]:
    masses, moments = ([getattr(links, kind) for links in found] for kind in ("masses", "moments"))
    return float(np.median(np.concatenate(masses))), float(np.median(np.concatenate(moments)))


@row("believable links against known truth, five arms", "medians 30, 50 %; total mass known 20, 40 %; prediction",
     "716, 89 %")  # fmt: skip
def known_truth(jobs: int = -1) -> tuple[str, bool]:
    """All arms, spread over processes."""
    work = (*FILES, *OTHERS)
    made = dict(zip(work, Parallel(n_jobs=jobs)(delayed(_both)(name) for name in work), strict=True))
    texts, met = [], True
    for name in work:
        free, informed = made[name].values()
        pairs = ", ".join("{:.0f} {:.0f}".format(*(100 * m for m in _medians([links]))) for links in (free, informed))
        texts.append(f"{name} {pairs}; torques {free.chosen:.2f} ({free.plain:.2f})")
        met = met and (name in OTHERS or free.chosen <= 1.01 * free.plain)
    for label, names in (("the five", FILES), ("the others, for information", OTHERS)):
        for known, bars in BARS.items():
            medians = _medians([made[name][known] for name in names])
            texts.append(
                f"{label}{', total mass known' if known else ''}: masses {100 * medians[0]:.0f}, "
                f"moments {100 * medians[1]:.0f} %"
            )
            met = met and (names is OTHERS or all(m <= bar for m, bar in zip(medians, bars, strict=True)))
    return " | ".join(texts), met


TERMS = ("viscous", "coulomb", "offset", "rotor")
Read = Callable[[], tuple[Robot, list[Dataset]]]


def one_recording(name: str) -> tuple[Robot, list[Dataset]]:
    """A robot's kinematics and its recording."""
    robot, data = recording_of(name)
    return blind(robot), [data]


def _ur10e() -> tuple[Robot, list[Dataset]]:
    return blind(casid.load_robot("ur10e")), [recordings.ur10e_raw(whole=True)]


def _kr300() -> tuple[Robot, list[Dataset]]:
    return recording_of("KR300")[0], [recordings.kr300_raw(part) for part in "AB"]


def _kinova(signal: str) -> tuple[Robot, list[Dataset]]:
    names = recordings.KINOVA if signal == "tau_current" else recordings.KINOVA[:2]
    return recordings.kinova_robot(), [recordings.kinova_raw(name, signal) for name in names]


def _rokae() -> tuple[Robot, list[Dataset]]:
    return recordings.rokae_robot(), [recordings.rokae_raw(columns={"tau": "tau_joint"})]


@row("Kinova sensors: masses by default", "4-10 kg (6.4), held out <= 9 %", "145 kg", partial(_kinova, "tau_sensor"), 4,
     10, held_out=9.0)  # fmt: skip
@row("Kinova currents: masses by default", "4-10 kg (6.4), held out <= 9 %", "126 kg", partial(_kinova, "tau_current"),
     4, 10, held_out=9.0)  # fmt: skip
@row("KR300, A and B: masses by default", "700-1900 kg, joint 2's counterbalance found", "5289 kg", _kr300, 700, 1900,
     sprung=("joint2",))  # fmt: skip
@row("UR10: masses by default", "20-36 kg (28.7)", "47-81 kg", partial(one_recording, "UR10"), 20, 36)
@row("Panda: masses by default (set on it)", "10-22 kg (16)", "19 kg", partial(one_recording, "Panda"), 10.4, 21.7)
@row("Rokae: masses by default (set on it)", "13-28 kg (20.7)", "39-49 kg", _rokae, 13.4, 28)
@row("UR10e: masses by default (set on it)", "20-36 kg (28.7), error <= 2.2 %, auto's of 0.2", "73.6 kg, 4.0 %", _ur10e,
     20, 36, error=2.2)  # fmt: skip
@row("AR5: masses by default (set on it)", "8-14 kg (CAD 10.7), error <= 1.8 %", "240 kg, 14.1 %",
     partial(one_recording, "AR5"), 8, 14, error=1.8)  # fmt: skip
def masses(
    read: Read, low: float, high: float, error: float = np.inf, held_out: float = np.inf, sprung: tuple[str, ...] = ()
) -> Result:
    """Total mass of the moving links, error and held-out error by the default call; joints with counterbalances."""
    found = identify(*read(), checks=Checks(verdict=False))
    total = float(found.standard_parameters[9::10].sum())
    at_bound = [bound.text for bound in found.feasible.active if "mass" in bound.text]
    held = "-" if found.held_out is None else f"{found.held_out.tested['consistent'].total:.2f}"
    fit = found.feasible.relative_error
    share = "no share" if found.share is None else found.share.reason
    springs = [spring.joint for spring in found.springs]
    text = f"{total:.1f} kg, error {fit:.2f} %, held out {held} %; {share}; masses at a bound: {at_bound or 'none'}"
    text += f"; counterbalances: {', '.join(springs) or 'none'}"
    chosen = found.feasible.believable
    met = low <= total <= high and not at_bound and fit <= error and set(sprung) <= set(springs)
    if np.isfinite(held_out):
        met = met and found.held_out is not None and found.held_out.tested["consistent"].total <= held_out
    return text, met and chosen is not None and chosen.certified


# ---------------------------------------------------------------------- a description with an impossible link


def _with_bodies(robot: Robot, bodies: Mapping[int, Inertial]) -> Robot:
    """The robot with these bodies of its links."""
    joints = [
        replace(j, link=replace(j.link, inertial=bodies.get(k, j.link.inertial))) for k, j in enumerate(robot.joints)
    ]
    return replace(robot, joints=tuple(joints))


def _ar5_cad() -> tuple[Robot, list[Dataset], int]:
    """The AR5 with its maker's bodies, of which the third has one moment of inertia above the sum of the others."""
    robot = casid.load_robot(data_folder() / "ar5" / "ar5.toml")
    body = robot.links[2].inertial
    assert body is not None
    moments, axes = np.linalg.eigh(body.inertia_com)
    bent = axes @ np.diag([*moments[:2], 3.0 * moments.sum()]) @ axes.T
    return _with_bodies(robot, {2: replace(body, inertia_com=bent)}), one_recording("AR5")[1], 2


def _kinova_cad() -> tuple[Robot, list[Dataset], int]:
    """The Kinova with its maker's bodies, of which the shoulder's is impossible as printed."""
    robot, data = _kinova("tau_sensor")
    bodies = {}
    for k, row in enumerate(recordings.table("kinova_gen3/nominal_inertials.csv")[1 : len(robot.links) + 1]):
        com = np.array([float(row[f"com_{axis}_m"]) for axis in "xyz"])
        tensor = [[float(row[f"I{min(a, b)}{max(a, b)}"]) for b in "xyz"] for a in "xyz"]
        bodies[k] = Inertial(float(row["mass_kg"]), com, np.array(tensor))
    return _with_bodies(robot, bodies), data, 0


@row("the same with a CAD file in which one link is impossible: AR5, Kinova sensors",
     "that link named and repaired, the others used, 8-14 and 4-10 kg", "all discarded")  # fmt: skip
def impossible_link() -> Result:
    """Default calls with descriptions of which one link is impossible: what is named, used, and found."""
    texts, met = [], True
    for read, low, high in ((_ar5_cad, 8, 14), (_kinova_cad, 4, 10)):
        robot, data, wrong = read()
        found = identify(robot, data, checks=Checks(verdict=False))
        choice = found.feasible.believable
        used = (
            [] if choice is None else [k for k, origin in enumerate(choice.bodies.origins) if origin == "description"]
        )
        named = any(robot.links[wrong].name in note for note in found.notes)
        masses = found.standard_parameters[9::10]
        given = np.array([0.0 if link.inertial is None else link.inertial.mass for link in robot.links])
        own = float(masses[wrong] / given[wrong])
        texts.append(
            f"{robot.name}: {robot.links[wrong].name} {'named' if named else 'not named'}, {len(used)} of "
            f"{len(robot.links) - 1} others used, {masses.sum():.1f} kg (given {given.sum():.1f}), that link {own:.2f} "
            f"x its mass, error {found.feasible.relative_error:.2f} %"
        )
        rest = [k for k in range(len(robot.links)) if k != wrong]
        met = met and named and used == rest and low <= masses.sum() <= high and 1 / 3 <= own <= 3
        met = met and choice is not None and choice.certified
    return "; ".join(texts), met


# ---------------------------------------------------------------------- the step never fails


def _random_problem(seed: int) -> tuple[Robot, Dataset]:
    """A random robot's kinematics, and a recording of it with noise and with what no rigid body explains."""
    rng = np.random.default_rng(seed)
    bare = random_robot(seed, int(rng.integers(2, 8)), chain=True)
    joints = tuple(replace(joint, link=replace(joint.link, inertial=_random_body(rng))) for joint in bare.joints)
    robot = replace(bare, joints=joints, gravity=np.array([0.0, 0.0, -9.80665]))
    model = Model(robot, TERMS)
    extras = np.tile([0.5, 0.4, 0.1, 0.05 * rng.uniform()], robot.n)
    clean = recording(model, model.parameters(robot.standard_parameters(), extras), int(rng.integers(200, 800)), seed)
    size = np.sqrt((clean.tau**2).mean(axis=0))
    noise = 10.0 ** rng.uniform(-3, -0.7) * size * rng.normal(size=clean.tau.shape)
    bent = 0.1 * rng.uniform() * size * np.tanh(clean.tau / size * 3)  # what no rigid body explains
    data = replace(clean, tau=clean.tau + noise + bent)
    return blind(robot), data


def _random_case(seed: int) -> tuple[int, float, str]:
    """Of one random robot and recording: steps of the path that were found, the largest gap, and an error's text."""
    unknown, data = _random_problem(seed)
    torques = np.abs(data.tau).max(axis=0)
    try:
        fit = wls(compress(Model(unknown, TERMS), data))
        problem = RegressionProblem(fit, constraints=default_bounds(unknown, torques))
        bodies = plausible_bodies(unknown, torques=torques)
        path = problem.path(problem.solve(), SHARES, bodies, expected_rotors(fit.data.model, torques))
    except CasidError as error:
        return 0, np.inf, str(error)
    return len(path), max(step.believable.gap for step in path if step.believable is not None), ""


def _random_body(rng: np.random.Generator) -> Inertial:
    mass, edges = 10.0 ** rng.uniform(-0.7, 1.3), rng.uniform(0.03, 0.3, 3)
    second = mass * edges**2 / 12
    return Inertial(mass, rng.uniform(-0.1, 0.1, 3), np.diag(second.sum() - second))


@row("plausible step on random robots and data", "0 of 500 without a choice, gaps <= 1e-6", "12 of 80", quick=(20,),
     left_out="480 of 500")  # fmt: skip
def never_fails(runs: int = 500, jobs: int = -1) -> Result:
    made = Parallel(n_jobs=jobs)(delayed(_random_case)(seed) for seed in range(runs))
    failed = [error for steps, _, error in made if not steps]
    short = sum(0 < steps < len(SHARES) for steps, _, _ in made)
    worst = max((gap for steps, gap, _ in made if steps), default=np.inf)
    text = (
        f"{len(failed)} of {runs} without a choice, {short} whose path of {len(SHARES)} shares ends early, largest gap "
        f"{worst:.0e}"
    )
    return text, not failed and not short and worst <= 1e-6


# ---------------------------------------------------------------------- certified


def _gaps(seed: int) -> tuple[float, float, str]:
    """Gaps of the best fit and of the choice of one random identification, with an error's text."""
    robot, data = _random_problem(1000 + seed)
    try:
        found = identify(robot, data, processing=False, checks=Checks(verdict=False)).feasible
    except CasidError as error:
        return np.inf, np.inf, str(error)
    return found.gap, np.inf if found.believable is None else found.believable.gap, found.solution.status


def readme_example() -> tuple[float, float]:
    """Gaps of README's ``casid simulate`` and ``casid identify``."""
    with scratch() as folder:
        for line in (f"{README_RECORDING} --out run", "identify panda run/recording.npz --out r"):
            process(sys.executable, "-m", "casid", *line.split(), folder=folder)
        record = json.loads((folder / "r" / "identification.json").read_text(encoding="utf-8"))
    return float(record["gap"]), float(record["believable"]["gap"])


@row("README's example and random identifications: certified", "all of 100, 1e-6", "8.8e-6 on README's", quick=(10,),
     left_out="90 of 100")  # fmt: skip
def all_certified(runs: int = 100, jobs: int = -1) -> Result:
    made = Parallel(n_jobs=jobs)(delayed(_gaps)(seed) for seed in range(runs))
    gaps = np.array([max(best, choice) for best, choice, _ in made])
    example = max(readme_example())
    missed = [f"{seed} {gaps[seed]:.0e} {made[seed][2]}"[:60] for seed in np.flatnonzero(gaps > 1e-6)]
    text = (
        f"README's example {example:.0e}; {np.sum(gaps <= 1e-6)} of {runs} random ones, largest gap {gaps.max():.0e}"
        f"{'; missed: ' + ', '.join(missed[:5]) if missed else ''}"
    )
    return text, example <= 1e-6 and not missed
