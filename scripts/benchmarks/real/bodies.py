"""Masses of real robots by the default call, and the sureness of the plausible step: rows of the table ``real``.

Numbers of the method (what largest torques hold, what rotors weigh, the rule that chooses the share) were set on AR5,
UR10e, Rokae and Panda; UR10, KR300, Kinova and TX40 judge them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks import recordings
from benchmarks.measure import Measure, data_folder
from benchmarks.real.truth import blind
from casid.description import Inertial, Robot
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification import Checks, Identification, RegressionProblem, identify
from casid.identification._bounds import default_bounds, expected_rotors
from casid.identification._share import SHARES
from casid.measurement import Dataset, read_dataset
from casid.regression import compress, wls
from casid.retrieval.plausible._bodies import plausible_bodies
from casid.testing import random_robot
from casid.testing._synthetic import recording

Result = tuple[str, bool]
Read = Callable[[], tuple[Robot, list[Dataset]]]
#: Gear ratios of the KR300: its torques are those of the motors.
_KR300_GAINS = (
    256.85714285714283,
    267.42857142857144,
    252.33333333333334,
    221.0,
    239.61904761904762,
    154.3231343283582,
)


def _ar5() -> tuple[Robot, list[Dataset]]:
    folder = data_folder() / "ar5"
    return casid.load_robot(folder / "ar5_kinematics_only.toml"), [read_dataset(folder / "recording.npz")]


def _ur10e() -> tuple[Robot, list[Dataset]]:
    path = data_folder() / "ur10e" / "identification_data" / "ur-20_02_10-30sec_12harm.npz"
    data = read_dataset(path, columns={"tau": "i"}, gains=recordings.UR_GAINS)
    return blind(casid.load_robot("ur10e")), [data]


def _ur10() -> tuple[Robot, list[Dataset]]:
    folder = data_folder() / "ur10_unisa"
    return casid.load_robot(folder / "ur10_unisa.toml"), [read_dataset(folder / "exciting_trajectory.npz")]


def _kr300() -> tuple[Robot, list[Dataset]]:
    folder = data_folder() / "kr300"
    columns = {"q": "act_pos_mot_deg", "dq": "act_vel_mot_deg_per_s", "tau": "act_torque_abs_nm"}
    offset = [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    read = partial(read_dataset, columns=columns, degrees=True, gains=_KR300_GAINS, position_offset=offset)
    return casid.load_robot(folder / "kr300.toml"), [read(folder / f"recording_{part}.npz") for part in "AB"]


def _kinova(signal: str) -> tuple[Robot, list[Dataset]]:
    names = [
        "opti_traj_testing1",
        "RunTrajectory1",
        *(["RecordTrajectory_quadratic"] if signal == "tau_current" else []),
    ]
    read = partial(read_dataset, columns={"t": "t_ms", "tau": signal}, time_scale=1e-3, unwrap=True)
    return recordings.kinova()[0].robot, [read(data_folder() / "kinova_gen3" / f"{name}.npz") for name in names]


def _rokae() -> tuple[Robot, list[Dataset]]:
    path = data_folder() / "rokae_xmate" / "excitation.npz"
    return recordings.rokae()[0].robot, [read_dataset(path, columns={"tau": "tau_joint"}, rate=1000.0)]


def _panda() -> tuple[Robot, list[Dataset]]:
    return blind(casid.load_robot("panda")), [recordings.panda_raw()]


def _found(read: Read) -> Identification:
    """The default call; processing is stated until it is the default for recordings with velocities."""
    robot, data = read()
    return identify(robot, data, processing=True, checks=Checks(verdict=False))


def masses(read: Read, low: float, high: float, error: float = np.inf) -> Result:
    """Total mass of the moving links, error and held-out error by the default call."""
    found = _found(read)
    total = float(found.standard_parameters[9::10].sum())
    at_bound = [bound.text for bound in found.feasible.active if "mass" in bound.text]
    held = "-" if found.held_out is None else f"{found.held_out.tested['consistent'].total:.2f}"
    fit = found.feasible.relative_error
    share = "no share" if found.share is None else found.share.reason
    text = f"{total:.1f} kg, error {fit:.2f} %, held out {held} %; {share}; masses at a bound: {at_bound or 'none'}"
    chosen = found.feasible.believable
    return text, low <= total <= high and not at_bound and fit <= error and chosen is not None and chosen.certified


# ---------------------------------------------------------------------- the step never fails


def _random_case(seed: int) -> tuple[int, float, str]:
    """Of one random robot and recording: steps of the path that were found, the largest gap, and an error's text."""
    rng = np.random.default_rng(seed)
    bare = random_robot(seed, int(rng.integers(2, 8)), chain=True)
    joints = tuple(replace(joint, link=replace(joint.link, inertial=_random_body(rng))) for joint in bare.joints)
    robot = replace(bare, joints=joints, gravity=np.array([0.0, 0.0, -9.80665]))
    terms = ("viscous", "coulomb", "offset", "rotor")
    model = Model(robot, terms)
    extras = np.tile([0.5, 0.4, 0.1, 0.05 * rng.uniform()], robot.n)
    clean = recording(model, model.parameters(robot.standard_parameters(), extras), int(rng.integers(200, 800)), seed)
    size = np.sqrt((clean.tau**2).mean(axis=0))
    noise = 10.0 ** rng.uniform(-3, -0.7) * size * rng.normal(size=clean.tau.shape)
    bent = 0.1 * rng.uniform() * size * np.tanh(clean.tau / size * 3)  # what no rigid body explains
    data = replace(clean, tau=clean.tau + noise + bent)
    unknown = blind(robot)
    torques = np.abs(data.tau).max(axis=0)
    try:
        fit = wls(compress(Model(unknown, terms), data))
        problem = RegressionProblem(fit, constraints=default_bounds(unknown, torques))
        bodies = plausible_bodies(unknown, torques=torques)
        path = problem.path(problem.solve(), SHARES, bodies, expected_rotors(fit.data.model, torques), rough=True)
    except CasidError as error:
        return 0, np.inf, str(error)
    return len(path), max(step.believable.gap for step in path if step.believable is not None), ""


def _random_body(rng: np.random.Generator) -> Inertial:
    mass, edges = 10.0 ** rng.uniform(-0.7, 1.3), rng.uniform(0.03, 0.3, 3)
    second = mass * edges**2 / 12
    return Inertial(mass, rng.uniform(-0.1, 0.1, 3), np.diag(second.sum() - second))


def never_fails(runs: int = 500, jobs: int = 2) -> Result:
    made = Parallel(n_jobs=jobs)(delayed(_random_case)(seed) for seed in range(runs))
    failed = [error for steps, _, error in made if not steps]
    short = sum(0 < steps < len(SHARES) for steps, _, _ in made)
    worst = max((gap for steps, gap, _ in made if steps), default=np.inf)
    text = (
        f"{len(failed)} of {runs} without a choice, {short} whose path of {len(SHARES)} shares ends early, largest gap "
        f"{worst:.0e}"
    )
    return text, not failed and worst <= 1e-6


BODY_ROWS = (
    Measure("AR5: masses by default (set on it)", "8-14 kg (CAD 10.7)", "240 kg", partial(masses, _ar5, 8, 14)),
    Measure("UR10e: masses by default (set on it)", "20-36 kg (28.7)", "73.6 kg", partial(masses, _ur10e, 20, 36)),
    Measure("Rokae: masses by default (set on it)", "13-28 kg (20.7)", "39-49 kg", partial(masses, _rokae, 13.4, 28)),
    Measure("Panda: masses by default (set on it)", "10-22 kg (16)", "19 kg", partial(masses, _panda, 10.4, 21.7)),
    Measure("UR10: masses by default", "20-36 kg (28.7)", "47-81 kg", partial(masses, _ur10, 20, 36)),
    Measure("KR300, A and B: masses by default", "700-1900 kg", "5289 kg", partial(masses, _kr300, 700, 1900)),
    Measure(
        "Kinova currents: masses by default", "4-10 kg (6.4)", "126 kg",
        partial(masses, partial(_kinova, "tau_current"), 4, 10),
    ),
    Measure(
        "Kinova sensors: masses by default", "4-10 kg (6.4)", "145 kg",
        partial(masses, partial(_kinova, "tau_sensor"), 4, 10),
    ),
    Measure(
        "plausible step on random robots and data", "0 of 500 without a choice, gaps <= 1e-6", "12 of 80",
        never_fails, partial(never_fails, 20), "480 of 500",
    ),
)  # fmt: skip
