"""Injected faults and wrong gravity: what the verdict names, and what it says of clean recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import casid
from benchmarks import recordings
from benchmarks.measure import Result, Rows, data_folder
from benchmarks.real.robots import IDENTIFYING, JUDGED_ON, SET_ON, blind, recording_of
from benchmarks.results import digest, measured
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import Checks, ModelOptions, identify
from casid.measurement import Dataset, Processing
from casid.retrieval.plausible import plausible_bodies

row = Rows()

Work = dict[str, Callable[[], dict[str, Any]]]
#: Of ``--quick``.
FEW = ("UR10e", "UR10")
#: Seconds after which no other piece is begun, and the files that the verdict depends on.
SECONDS = 7200
EXERCISED = (*IDENTIFYING, "casid/identification/diagnosis/*.py", "scripts/benchmarks/real/faults.py")
#: Words by which a refusal names a fault of a kind: a refusal without them names nothing.
REFUSAL_NAMES = {
    "gravity": ("gravity",), "sign": ("sign", "reversed"), "joint order": ("exchanged", "order of"),
    "clock": ("millisecond", "rate", "time step"), "zero position": ("zero position",), "torque scale": ("unit",),
    "delay": ("delay", "later"), "standstill": ("stands still", "standstill", "at rest"),
    "channel": ("constant", "dead", "zero throughout"), "saturation": ("saturat",),
}  # fmt: skip
#: Clean pieces that each recording is cut into, beside the whole: the first, middle and last two thirds and halves.
PIECES, SHARES = 6, (2 / 3, 1 / 2)


class Fault(NamedTuple):
    """A fault, the kinds of findings that name it, and the robot and recording with it."""

    name: str
    kinds: tuple[str, ...]
    robot: Robot
    data: Dataset


def faults(robot: Robot, data: Dataset) -> Iterator[Fault]:
    """Fifteen kinds of faults."""
    n, g = data.n, np.asarray(robot.gravity)
    sideways = np.roll(g, 1)
    yield Fault("gravity, another axis", ("gravity",), replace(robot, gravity=sideways), data)
    yield Fault("gravity, its sign", ("gravity",), replace(robot, gravity=-g), data)
    yield Fault("gravity, tilted", ("gravity",), replace(robot, gravity=(g + sideways) / np.sqrt(2)), data)
    signs = np.where(np.arange(n) == 1, -1.0, 1.0)
    yield Fault("sign of a torque", ("sign",), robot, replace(data, tau=data.tau * signs))
    yield Fault("all signs", ("sign", "gravity"), robot, replace(data, tau=-data.tau))
    order = np.arange(n)
    order[[1, 2]] = order[[2, 1]]
    arrays = {name: getattr(data, name) for name in ("q", "dq", "ddq", "tau")}
    swapped: dict[str, Any] = {name: x if x is None else x[:, order] for name, x in arrays.items()}
    yield Fault("joints exchanged", ("joint order", "clock"), robot, replace(data, **swapped))
    yield Fault("torques exchanged", ("joint order",), robot, replace(data, tau=swapped["tau"]))
    shift = np.where(np.arange(n) == 1, 0.35, 0.0)
    yield Fault("zero position", ("zero position", "gravity"), robot, replace(data, q=data.q + shift))
    yield Fault("torque unit", ("torque scale",), robot, replace(data, tau=0.01 * data.tau))
    yield from _timing(robot, data)
    yield from _channels(robot, data)


def _timing(robot: Robot, data: Dataset) -> Iterator[Fault]:
    lag = max(1, round(0.04 / data.period))
    late = data.tau.copy()
    late[lag:] = data.tau[:-lag]
    yield Fault("delay", ("delay",), robot, replace(data, tau=late))
    yield Fault("milliseconds", ("clock",), robot, replace(data, t=1000 * data.t))
    yield Fault("rate x 2", ("clock",), robot, replace(data, t=data.t / 2))
    half, at = (np.arange(len(data)) < len(data) // 2)[:, None], len(data) // 2
    noise = 0.01 * np.random.default_rng(0).normal(size=data.tau.shape)
    still: dict[str, Any] = {
        "q": np.where(half, data.q, data.q[at]),
        "tau": np.where(half, data.tau, data.tau[at] + noise),
        "dq": None if data.dq is None else np.where(half, data.dq, 0.0),
        "ddq": None if data.ddq is None else np.where(half, data.ddq, 0.0),
    }
    yield Fault("standstill", ("standstill",), robot, replace(data, **still))


def _channels(robot: Robot, data: Dataset) -> Iterator[Fault]:
    dead = data.tau.copy()
    dead[:, 2] = 0.0
    yield Fault("dead channel", ("channel",), robot, replace(data, tau=dead))
    level = np.percentile(np.abs(data.tau), 90.0, axis=0)
    only = np.arange(data.n) == int(np.argmax(level))
    yield Fault("saturation", ("saturation",), robot, replace(
        data, tau=np.where(only, np.clip(data.tau, -level, level), data.tau)
    ))  # fmt: skip


class Judged(NamedTuple):
    """What the verdict finds in one recording.

    Attributes
    ----------
    headline : str
    first : str
        Kind of the finding that the headline opens with; empty where there is none.
    wrong, doubted : bool
        Whether the headline calls the torques or the recording wrong; whether it says that, or that something is to be
        checked.
    remedies : tuple of str
        What the remedies that it gives were measured by; "worse" for one that is not better, "untried" for one that
        was not tried.
    """

    headline: str
    first: str
    wrong: bool
    remedies: tuple[str, ...] = ()
    doubted: bool = True


#: Default filters and terms without what is chosen by held-out error (friction, springs, share): a third of the time.
BRIEF: Mapping[str, Any] = {
    "processing": Processing(), "model": ModelOptions(terms=(*recordings.FRICTION, "rotor")),
    "checks": Checks(folds=0),
}  # fmt: skip


def judged(robot: Robot, data: Dataset, options: Mapping[str, Any] = BRIEF) -> Judged:
    """The verdict with these options of `identify`."""
    try:
        found = identify(robot, data, **options).verdict
    except CasidError as error:
        return Judged(f"refused: {error}", "refused", True)
    assert found is not None
    own = found.about("torques")
    trials = [f.trial for f in own if f.remedy]
    remedies = ("untried" if t is None else t.measure if t.after < t.before else "worse" for t in trials)
    wrong = any(f.level in ("wrong", "fault") for f in own)
    doubted = wrong or any(f.level == "check" for f in own)
    return Judged(found.torques, own[0].kind if own else "", wrong, tuple(remedies), doubted)


def case(name: str, fault: str | None, piece: int = 0) -> tuple[tuple[str, ...], Robot, Dataset]:
    """Kinds that name the fault (none: clean), robot and recording."""
    robot, data = recording_of(name)
    if fault is not None:
        return next(one[1:] for one in faults(robot, data) if one.name == fault)
    if piece:
        share, start = SHARES[(piece - 1) // 3], (piece - 1) % 3 / 2
        length = int(share * len(data))
        first = int(start * (len(data) - length))
        data = data.rows(slice(first, first + length), f"piece {piece}")
        data = replace(data, t=data.t - data.t[0])
    return (), robot, data


def judged_case(name: str, fault: str | None, piece: int = 0) -> dict[str, Any]:
    """What was found, and whether the headline opens with the fault (clean: whether nothing is wrong)."""
    kinds, robot, data = case(name, fault, piece)
    found = judged(robot, data)
    right = not found.doubted if fault is None else names(found, kinds)
    return {
        "robot": name, "fault": fault, "right": right, "wrong": found.wrong, "headline": found.headline,
        "first": found.first, "remedies": list(found.remedies),
    }  # fmt: skip


def names(found: Judged, kinds: tuple[str, ...]) -> bool:
    """Whether the torques are called wrong by a finding of these kinds first, or a refusal says so in words."""
    if found.first != "refused":
        return found.wrong and found.first in kinds
    headline = found.headline.lower()
    return any(word in headline for kind in kinds for word in REFUSAL_NAMES[kind])


def cases(only: tuple[str, ...], pieces: int = PIECES) -> Work:
    """What judges each case of these robots, by its name: clean recordings, pieces of them, and faults."""
    work = clean(only, pieces)
    for name in only:
        for fault in faults(*recording_of(name)):
            work[f"{name}, {fault.name}"] = partial(judged_case, name, fault.name)
    return work


def clean(only: tuple[str, ...], pieces: int = PIECES) -> Work:
    """What judges the recordings of these robots and pieces of them; two rows share what it finds."""
    return {
        f"{name}, clean {k or 'whole'}": partial(judged_case, name, None, k) for name in only for k in range(pieces + 1)
    }


@row("15 kinds of faults x 9 robots, 63 clean recordings and pieces",
     ">= 95 % called wrong and named by the headline, 0 clean ones doubted, every remedy tried and better",
     "6 of 11 named; 4 false alarms of 9", quick=(FEW, 1), left_out="most robots")  # fmt: skip
def verdicts(only: tuple[str, ...] = (*SET_ON, *JUDGED_ON), pieces: int = PIECES, jobs: int = -1) -> Result:
    """All faults of these robots, the clean recordings and their pieces, spread over processes."""
    text, met = summary(measured("faults", digest(*EXERCISED), cases(only, pieces), SECONDS, jobs))
    return f"{text}; set on {', '.join(n for n in SET_ON if n in only)}", met


def summary(made: Mapping[str, Mapping[str, Any]]) -> Result:
    """The row of the table."""
    clean = {part: one for part, one in made.items() if one["fault"] is None}
    faulty = {part: one for part, one in made.items() if one["fault"] is not None}
    alarms = [f"{part}: {one['headline']}" for part, one in clean.items() if not one["right"]]
    missed = [f"{part}: {one['headline'][:90]}" for part, one in faulty.items() if not one["right"]]
    measures = [measure for one in made.values() for measure in one["remedies"]]
    named = len(faulty) - len(missed)
    refused = sum(one["first"] == "refused" for one in faulty.values())
    text = (
        f"{named} of {len(faulty)} called wrong by the headline's first finding ({refused} refused, which counts only "
        f"where the refusal names the fault); {len(alarms)} false alarms of {len(clean)}"
        f"{': ' + '; '.join(alarms) if alarms else ''}; remedies by {dict(sorted(Counter(measures).items()))}; missed: "
        f"{'; '.join(missed) or 'none'}"
    )
    return text, named >= 0.95 * len(faulty) and not alarms and not {"worse", "untried"} & set(measures)


GEARS = (0.5, 0.7, 1.5, 2.0)


def carriers(robot: Robot, data: Dataset) -> list[int]:
    """Joints that carry gravity: plausible bodies load them with a twentieth of the largest such torque."""
    model, bodies = casid.Model(robot), plausible_bodies(robot).parameters
    statics = np.array([model.regressor(q, 0 * q, 0 * q) @ bodies for q in data.q[:: len(data) // 50]])
    sizes = np.sqrt((statics**2).mean(axis=0))
    return [k for k in range(robot.n) if sizes[k] > 0.05 * sizes.max()]


def geared(name: str, joint: int | None, gear: float) -> dict[str, Any]:
    """What the default finds where the torque of one joint has another scale; without a joint, in a clean piece."""
    _, robot, data = case(name, None, 0 if joint is not None else round(gear))
    if joint is not None:
        data = replace(data, tau=data.tau * np.where(np.arange(robot.n) == joint, gear, 1.0))
    found = judged(robot, data, {})
    right = not found.wrong if joint is None else (
        names(found, ("torque scale",)) and f"'{robot.coordinates[joint].name}' times" in found.headline
    )  # fmt: skip
    return {"right": right, "fault": joint, "headline": found.headline}


@row("gear 0.5, 0.7, 1.5, 2 on each joint that carries gravity, and clean pieces",
     ">= 90 % called wrong with joint and cause named, 0 clean ones wrong", "no finding", quick=(FEW, 1),
     left_out="most robots")  # fmt: skip
def gears(only: tuple[str, ...] = (*SET_ON, *JUDGED_ON), pieces: int = PIECES, jobs: int = -1) -> Result:
    """Wrong gears of all joints that carry gravity, and clean pieces, by the default command."""
    work: Work = {}
    for name in only:
        work |= {f"{name}, clean {k}": partial(geared, name, None, float(k)) for k in range(pieces + 1)}
        joints = [(k, gear) for k in carriers(*recording_of(name)) for gear in GEARS]
        work |= {f"{name}, joint {k + 1} x {gear:g}": partial(geared, name, k, gear) for k, gear in joints}
    made = measured("gears", digest(*EXERCISED), work, SECONDS, jobs)
    untouched = [part for part, one in made.items() if one["fault"] is None]
    alarms = [f"{part}: {made[part]['headline'][:120]}" for part in untouched if not made[part]["right"]]
    missed = [part for part, one in made.items() if part not in untouched and not one["right"]]
    count = len(made) - len(untouched)
    text = f"{count - len(missed)} of {count} named; {len(alarms)} of {len(untouched)} clean ones wrong: "
    return f"{text}{'; '.join(alarms)}; missed: {', '.join(missed)}", len(missed) <= 0.1 * count and not alarms


#: Recordings whose robots have inertial values, from their makers or from the simulation.
DESCRIBED = ("AR5", "UR10e", "Panda", "TX40", "simulated")


def _robot(name: str, described: bool) -> Robot:
    if not described:
        return blind(recording_of(name)[0])
    return casid.load_robot(data_folder() / "ar5" / "ar5.toml") if name == "AR5" else recording_of(name)[0]


def turned(gravity: np.ndarray) -> list[np.ndarray]:
    """The five other directions along the axes."""
    size, own = np.linalg.norm(gravity), gravity / np.linalg.norm(gravity)
    axes = [sign * axis for axis in np.eye(3) for sign in (1.0, -1.0)]
    return [size * axis for axis in axes if axis @ own < 0.9]


def directed(name: str, described: bool, direction: int) -> dict[str, Any]:
    """What is found with gravity in another direction."""
    robot = _robot(name, described)
    gravity = turned(np.asarray(robot.gravity))[direction]
    found = judged(replace(robot, gravity=gravity), recording_of(name)[1])
    return {"right": found.first == "gravity", "headline": found.headline, "gravity": gravity.round().tolist()}


@row("gravity: every wrong direction and sign, with and without CAD", "named by the headline", "sign missed",
     quick=(("UR10", "UR10e"),), left_out="most robots")  # fmt: skip
def directions(names: tuple[str, ...] = (*SET_ON, *JUDGED_ON), jobs: int = -1) -> Result:
    """All recordings without inertial values, and those with them."""
    work: Work = {
        f"{name}{' with' if cad else ''}, {k}": partial(directed, name, cad, k)
        for cad in (False, True)
        for name in names
        if not cad or name in DESCRIBED
        for k in range(5)
    }
    made = measured("gravity", digest(*EXERCISED), work, SECONDS, jobs)
    texts = []
    for cad in (False, True):
        own = [one["right"] for part, one in made.items() if (" with, " in part) is cad]
        texts.append(f"{'with' if cad else 'without'} inertial values {sum(own)} of {len(own)}")
    missed = [f"{part}: {one['gravity']}: {one['headline'][:90]}" for part, one in made.items() if not one["right"]]
    return f"named: {', '.join(texts)}; missed: {'; '.join(missed) or 'none'}", not missed
