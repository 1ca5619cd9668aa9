"""Injected faults: does the headline name each, is each remedy one that was tried and is better, are clean ones right?

Numbers of the verdict were set on `SET_ON`; the table's row is judged on all robots and names the split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks import recordings
from benchmarks.measure import Measure, data_folder
from benchmarks.real.simulated import TORQUE_NOISE, fourier, nominal
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification import Checks, ModelOptions, identify
from casid.measurement import Dataset, Processing, read_dataset

Result = tuple[str, bool]
Case = tuple[Robot, Dataset]
#: Robots whose recordings numbers of the verdict were set on, and those that judge them.
SET_ON = ("AR5", "UR10e", "Rokae", "Panda")
JUDGED_ON = ("Kinova", "UR10", "KR300", "TX40", "simulated")
#: Of ``--quick``.
FEW = ("UR10e", "UR10")
KR300_GAINS = (256.85714285714283, 267.42857142857144, 252.33333333333334, 221.0, 239.61904761904762, 154.3231343283582)
#: Words by which a refusal names a fault of a kind: a refusal without them names nothing.
REFUSAL_NAMES = {
    "gravity": ("gravity",), "sign": ("sign", "reversed"), "joint order": ("exchanged", "order of"),
    "clock": ("millisecond", "rate", "time step"), "zero position": ("zero position",), "torque scale": ("unit",),
    "delay": ("delay", "later"), "standstill": ("stands still", "standstill", "at rest"),
    "channel": ("constant", "dead", "zero throughout"), "saturation": ("saturat",),
}  # fmt: skip
#: Clean pieces that each recording is cut into, beside the whole: the first, middle and last two thirds and halves.
PIECES, SHARES = 6, (2 / 3, 1 / 2)


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


def _columns(
    data: Dataset, change: Callable[[Any], Any], names: tuple[str, ...] = ("q", "dq", "ddq", "tau")
) -> Dataset:
    arrays: dict[str, Any] = {name: getattr(data, name) for name in names}
    changed: dict[str, Any] = {name: None if value is None else change(value) for name, value in arrays.items()}
    return replace(data, **changed)


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
    take = partial(np.take, indices=order, axis=1)
    yield Fault("joints exchanged", ("joint order", "clock"), robot, _columns(data, take))
    yield Fault("torques exchanged", ("joint order",), robot, replace(data, tau=take(data.tau)))
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
    wrong : bool
        Whether any finding makes the torques wrong.
    remedies : tuple of str
        What the remedies that it gives were measured by; "worse" for one that is not better.
    """

    headline: str
    first: str
    wrong: bool
    remedies: tuple[str, ...] = ()


def judged(robot: Robot, data: Dataset) -> Judged:
    """The verdict of the default filters and the default terms."""
    terms = (*recordings.FRICTION, "rotor")
    try:
        found = identify(
            robot, data, processing=Processing(), model=ModelOptions(terms=terms), checks=Checks(folds=0)
        ).verdict
    except CasidError as error:
        return Judged(f"refused: {error}", "refused", True)
    assert found is not None
    own = sorted((f for f in found.findings if f.about == "torques"), key=lambda f: not f.wrong)
    trials = [f.trial for f in own if f.remedy and f.trial is not None]
    remedies = tuple(t.measure if t.after < t.before else "worse" for t in trials)
    return Judged(found.torques, own[0].kind if own else "", any(f.wrong for f in own), remedies)


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


def _judged(name: str, fault: str | None, piece: int = 0) -> tuple[bool, Judged]:
    """Whether the headline opens with a fault (clean: whether nothing is wrong), and what was found."""
    kinds, robot, data = case(name, fault, piece)
    found = judged(robot, data)
    return (not found.wrong if fault is None else names(found, kinds)), found


def names(found: Judged, kinds: tuple[str, ...]) -> bool:
    """Whether the headline opens with a finding of these kinds, or a refusal says so in words."""
    if found.first != "refused":
        return found.first in kinds
    headline = found.headline.lower()
    return any(word in headline for kind in kinds for word in REFUSAL_NAMES[kind])


def verdicts(only: tuple[str, ...] = (*SET_ON, *JUDGED_ON), pieces: int = PIECES, jobs: int = 2) -> Result:
    """All faults of these robots, the clean recordings and their pieces, spread over processes."""
    work: list[tuple[str, str | None, int]] = [(name, None, k) for name in only for k in range(pieces + 1)]
    for name in only:
        work += [(name, fault.name, 0) for fault in faults(*recording_of(name))]
    made = list(zip(work, Parallel(n_jobs=jobs)(delayed(_judged)(*one) for one in work), strict=True))
    return summary(made, only)


def summary(made: list[tuple[tuple[str, str | None, int], tuple[bool, Judged]]], only: tuple[str, ...]) -> Result:
    """The row of the table."""
    clean = [(one, result) for one, result in made if one[1] is None]
    faulty = [(one, result) for one, result in made if one[1] is not None]
    alarms = [f"{name} {piece or 'whole'}: {found.headline}" for (name, _, piece), (good, found) in clean if not good]
    missed = [f"{name} {fault}: {found.headline[:90]}" for (name, fault, _), (good, found) in faulty if not good]
    measures = [measure for _, (_, found) in made for measure in found.remedies]
    named = len(faulty) - len(missed)
    refused = sum(found.first == "refused" for _, (_, found) in faulty)
    text = (
        f"{named} of {len(faulty)} named by the headline's first finding ({refused} refused, which counts only where "
        f"the refusal names the fault); {len(alarms)} false alarms of {len(clean)}"
        f"{': ' + '; '.join(alarms) if alarms else ''}; remedies by {dict(sorted(Counter(measures).items()))}; missed: "
        f"{'; '.join(missed) or 'none'}; set on {', '.join(n for n in SET_ON if n in only)}"
    )
    return text, named >= 0.95 * len(faulty) and not alarms and "worse" not in measures


FAULT_ROWS = (
    Measure(
        "15 kinds of faults x 9 robots, 63 clean recordings and pieces",
        ">= 95 % named by the headline, 0 false alarms, every remedy better",
        "6 of 11 named; 4 false alarms of 9",
        verdicts,
        quick=lambda: verdicts(FEW, 1),
        left_out="most robots",
    ),
)
