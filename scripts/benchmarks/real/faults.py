"""Injected faults: is each named in the verdict, and are clean recordings called right? Rows of the table ``real``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks import recordings
from benchmarks.measure import Measure, data_folder
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import Checks, ModelOptions, identify
from casid.measurement import Dataset, read_dataset

Result = tuple[str, bool]
#: Whose recordings faults are injected into.
ROBOTS = ("Panda", "UR10e", "TX40", "Rokae")
Case = tuple[Robot, Dataset, tuple[str, ...], float]


def _cases(only: tuple[str, ...] = ROBOTS) -> dict[str, Case]:
    """Robot, raw recording, terms and velocity dead band of each."""
    return {name: _case(name) for name in only}


@cache
def _case(name: str) -> Case:
    rotor = (*recordings.FRICTION, "rotor")
    if name == "Panda":
        return casid.load_robot("panda"), recordings.panda_raw(), recordings.FRICTION, 0.0
    if name == "Rokae":
        rokae = read_dataset(data_folder() / "rokae_xmate" / "excitation.npz", rate=1000.0)
        return recordings.rokae()[0].robot, rokae, rotor, 0.0
    if name == "TX40":
        reduction = np.diag([32.0, 32, 45, -48, 45, 32])
        reduction[5, 4] = 32
        tx40 = read_dataset(
            data_folder() / "tx40" / "recording.npz", columns={"q": "pos_motor", "tau": "tau_motor"}, rate=5000.0,
            transmission=reduction, position_offset=[0, -np.pi / 2, np.pi / 2, 0, 0, 0], between=(0.0, 7.5),
        )  # fmt: skip
        return casid.load_robot("tx40"), tx40, recordings.TX40_TERMS, 0.02
    ur = read_dataset(
        data_folder() / "ur10e" / "identification_data" / "ur-20_02_10-30sec_12harm.npz", columns={"tau": "i"},
        gains=recordings.UR_GAINS, rows=(634, 3510),
    )  # fmt: skip
    return casid.load_robot("ur10e"), replace(ur, t=ur.t - ur.t[0]), rotor, 0.0


def _columns(data: Dataset, change: Callable[[Any], Any]) -> Dataset:
    arrays: dict[str, Any] = {name: getattr(data, name) for name in ("q", "dq", "ddq", "tau")}
    changed: dict[str, Any] = {name: None if value is None else change(value) for name, value in arrays.items()}
    return replace(data, **changed)


def faults(robot: Robot, data: Dataset) -> Iterator[tuple[str, tuple[str, ...], Robot, Dataset]]:
    """Name, kinds of findings that name it, and the robot and recording with the fault."""
    n, rng = data.n, np.random.default_rng(0)
    for name, g in (("-x", (-9.81, 0, 0)), ("up", (0, 0, 9.81)), ("y", (0, 9.81, 0)), ("45 deg", (6.94, 0, -6.94))):
        yield f"gravity {name}", ("gravity",), replace(robot, gravity=np.array(g)), data
    for k in range(n):
        signs = np.where(np.arange(n) == k, -1.0, 1.0)
        yield f"sign {k + 1}", ("sign",), robot, replace(data, tau=data.tau * signs)
    yield "all signs", ("sign",), robot, replace(data, tau=-data.tau)
    for i, j in ((0, 1), (1, 2), (2, 3), (n - 2, n - 1)):
        order = np.arange(n)
        order[[i, j]] = order[[j, i]]
        yield (
            f"swapped {i + 1}-{j + 1}",
            ("joint order",),
            robot,
            _columns(data, partial(np.take, indices=order, axis=1)),
        )
    yield "torque x 0.1", ("torque scale",), robot, replace(data, tau=0.1 * data.tau)
    late = data.tau.copy()
    late[4:] = data.tau[:-4]
    yield "delay of 4 samples", ("delay",), robot, replace(data, tau=late)

    def degrees(a: np.ndarray | None) -> np.ndarray | None:
        return None if a is None else np.rad2deg(a)

    yield "deg", ("degrees",), robot, replace(data, q=np.rad2deg(data.q), dq=degrees(data.dq), ddq=degrees(data.ddq))
    yield "ms", ("clock",), robot, replace(data, t=1000 * data.t)
    yield "rate x 2", ("clock",), robot, replace(data, t=data.t / 2)
    yield "rate / 2", ("clock",), robot, replace(data, t=2 * data.t)
    dead = data.tau.copy()
    dead[:, 2] = 0.0
    yield "dead channel", ("channel", "dead"), robot, replace(data, tau=dead)
    half = (np.arange(len(data)) < len(data) // 2)[:, None]
    at = len(data) // 2
    still: dict[str, Any] = {
        "q": np.where(half, data.q, data.q[at]),
        "tau": np.where(half, data.tau, data.tau[at] + 0.01 * rng.normal(size=data.tau.shape)),
        "dq": None if data.dq is None else np.where(half, data.dq, 0.0),
        "ddq": None if data.ddq is None else np.where(half, data.ddq, 0.0),
    }
    yield "standstill half", ("standstill",), robot, replace(data, **still)


def _verdict(name: str, fault: str | None) -> tuple[bool, str]:
    """Whether a fault was named (a clean recording: whether it is called right), and the verdict's line."""
    robot, data, terms, deadband = _cases((name,))[name]
    kinds: tuple[str, ...] = ()
    if fault is not None:
        _, kinds, robot, data = next(one for one in faults(robot, data) if one[0] == fault)
    try:
        verdict = identify(
            robot, data, model=ModelOptions(terms=terms, velocity_deadband=deadband), checks=Checks(folds=0)
        ).verdict
    except CasidError as error:
        return any(kind in str(error) for kind in kinds), str(error)
    assert verdict is not None
    if fault is None:
        return verdict.right, verdict.line
    return any(finding.kind in kinds for finding in verdict.findings), verdict.line


def verdicts(only: tuple[str, ...] = ROBOTS, jobs: int = 2) -> Result:
    """All faults of these robots, spread over processes."""
    work: list[tuple[str, str | None]] = [(name, None) for name in only]
    for name, (robot, data, _, _) in _cases(only).items():
        work += [(name, fault[0]) for fault in faults(robot, data)]
    judged = Parallel(n_jobs=jobs)(delayed(_verdict)(*one) for one in work)
    alarms = [name for (name, fault), (good, _) in zip(work, judged, strict=True) if fault is None and not good]
    missed = [
        f"{name} {fault}"
        for (name, fault), (good, _) in zip(work, judged, strict=True)
        if fault is not None and not good
    ]
    total = len(work) - len(only)
    text = (
        f"{total - len(missed)} of {total} named; false alarms: {', '.join(alarms) or 'none'}; "
        f"missed: {', '.join(missed) or 'none'}"
    )
    return text, not missed and not alarms


FAULT_ROWS = (
    Measure("injected faults on Panda, UR10e, TX40, Rokae", "100 % named, no false alarm", "6 of 12 silent", verdicts),
)
