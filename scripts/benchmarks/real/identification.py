"""Believable links, held-out error, bounds, time: rows of the table ``real``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

import casid
from benchmarks import recordings
from benchmarks.measure import Measure, data_folder
from casid.description import Robot
from casid.dynamics import Model
from casid.excitation import DesignSettings
from casid.identification import Checks, Choice, ModelOptions, identify
from casid.inertia import to_standard
from casid.loads import gains, payload
from casid.measurement import Dataset, Processing, prepare, read_dataset
from casid.regression import compress

Result = tuple[str, bool]


def panda() -> Result:
    """The share of the residual is chosen by held-out error: it is judged there, against that of version 0.2."""
    robot, data, options = casid.load_robot("panda"), recordings.panda_raw(), ModelOptions(gravity=recordings.GRAVITY)
    result = identify(robot, data, model=options)
    former = identify(robot, data, model=options, choice=Choice(share=0.005), checks=Checks(verdict=False))
    fit = result.feasible
    assert fit.believable is not None and result.held_out is not None and former.held_out is not None
    thinnest = min(float(link.principal_moments[0]) for link in fit.link_parameters)
    bound = [b.text for b in fit.active if "mass" in b.text]
    held, before = (found.held_out.tested["consistent"].total for found in (result, former) if found.held_out)
    text = (
        f"error {fit.relative_error:.2f} %, held out {held:.3f} % (share 0.5 %: {before:.3f} %), smallest principal "
        f"moment {thinnest:.1e}, masses at a bound: {bound or 'none'}, gaps {fit.solution.gap:.0e} and "
        f"{fit.believable.gap:.0e}"
    )
    certified = fit.solution.gap <= 1e-6 and fit.believable.gap <= 1e-6
    return text, held <= before and thinnest >= 1e-4 and not bound and certified


# ---------------------------------------------------------------------- Kinova, payload, time


def kinova() -> Result:
    model, _ = recordings.kinova()
    folder = data_folder() / "kinova_gen3"
    columns = {"t": "t_ms", "tau": "tau_sensor"}
    raw = [
        read_dataset(folder / f"{name}.npz", columns=columns, time_scale=1e-3, unwrap=True)
        for name in ("opti_traj_testing1", "RunTrajectory1")
    ]
    texts, met = [], True
    for here, there in ((0, 1), (1, 0)):
        data = [d.only(range(1, 7)) if k == 1 else d for k, d in enumerate(raw)]  # joint 1 is dead in the second
        result = identify(
            model.robot,
            data[here],
            model=ModelOptions(terms=(*recordings.FRICTION, "rotor")),
            checks=Checks(folds=0, verdict=False),
        )
        test = prepare(data[there], None)
        consistent = result.predict(test).relative_error
        free = compress(result.model, test).relative_errors(result.unconstrained.beta)[0]
        largest = float(np.abs(result.parameters.values).max() / np.abs(data[here].tau).max())
        texts.append(f"feasible {consistent:.1f} %, WLS {free:.1f} %, largest parameter {largest:.2g} x the torque")
        met = met and consistent <= free and largest <= 10.0
    return "; ".join(texts), met


def payload_pair() -> Result:
    folder = data_folder() / "ur10e" / "identification_data"
    settings = Processing(
        cutoff=7.5, torque_cutoff=10.0, order=5, rate=None, velocity="measured", filter_position=False,
        acceleration_cutoff=7.5, trim=0.0, every=1,
    )  # fmt: skip

    def pair(factors: ArrayLike = 1.0) -> list[Dataset]:
        scale = np.asarray(recordings.UR_GAINS) * factors
        read = (("Load", (307, 5071)), ("", (194, 4966)))
        paths = [(folder / f"ur-20_02_19_14harm50sec{name}.npz", rows) for name, rows in read]
        return [settings.apply(read_dataset(p, columns={"tau": "i"}, gains=scale, rows=rows)) for p, rows in paths]

    def half(data: list[Dataset], part: int) -> list[Dataset]:
        return [d.rows(slice(part * len(d) // 2, (part + 1) * len(d) // 2), "one half") for d in data]

    measured = pair()
    model = Model(casid.load_robot("ur10e"), (*recordings.FRICTION, "rotor"), recordings.GRAVITY)
    whole = payload(model, measured[0], measured[1])
    left_out: list[float] = []
    commons: list[float] = []
    for part in (0, 1):
        with_load, without = half(measured, part)
        found = gains(model, with_load, without, mass=2.805)
        factors = found.joints if found.determined else found.common
        for masses, scale in ((left_out, factors), (commons, found.common)):
            with_load, without = half(pair(scale), 1 - part)
            masses.append(payload(model, with_load, without).mass)
    low, high = whole.intervals["m"]
    text = (
        f"{whole.mass:.3f} kg, {low:.3f} to {high:.3f}; `gains` with 2.805 kg on one half, the "
        f"other gives {left_out[0]:.3f} and {left_out[1]:.3f} kg (with the common factor alone {commons[0]:.3f} and "
        f"{commons[1]:.3f})"
    )
    return text, abs(whole.mass - 2.47) <= 0.05 and all(abs(m / 2.805 - 1) <= 0.02 for m in left_out)


@cache
def _carrier() -> tuple[Model, np.ndarray]:
    """The arm that carries the loads, and its true parameters."""
    robot = casid.load_robot("panda")
    model = Model(robot, recordings.FRICTION)
    return model, model.parameters(robot.standard_parameters(), np.tile([0.4, 0.5, 0.0], 7))


@dataclass(frozen=True)
class _Way:
    """How loads are identified.

    Attributes
    ----------
    name : str
    static : bool
        Poses, not motions.
    designed : bool
        The motion is designed; only such motions, and 15 poses, are judged, others are for information.
    poses : int
    stiction : float
        Largest torque that friction holds in a pose, either way [N.m].
    """

    name: str
    static: bool = False
    designed: bool = False
    poses: int = 15
    stiction: float = 0.0

    @property
    def judged(self) -> bool:
        """Its numbers decide."""
        return (self.static and self.poses == 15) or self.designed


#: A user's motion is designed (`casid excite`); one that was not, for comparison.
_WAYS = (_Way("15 poses", static=True), _Way("designed motion", designed=True), _Way("sinusoids of random phase"))
#: Poses held by friction; more of them for information.
_STUCK = tuple(_Way(f"{n} poses", static=True, poses=n, stiction=0.5) for n in (15, 60))
#: Motions that are designed, one a seed; load k has motion k modulo their number.
_DESIGNS = 4


def _carried(way: _Way, run: int, motion: tuple[np.ndarray, ...] | None) -> tuple[float, float, list[bool]]:
    """Relative error of the mass, of the centre of mass [m], and which intervals hold the truth, of one load."""
    rng = np.random.default_rng((7, way.static, run))
    model, truth = _carrier()
    com = rng.uniform(-0.03, 0.03, 3) + np.array([0.0, 0.0, 0.16])
    mass = rng.uniform(1.0, 3.0)
    x = truth.copy()
    x[np.asarray(model.link_columns[-1])] += to_standard(mass, com, 0.01 * np.eye(3))
    for column, (term, _joint) in model.term_columns.items():
        if term.symbol == "fo":
            x[column] += rng.uniform(-1.0, 1.0)
        elif term.symbol == "fc":
            x[column] *= rng.uniform(0.9, 1.1)
    t, q, dq, ddq = _load_motion(model.robot, rng, way) if motion is None else motion
    tau = np.array(model.inverse_dynamics.map(len(t))(q.T, dq.T, ddq.T, np.tile(x[:, None], len(t)))).T
    noise = (0.005 if way.static else 0.05) * rng.normal(size=tau.shape)
    data = Dataset(t, q, tau + noise + way.stiction * rng.uniform(-1.0, 1.0, tau.shape), dq, ddq)
    found = payload(model, data, parameters=truth)
    held = [
        found.intervals[name][0] <= value <= found.intervals[name][1]
        for name, value in zip(("m", "cx", "cy", "cz"), (mass, *com), strict=True)
    ]
    return abs(found.mass / mass - 1.0), float(np.abs(found.com - com).max()), held


def payload_simulated(
    runs: int = 200, jobs: int = 2, ways: tuple[_Way, ...] = _WAYS, most: tuple[float, float] = (1.0, 1.0)
) -> Result:
    """Loads identified in these ways; 19 of 20 are demanded within these errors of mass [%] and centre [mm]."""
    texts, met, count = [], True, _DESIGNS if any(way.designed for way in ways) else 0
    designs = Parallel(n_jobs=jobs)(delayed(_designed)(seed) for seed in range(count))
    for way in ways:
        motions = designs if way.designed else [None]
        made = Parallel(n_jobs=jobs)(delayed(_carried)(way, run, motions[run % len(motions)]) for run in range(runs))
        masses, centres = (100 * np.array([m for m, _, _ in made]), 1e3 * np.array([c for _, c, _ in made]))
        held = np.array([h for _, _, h in made])
        texts.append(
            f"{way.name}{'' if way.judged else ' (for information)'}: mass {np.median(masses):.2f} % (19 of 20 below "
            f"{np.quantile(masses, 0.95):.2f}, worst {masses.max():.2f}), centre {np.median(centres):.2f} mm "
            f"({np.quantile(centres, 0.95):.2f}, {centres.max():.2f}), intervals hold {100 * held.mean():.1f} %"
        )
        if way.judged:
            met = met and bool(np.quantile(masses, 0.95) <= most[0] and np.quantile(centres, 0.95) <= most[1])
            met = met and bool(held.all(axis=1).mean() >= 0.95)
    return "; ".join(texts), met


def _designed(seed: int) -> tuple[np.ndarray, ...]:
    """A motion of 10 s within the Panda's limits, designed by casid for the condition number, 50 samples a second."""
    robot = casid.load_robot("panda")
    study = DesignSettings(duration=10.0, collision=False, torque=False, samples=80)
    design = study.designer(robot).run(1, seed, max_seconds=15.0, robot=robot.name)
    t = np.arange(0.0, 10.0, 0.02)
    return t, *design.trajectory.motion(t)


def _load_motion(robot: Robot, rng: np.random.Generator, way: _Way) -> tuple[np.ndarray, ...]:
    low, high = 0.8 * robot.limits.lower, 0.8 * robot.limits.upper
    if way.static:
        q = rng.uniform(low, high, (way.poses, robot.n))
        return np.arange(float(way.poses)), q, np.zeros_like(q), np.zeros_like(q)
    t = np.arange(0.0, 10.0, 0.02)
    q, dq, ddq = (np.zeros((len(t), robot.n)) for _ in range(3))
    for h in range(1, 5):
        w, phase, size = 0.2 * np.pi * h, rng.uniform(0, 2 * np.pi, robot.n), (high - low) / (8 * h)
        q += size * np.sin(w * t[:, None] + phase)
        dq += w * size * np.cos(w * t[:, None] + phase)
        ddq -= w**2 * size * np.sin(w * t[:, None] + phase)
    return t, q + (low + high) / 2, dq, ddq


def whole_time() -> Result:
    """The default with progress, as the command line runs it."""
    data, robot = recordings.panda_raw(), casid.load_robot("panda")
    steps: list[str] = []
    began, worked = time.perf_counter(), time.process_time()
    result = identify(robot, data, progress=lambda text, done, total: steps.append(text))
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    assert result.held_out is not None and result.verdict is not None
    held = result.held_out.tested["consistent"].total
    text = (
        f"{seconds:.1f} s by the clock, {cpu:.1f} s of processor, {len(set(steps))} steps shown; held out {held:.2f} %"
    )
    return f"{text}; {result.verdict.line}", seconds <= 20.0 and bool(steps)


IDENTIFICATION_ROWS = (
    Measure(
        "Panda trajectory_1, default identify",
        "held out not worse than with the share of 0.2, moments >= 1e-4, no mass at a bound, gaps <= 1e-6",
        "needles, link 2 at 10 kg", panda,
    ),
    Measure("Kinova, each recording from the other", "feasible <= WLS; parameters <= 10 x", "1e5 N m", kinova),
    Measure("UR10e load pair, by gains", "2.47 +-0.05 kg; halves within 2 % of 2.805", "by hand", payload_pair),
    Measure(
        "payload simulated, Franka-like, 200 runs", "mass 1 %, centre 1 mm (19 of 20 loads), intervals >= 95 %", "-",
        payload_simulated,
    ),
    Measure(
        "payload, static poses with stiction of +-0.5 N.m, 200 runs",
        "mass 1 %, centre 3 mm (19 of 20 loads), intervals >= 95 %", "1.86 %, 13.4 mm",
        lambda: payload_simulated(ways=_STUCK, most=(1.0, 3.0)),
        lambda: payload_simulated(20, ways=_STUCK, most=(1.0, 3.0)), "180 of 200 runs",
    ),
    Measure(
        "Panda, 20 k samples: time of the default", "<= 20 s on two cores with progress, --quick <= 4 s", "10.4 s",
        whole_time,
    ),
)  # fmt: skip
