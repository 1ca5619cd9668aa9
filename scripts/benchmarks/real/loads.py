"""Loads: payload, gains, and loads picked up on line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from joblib import Parallel, delayed

from benchmarks.learning.online import load_estimator, splices_of
from benchmarks.measure import Rows, data_folder
from benchmarks.recordings import arrays, ur10e_recording
from casid.description import Joint, Link, Robot, modified_dh
from casid.dynamics import Model
from casid.inertia import to_standard
from casid.loads import payload
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.testing import motion

row = Rows()

RUNS = 200
_RATE, NOISE = 25, 0.2  # 1/s, N.m
_FRICTION = ("viscous", "coulomb", "offset")
#: Quantities that are held against the truth.
_HELD = ("m", "cx", "cy", "cz")


@cache
def arm() -> tuple[Model, np.ndarray]:
    """A small arm of three joints, and its parameters."""
    placements = (
        modified_dh(0.0, 0.0, 0.3, 0.0), modified_dh(0.0, -np.pi / 2, 0.0, 0.0), modified_dh(0.4, 0.0, 0.0, 0.0),
    )  # fmt: skip
    joints = tuple(Joint(f"j{k + 1}", "revolute", k - 1, Link(f"l{k + 1}"), T) for k, T in enumerate(placements))
    bodies = [
        to_standard(m, c, m * np.diag([0.006, 0.008, 0.005]))
        for m, c in ((5.0, [0.0, 0.0, 0.1]), (4.0, [0.2, 0.0, 0.05]), (2.0, [0.12, 0.02, 0.0]))
    ]
    model = Model(Robot("three joints", joints), _FRICTION)
    return model, model.parameters(np.concatenate(bodies), np.tile([1.0, 1.5, 0.2], 3))


@dataclass(frozen=True)
class Condition:
    """How a load is identified: seconds without and with it, and what the model leaves out.

    Attributes
    ----------
    known : bool
        The robot alone is identified first (`payload(..., parameters, information)`), in place of a pair.
    stribeck : float
        Amplitude of friction at low speeds, which the model does not have, over the Coulomb friction.
    correlation : float
        Of the noise, from one sample to the next.
    """

    name: str
    without: float = 10.0
    loaded: float = 60.0
    known: bool = False
    stribeck: float = 0.0
    correlation: float = 0.0


CONDITIONS = (
    Condition("pair, 10 s / 60 s"),
    Condition("pair, 60 s / 10 s", 60.0, 10.0),
    Condition("pair, friction mismatch", stribeck=0.6),
    Condition("pair, 60 s / 60 s, friction mismatch", 60.0, stribeck=0.6),
    Condition("identification of 10 s", known=True),
    Condition("identification of 10 s, friction mismatch", known=True, stribeck=0.6),
    Condition("identification of 60 s / 10 s, friction mismatch", 60.0, 10.0, True, 0.6),
    Condition("pair, correlated noise", correlation=0.9),
)


def recorded(x: np.ndarray, seconds: float, seed: int, condition: Condition, rate: int = _RATE) -> Dataset:
    """A motion of the arm with parameters x, at a rate [1/s] that divides 100."""
    model, _ = arm()
    every = 100 // rate
    t, q, dq, ddq = (part[::every] for part in motion(model.n, int(100 * seconds), seed, periodic=False))
    rng = np.random.default_rng([seed, 1])
    tau = model.inverse_dynamics(q, dq, ddq, x)
    tau = tau + condition.stribeck * 1.5 * np.sign(dq) * np.exp(-((dq / 0.15) ** 2))
    noise = rng.normal(size=tau.shape)
    for k in range(1, len(noise) if condition.correlation else 0):
        noise[k] = condition.correlation * noise[k - 1] + np.sqrt(1 - condition.correlation**2) * noise[k]
    return Dataset(t, q, tau + NOISE * noise, dq, ddq)


def _one(condition: Condition, run: int) -> tuple[list[bool], float, float]:
    """Which intervals hold the truth, the relative error of the mass and the relative width of its interval."""
    rng = np.random.default_rng([23, run])
    model, truth = arm()
    mass, com = rng.uniform(0.5, 3.0), rng.uniform(-0.05, 0.05, 3) + np.array([0.3, 0.0, 0.0])
    x = truth.copy()
    x[np.asarray(model.link_columns[-1])] += to_standard(mass, com, 0.004 * mass * np.eye(3))
    for column, (term, _) in model.term_columns.items():
        x[column] += rng.uniform(-0.2, 0.2) if term.symbol in ("fo", "fc") else 0.0
    without = recorded(truth, condition.without, 2 * run, condition)
    loaded = recorded(x, condition.loaded, 2 * run + 1, condition)
    if condition.known:
        fit = wls(compress(model, without))
        found = payload(model, loaded, parameters=np.linalg.pinv(model.base.K) @ fit.beta, information=fit.information)
    else:
        found = payload(model, loaded, without)
    true = dict(zip(_HELD, (mass, *com), strict=True))
    held = [found.intervals[name][0] <= value <= found.intervals[name][1] for name, value in true.items()]
    low, high = found.intervals["m"]
    return held, abs(found.mass / mass - 1.0), (high - low) / mass


def coverage(runs: int = RUNS, jobs: int = -1) -> tuple[str, bool]:
    """All conditions: shares of the runs whose intervals hold the truth. Part of a row of ``soundness``."""
    texts, met = [], True
    for condition in CONDITIONS:
        made = Parallel(n_jobs=jobs)(delayed(_one)(condition, run) for run in range(runs))
        held = 100 * np.mean([one[0] for one in made], axis=0)
        mass, width = (100 * np.median([one[k] for one in made]) for k in (1, 2))
        values = ", ".join(f"{name} {value:.1f}" for name, value in zip(_HELD, held, strict=True))
        texts.append(f"{condition.name}: {values} % (mass off by {mass:.1f} %, interval {width:.0f} % wide)")
        met = met and bool(held.min() >= 92.0 and held.max() <= 98.0)
    return "; ".join(texts), met


FITTED_ON = ("30sec_12harm", "40sec_12harm", "20sec_8harm")
#: Splices of the watched motion; within how much of the mass at the end, after which time [s], in which share of them.
SPLICES, WITHIN, AFTER, SHARE = 20, 0.05, 2.0, 0.95
#: Longest time to the alarm [s].
DETECTED = 0.5


@cache
def _fitted_on() -> tuple[Dataset, ...]:
    return tuple(map(ur10e_recording, FITTED_ON))


def other_motion() -> list[Dataset]:
    """All recordings without a load that the robot was not fitted on, standstill included."""
    folder, names = data_folder() / "ur10e", (*FITTED_ON, "Load", "push")
    paths = sorted(p for p in folder.glob("*/ur-*.npz") if not any(name in p.stem for name in names))
    return [ur10e_recording(path) for path in paths]


@row("load picked up in a motion the robot was not fitted on, UR10e",
     f"detection <= {DETECTED:g} s, {SHARE:.0%} of splices within 5 % after 2 s, no other alarm",
     "worst 31.6 s, two false alarms", quick=(4,), left_out="16 of 20 splices")  # fmt: skip
def picked_up(splices: int = SPLICES) -> tuple[str, bool]:
    """Splices of a motion that the robot was not fitted on."""
    runs = splices_of(load_estimator(_fitted_on()), splices)
    late, settled = np.array([r.delay for r in runs]), np.array([r.settled for r in runs])
    held, share = np.mean([r.held for r in runs], axis=0), float((settled <= AFTER).mean())
    false = sum(r.others for r in runs)
    text = (
        f"{splices} splices: detected after {np.median(late):.2f} s (worst {late.max():.2f}); within {WITHIN:.0%} of "
        f"the mass at the end ({np.mean([r.step for r in runs]):.2f} kg more) for good after {np.median(settled):.1f} "
        f"s (median; worst {settled.max():.1f}), {share:.0%} within {AFTER:g} s; other alarms {false}; interval holds "
        f"the mass at the end in {held.mean():.0%}"
    )
    return text, bool(late.max() <= DETECTED and share >= SHARE and not false)


@row("10 min of other motion without a load, UR10e", "0 alarms", "two")
def false_alarms() -> tuple[str, bool]:
    """Other motion, recording after recording, each with an estimator of its own."""
    seconds, alarms = 0.0, []
    for data in other_motion():
        online = load_estimator(_fitted_on())
        t = data.t - data.t[0]
        online.update(*arrays(data), t)
        seconds += float(t[-1])
        alarms += [f"{data.name} at {change:.1f} s" for change in online.changes]
    text = f"{len(alarms)} alarms in {seconds / 60:.1f} min of {len(other_motion())} recordings"
    return f"{text}{': ' if alarms else ''}{', '.join(alarms)}", not alarms
