"""Simulated robots whose truth is known: masses, closed loops, defects put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks.measure import NotMeasured, Result, Rows
from benchmarks.real import robots
from casid.arrays import Array
from casid.control import PD
from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms import friction_terms
from casid.errors import CasidError
from casid.identification import Checks, identify
from casid.inertia import consistency
from casid.measurement import Dataset, Processing
from casid.regression import compress, wls
from casid.regression.estimators import OLS, ClosedLoop, InstrumentalVariables, Observations, OutputError
from casid.testing import BODY, motion

row = Rows()

TUNED = {"UR5": robots.OTHERS["UR5"], **robots.FILES}
JUDGED = {name: robots.OTHERS[name] for name in ("UR3", "Kinova", "Panda")} | robots.FURTHER
#: Of ``--quick``.
FEW = ("UR3", "Kinova", "TIAGo Pro arm", "G1 arm", "PR2 arm", "ANYmal leg")


def robot_of(name: str) -> Robot:
    """The chain with the bodies of its description; `NotMeasured` without the packages."""
    robot = robots.chain(*(TUNED | JUDGED)[name])
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


def moved_once(robot: Robot, rng: np.random.Generator, designed: bool) -> tuple[np.ndarray, ...]:
    """30 to 60 s at 200 samples a second."""
    t = np.arange(0.0, float(rng.uniform(30.0, 60.0)), 0.005)
    if designed:
        return robots.designed_motion(robot, int(rng.integers(1000)), t)
    q, dq, ddq = robots.fourier(robot.n, t, 0.1, int(rng.integers(1 << 30)), 1.0)
    low, high = np.maximum(robot.limits.lower, -2.0), np.minimum(robot.limits.upper, 2.0)
    fits = 0.8 * (high - low) / np.maximum(np.ptp(q, axis=0), 1e-9)
    factor = np.minimum(fits, 2.0 / np.abs(dq).max(axis=0))
    middle = (low + high) / 2 - factor * (q.max(axis=0) + q.min(axis=0)) / 2
    return t, middle + factor * q, factor * dq, factor * ddq


#: A motion of a robot: instants, positions, velocities, accelerations.
Moved = Callable[[Robot, np.random.Generator, bool], tuple[np.ndarray, ...]]


def recorded(robot: Robot, seed: int, designed: bool = False, drawn: Moved = moved_once) -> Dataset:
    """A recording of the robot with everything that real ones have."""
    rng = np.random.default_rng(seed)
    t, q, dq, ddq = drawn(robot, rng, designed)
    n, model = robot.n, Model(robot, ("viscous", "coulomb", "offset", "rotor"))
    standard = robot.standard_parameters()

    def torque(terms: np.ndarray) -> np.ndarray:
        return np.asarray(model.inverse_dynamics(q, dq, ddq, model.parameters(standard, terms.ravel())))

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
    """Relative errors of one robot: total mass, masses, moments."""

    name: str
    total: float
    masses: tuple[float, ...]
    moments: tuple[float, ...]
    failure: str = ""


def identified(name: str, seed: int = 0) -> Found:
    """One robot by the default call, from its kinematics, its links' shapes and a recording: no inertial values."""
    robot = robot_of(name)
    data = recorded(robot, seed, designed=seed % 2 == 1)
    try:
        result = identify(robots.blind(robot), data, checks=Checks(verdict=False))
    except CasidError as error:
        return Found(name, np.inf, (np.inf,), (np.inf,), str(error))
    true, found = (x.reshape(-1, 10) for x in (robot.standard_parameters(), result.standard_parameters))
    masses, moments = robots.body_errors(true, found)
    total = float(found[:, 9].sum() / true[:, 9].sum()) - 1.0
    return Found(name, total, tuple(masses), tuple(moments))


@row("24 simulated robots by default (6 others tuned on; mass spread and body shape on 8 of the 24 too)",
     "total mass median 15, worst 40 %; masses 30, moments 60 %", quick=(FEW, (0,)),
     left_out="18 robots, designed motions")  # fmt: skip
def measured(names: tuple[str, ...] = tuple(JUDGED), seeds: tuple[int, ...] = (0, 1), jobs: int = -1) -> Result:
    """All robots, spread over processes."""
    made = Parallel(n_jobs=jobs)(delayed(identified)(name, seed) for name in names for seed in seeds)
    totals = np.abs([one.total for one in made])
    masses, moments = (np.concatenate([getattr(one, kind) for one in made]) for kind in ("masses", "moments"))
    ordered = sorted(made, key=lambda one: -abs(one.total))
    worst = ", ".join(f"{one.name} {100 * one.total:+.0f} %{' ' + one.failure[:60]}".rstrip() for one in ordered[:4])
    text = (
        f"{len(made)} recordings of {len(names)} robots: total mass median {100 * np.median(totals):.0f} %, worst "
        f"{100 * totals.max():.0f} % ({worst}); masses {100 * np.median(masses):.0f} %, moments "
        f"{100 * np.median(moments):.0f} %"
    )
    met = bool(np.median(totals) <= 0.15 and totals.max() <= 0.4 and np.median(masses) <= 0.3)
    return text, met and bool(np.median(moments) <= 0.6)


RUNS, PERIOD = 100, 1e-3
FRICTION = {
    "fv": [8.05, 5.53, 1.97, 1.11, 1.86, 0.65],
    "fc": [7.14, 8.26, 6.34, 2.48, 3.03, 0.28],
    "fo": [0.5, -0.3, 0.2, 0.1, -0.1, 0.05],
    "Ia": [0.37, 0.37, 0.12, 0.09, 0.09, 0.05],
}
#: A held torque belongs to the middle of its interval.
PROCESSING = Processing(cutoff=None, trim=0.3, every=1, delay=-PERIOD / 2)


@cache
def _machine() -> tuple[ClosedLoop, Array, Dataset]:
    """Robot and controller, the true base parameters, and their motion."""
    robot = casid.load_robot("tx40")
    model = Model(robot, ("rotor", *friction_terms("smooth", [[0.05]] * 6)))
    terms = [FRICTION[term.symbol][k] for _, (term, k) in sorted(model.term_columns.items())]
    exact = np.asarray(model.base.values(model.parameters(robots.nominal(robot), terms)))
    reference = robots.fourier(6, np.arange(0, 8, PERIOD), 0.25, 5, 2 / np.sqrt(5))
    w, inertia = 2 * np.pi * 8, np.array([2.5, 2.5, 0.6, 0.15, 0.12, 0.06])
    controller = PD((inertia * w**2).tolist(), (inertia * 2 * w).tolist())
    loop = ClosedLoop(model, controller, *reference, PERIOD)
    return loop, exact, loop.simulate(exact)


def _instruments(beta: Array) -> list[Dataset]:
    made = _machine()[0].simulate(beta)
    return [PROCESSING.apply(Dataset(made.t, made.q, made.tau))]


def _run(seed: int) -> dict[str, tuple[Array, Array]]:
    """Estimates and their deviations by each method, of one noisy recording."""
    loop, _, true = _machine()
    rng = np.random.default_rng(seed)
    spread = rng.uniform(*robots.POSITION_NOISE, 6)
    q = true.q + spread * rng.normal(size=true.q.shape)
    noisy = Dataset(true.t, q, true.tau + robots.TORQUE_NOISE * rng.normal(size=q.shape))
    data = Observations(loop.model, PROCESSING.apply(noisy))
    estimators = OLS(), InstrumentalVariables(_instruments), OutputError(loop, q)
    return {fit.method: (fit.beta, fit.sd) for fit in (one.fit(data) for one in estimators)}


@row("TX40 in closed loop, noise of BIRDy, no filter: bias and intervals", "IV, CLOE < 2 sd < OLS; 93-97 %")
def closed_loop(runs: int = RUNS, jobs: int = -1) -> tuple[str, bool]:
    """Bias and coverage over many runs, spread over processes."""
    made = Parallel(n_jobs=jobs)(delayed(_run)(seed) for seed in range(runs))
    exact = _machine()[1]
    bias, inside = {}, {}
    for name in made[0]:
        beta, sd = (np.array([run[name][i] for run in made]) for i in (0, 1))
        bias[name] = float(np.abs((beta.mean(axis=0) - exact) / np.median(sd, axis=0)).max())
        inside[name] = 100 * float(np.mean(np.abs((beta - exact) / sd) < 1.96))
    text = "; ".join(f"{k}: largest bias {bias[k]:.2f} sd, intervals hold {inside[k]:.1f} %" for k in bias)
    good = all(bias[name] < 2 and 93 <= inside[name] <= 97 for name in ("IDIM-IV", "CLOE"))
    return f"{text}; {runs} runs", good and bias["OLS"] > 2


TERMS = ("viscous", "coulomb", "offset")
ROBOTS = ("panda", "ur10e", "kuka_iiwa", "tx40", "puma560", "stanford", "three_link", "wam7")
QUICK = ("panda", "three_link")
KINDS = ("gap", "spike", "repeats", "saturation", "standstill")
SAMPLES, CUTOFF = 6000, 8.0


def clean(model: Model, seed: int) -> tuple[Dataset, Array]:
    """A recording with quantised positions and noisy torques, and its parameters."""
    rng = np.random.default_rng(seed)
    bodies = np.tile(BODY, model.n)
    truth = model.parameters(bodies, np.tile([2.0, 3.0, 0.5], model.n))
    t, q, dq, ddq = motion(model.n, SAMPLES, seed)
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau, name=model.robot.name), truth


def spoiled(data: Dataset, kind: str, seed: int) -> Dataset:
    """The recording with one kind of defect."""
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    t, q, tau = (np.array(x) for x in (data.t, data.q, data.tau))
    middle = SAMPLES // 2
    if kind == "gap":
        kept = np.ones(len(t), dtype=bool)
        kept[middle : middle + 60] = False
        t, q, tau = t[kept], q[kept], tau[kept]
    elif kind == "spike":
        tau[middle, 0] += 5 * np.ptp(tau[:, 0])
        q[middle // 2] += 1.0
    elif kind == "repeats":
        q[middle : middle + 60], tau[middle : middle + 60] = q[middle], tau[middle]
    elif kind == "saturation":
        tau[:, 0] = np.clip(tau[:, 0], *np.quantile(tau[:, 0], [0.03, 0.97]))
    else:  # the motion stops for two seconds: friction there is what is left of it
        count = int(2.0 / data.period)
        where = int(rng.integers(SAMPLES // 4, SAMPLES // 2))
        rest = np.repeat([where], count)
        order = np.concatenate([np.arange(where), rest, np.arange(where, SAMPLES)])
        t = np.asarray(np.arange(len(order)) * data.period)
        q, tau = np.asarray(q[order] + 1e-6 * rng.normal(size=(len(order), data.n))), tau[order]
        tau[where : where + count] += rng.uniform(-3.0, 3.0, data.n)
    return Dataset(t, q, tau, name=data.name)


def error(model: Model, data: Dataset, truth: Array, test: Dataset) -> tuple[float, set[str]]:
    """Error of the fit's torques on a recording without noise [%], and the kinds of defects that were named."""
    ready = Processing(cutoff=CUTOFF).apply(data)
    beta = wls(compress(model, ready)).beta
    return compress(model, test).relative_errors(beta)[0], {one.kind for one in ready.defects}


@row("defects injected, 5 kinds, simulated robots", "error within 10 % of clean; each named", "8 x")
def injected(names: tuple[str, ...] = ROBOTS, seed: int = 3) -> tuple[str, bool]:
    """The row of the table."""
    texts, met = [], True
    worst: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    missed = []
    for name in names:
        model = Model(casid.load_robot(name), TERMS)
        data, truth = clean(model, seed)
        other, _ = clean(model, seed + 1)
        test = Processing(cutoff=CUTOFF).apply(replace(other, name="test"))
        best, false = error(model, data, truth, test)
        missed += [f"{name}: {kind} named in the clean one" for kind in false]
        for kind in KINDS:
            found, named = error(model, spoiled(data, kind, seed), truth, test)
            worst[kind] = max(worst[kind], found / best - 1)
            missed += [] if kind in named else [f"{name}: {kind} not named"]
    met = not missed and max(worst.values()) <= 0.1
    texts = [f"{kind} {100 * value:+.1f} %" for kind, value in worst.items()]
    return f"error against the clean recording's, worst of {len(names)} robots: {', '.join(texts)}; " + (
        "; ".join(missed) or "each named"
    ), met
