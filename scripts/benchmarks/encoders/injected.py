"""Rows of effects injected in simulation: what is found of them, and what is taken where nothing was injected.

The estimator was tuned on the first of the seeds; the worst of all counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.encoders.data import one_joint
from casid.drives import CommandRecording, FreeRuns, Servo, held_commands, identify_from_commands
from casid.drives._servo import QUANTITIES
from casid.testing import broadband_commands, commanded_motion

#: A pendulum of 0.3 kg at 0.1 m, its servo, and the recordings' rate [Hz].
SERVO = Servo(kp=8.0, armature=0.008, viscous=0.15, coulomb=0.05, bias=0.004, delay=0.008)
RATE = 100.0
ROBOT = one_joint("pendulum", "revolute", 0.3, "0 0 -0.1", "0 1 0")
SEEDS = (0, 1, 2, 3)
_DEGREE = float(np.pi / 180)
#: Name -> what is injected, tolerance of the parameter that is judged.
EFFECTS: Mapping[str, tuple[Mapping[str, float], str, float]] = {
    "underdamped joint": ({"viscous": 0.02, "coulomb": 0.01}, "viscous", 0.1),
    "backlash 0.5 deg": ({"backlash": 0.5 * _DEGREE}, "backlash", 0.05),
    "backlash 1 deg": ({"backlash": _DEGREE}, "backlash", 0.05),
    "backlash 3 deg": ({"backlash": 3 * _DEGREE}, "backlash", 0.05),
    "stiffness": ({"stiffness": 15.0, "joint_damping": 0.02}, "stiffness", 0.05),
    "LuGre": ({"coulomb": 0.15, "bristle_stiffness": 12.0, "bristle_damping": 0.05}, "bristle_stiffness", 0.1),
    "warm-up": ({"warm_up": 0.6, "warm_time": 25.0}, "warm_up", 0.1),
}
#: Terms by the attribute that says whether they were taken.
_TAKEN = ("load_friction", "warm_up", "stiffness", "backlash", "bristle_stiffness")


def recordings(servo: Servo, seed: int, count: int = 6, seconds: float = 12.0) -> list[CommandRecording]:
    """Motions about the hanging posture, in which gravity changes its sign; one session, one clock."""
    t = np.arange(int(seconds * RATE)) / RATE
    return [
        commanded_motion(
            ROBOT, servo, t + k * seconds, broadband_commands(t, [0.0], 0.8, seed=100 * seed + k, highest=2.5),
            noise=2e-4, quantum=1.5e-3, step=5e-4, seed=100 * seed + k, name=f"motion {k}",
        )
        for k in range(count)
    ]  # fmt: skip


def brushed(servo: Servo, seed: int, count: int = 6, seconds: float = 12.0) -> list[CommandRecording]:
    """The same motions with LuGre's equations by a Runge-Kutta integrator of its own, none of the estimator's code."""
    names = ("kp", "armature", "viscous", "coulomb", "bias", "delay", "bristle_stiffness", "bristle_damping")
    table = FreeRuns(ROBOT, servo, recordings(SERVO, seed, 1, 1.0)).table(np.zeros(0))[0]
    known = {name: float(table[list(QUANTITIES).index(name)]) for name in names}
    samples, inner = int(seconds * RATE), 40
    h, t = 1 / (RATE * inner), np.arange(samples) / RATE
    commands = [broadband_commands(t, [0.0], 0.8, seed=100 * seed + k, highest=2.5)[:, 0] for k in range(count)]
    edges = np.arange(2 * inner * (samples - 1) + 1) * h / 2 - known["delay"]
    held = np.column_stack([held_commands(t, u, edges + 1e-9)[0] for u in commands])
    inertia, weight = 0.3 * 0.1**2 + known["armature"], 0.3 * 0.1 * 9.80665
    s0, s1, fc = known["bristle_stiffness"], known["bristle_damping"], known["coulomb"]

    def slope(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        q, v, w = x
        rate = v - np.abs(v) * w / fc
        pull = known["kp"] * (u + known["bias"] - q) - weight * np.sin(q) - known["viscous"] * v
        return np.array([v, (pull - w - s1 * rate) / inertia, s0 * rate])

    q = np.array([u[0] for u in commands])
    x = np.array([q, 0 * q, np.clip(known["kp"] * known["bias"] - weight * np.sin(q), -0.99 * fc, 0.99 * fc)])
    shown = [x[0]]
    for k in range(inner * (samples - 1)):
        first, middle, last = held[2 * k : 2 * k + 3]
        a = slope(x, first)
        b = slope(x + h / 2 * a, middle)
        c = slope(x + h / 2 * b, middle)
        x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c, last))
        if (k + 1) % inner == 0:
            shown.append(x[0])
    made = []
    for k, (u, y) in enumerate(zip(commands, np.array(shown).T, strict=True)):
        y = y + 2e-4 * np.random.default_rng(100 * seed + k).standard_normal(len(y))
        q = np.round(y[:, None] / 1.5e-3) * 1.5e-3
        made.append(CommandRecording(t + k * seconds, q, u[:, None], name=f"motion {k}"))
    return made


def injected(seeds: Sequence[int] = SEEDS) -> tuple[str, bool]:
    """Each effect from the default's options: the worst value found, and terms that were taken without being there."""
    texts, right = list[str](), True
    for name, (changes, judged, tolerance) in EFFECTS.items():
        given: dict[str, Any] = dict(changes)
        errors, alias = [], set[str]()
        for seed in seeds:
            record = brushed if name == "LuGre" else recordings
            found = identify_from_commands(ROBOT, record(replace(SERVO, **given), seed))
            if any(f.wrong for f in found.findings):
                alias.add(next(f.kind for f in found.findings if f.wrong))
            taken = {a for a in _TAKEN if any(e.attribute == a for e in found.estimates)}
            alias |= taken - set(changes)
            value = float(found.table[judged][0])
            errors.append(abs(value / changes[judged] - 1.0) if np.isfinite(value) else np.inf)
        worst = f"{100 * max(errors):.1f} %" if np.isfinite(max(errors)) else "not found"
        wrong = f", alias {', '.join(sorted(alias))}" if alias else ""
        right &= max(errors) <= tolerance and not alias
        texts.append(f"{name} {worst}{wrong}")
    return f"worst of {len(seeds)} seeds: {'; '.join(texts)}", right


def played_intervals(count: int) -> tuple[str, bool]:
    """Share of intervals that hold the truth where the joint has play, and the farthest values found."""
    texts, inside = [], list[bool]()
    for degrees in (1, 3):
        servo, hits, far = replace(SERVO, backlash=degrees * _DEGREE), list[bool](), 0.0
        for seed in range(count):
            for e in identify_from_commands(ROBOT, recordings(servo, seed)).estimates:
                true = float(getattr(servo, e.attribute))
                far = max(far, abs(e.value / true - 1.0)) if true else far
                if e.determined:
                    hits.append(e.low <= true <= e.high)
        inside += hits
        texts.append(f"{degrees} deg {100 * np.mean(hits):.1f} % of {len(hits)}, values within {100 * far:.1f} %")
    share = 100 * float(np.mean(inside))
    return f"{share:.1f} % of {len(inside)}: {'; '.join(texts)}", 92 <= share <= 98
