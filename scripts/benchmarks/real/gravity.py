"""Every wrong direction and the wrong sign of gravity, with and without inertial values in the robot's description."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

import casid
from benchmarks.measure import Measure, data_folder
from benchmarks.real.faults import judged
from benchmarks.real.raw_recordings import JUDGED_ON, SET_ON, recording_of
from benchmarks.real.truth import blind
from casid.description import Robot

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


def _one(name: str, described: bool, direction: int) -> tuple[bool, str]:
    robot = _robot(name, described)
    gravity = turned(np.asarray(robot.gravity))[direction]
    found = judged(replace(robot, gravity=gravity), recording_of(name)[1])
    return found.first == "gravity", found.headline


def directions(names: tuple[str, ...] = (*SET_ON, *JUDGED_ON), jobs: int = 2) -> tuple[str, bool]:
    """All recordings without inertial values, and those with them."""
    work = [(name, cad, k) for cad in (False, True) for name in names if not cad or name in DESCRIBED for k in range(5)]
    made = list(zip(work, Parallel(n_jobs=jobs)(delayed(_one)(*one) for one in work), strict=True))
    texts = []
    for cad, text in ((False, "without"), (True, "with")):
        own = [good for one, (good, _) in made if one[1] is cad]
        texts.append(f"{text} inertial values {sum(own)} of {len(own)}")
    missed = [
        f"{name}{' with' if cad else ''} {turned(np.asarray(_robot(name, cad).gravity))[k].round()}: {text[:90]}"
        for (name, cad, k), (good, text) in made
        if not good
    ]
    return f"named: {', '.join(texts)}; missed: {'; '.join(missed) or 'none'}", not missed


GRAVITY_ROWS = (
    Measure(
        "gravity: every wrong direction and sign, with and without CAD", "named by the headline", "sign missed",
        directions, lambda: directions(("UR10", "UR10e")), "most robots",
    ),
)  # fmt: skip
