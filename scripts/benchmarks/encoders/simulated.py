"""Rows in simulation, where the truth is known: intervals, what is named as open, gain settings, scales."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import casid
from benchmarks.encoders.data import go2, so101
from casid.description import Robot
from casid.drives import (
    CommandIdentification,
    CommandRecording,
    Servo,
    SimulationOptions,
    identify_from_commands,
)
from casid.testing import broadband_commands, commanded_motion

#: Options of the small problems here.
OPTIONS = SimulationOptions(folds=0)


@dataclass(frozen=True)
class Truth:
    """A robot with servos in the range of its kind, and how it is recorded."""

    name: str
    robot: Robot
    rate: float
    kp: tuple[float, float]
    known: bool
    middle: tuple[float, ...]


def truths() -> tuple[Truth, ...]:
    """SO-101 at 50 Hz with unknown gains; Go2 at 200 Hz and an industrial arm at 125 Hz with known ones."""
    leg = (0.0, 0.8, -1.6)
    return (
        Truth("SO-101", so101().robot, 50.0, (8.0, 20.0), False, (0.0,) * 5),
        Truth("Go2", go2().robot, 200.0, (20.0, 20.0), True, leg * 4),
        Truth("UR-like", casid.load_robot("ur10e"), 125.0, (2000.0, 4000.0), True, (0.0, -1.2, 1.4, -0.8, -1.5, 0.0)),
    )


def drawn(truth: Truth, seed: int, seconds: float = 24.0) -> tuple[Servo, list[CommandRecording]]:
    """Servos drawn at random, and three motions of them."""
    rng, n = np.random.default_rng(seed), truth.robot.n
    kp = rng.uniform(*truth.kp, n)
    inertia = kp / rng.uniform(300.0, 900.0, n)
    values = {
        "kp": kp.tolist(), "armature": inertia.tolist(), "viscous": (kp * rng.uniform(0.02, 0.06, n)).tolist(),
        "coulomb": (kp * rng.uniform(0.003, 0.015, n)).tolist(), "bias": rng.uniform(-0.01, 0.01, n).tolist(),
        "delay": float(rng.uniform(0.0, 2.0) / truth.rate),
    }  # fmt: skip
    servo = Servo(**values)
    t = np.arange(int(seconds * truth.rate / 3)) / truth.rate
    motions = [
        commanded_motion(
            truth.robot, servo, t, broadband_commands(t, truth.middle, 0.4, seed=10 * seed + k), noise=2e-4,
            quantum=1.5e-3, seed=10 * seed + k, name=f"motion {k}",
        )
        for k in range(3)
    ]  # fmt: skip
    return servo, motions


def solved(truth: Truth, seed: int) -> tuple[Servo, CommandIdentification]:
    """A draw and its identification."""
    servo, motions = drawn(truth, seed)
    given = Servo(kp=servo.kp) if truth.known else Servo()
    return servo, identify_from_commands(truth.robot, motions, given, OPTIONS)


def coverage(count: int) -> tuple[str, bool]:
    """Share of intervals that hold the truth; parameters far off that are not named."""
    texts, inside, unnamed = [], [], 0
    for truth in truths():
        hits, opened = [], 0
        for seed in range(count):
            servo, found = solved(truth, seed)
            for e in found.estimates:
                true = float(np.broadcast_to(getattr(servo, e.attribute), truth.robot.n)[max(e.joint, 0)])
                if e.determined:
                    hits.append(e.low - 1e-12 <= true <= e.high + 1e-12)
                    unnamed += abs(e.value - true) > 0.5 * abs(true) and abs(e.value - true) > 3 * e.sd
                else:
                    opened += 1
        inside += hits
        texts.append(f"{truth.name} {100 * np.mean(hits):.1f} % of {len(hits)} ({opened} named as open)")
    share = 100 * float(np.mean(inside))
    return f"{share:.1f} % of {len(inside)}: {'; '.join(texts)}; {unnamed} wrong and not named", (
        92 <= share <= 98 and unnamed == 0
    )


def gains() -> tuple[str, bool]:
    """Two gain settings agree within intervals; an arm without gravity torques has its scale refused, ratios hold."""
    truth = truths()[0]
    servo, motions = drawn(truth, 3)
    t = motions[0].t
    pair = []
    for gain in (0.7, 1.4):
        data = [
            commanded_motion(truth.robot, servo, t, m.q_des, noise=2e-4, quantum=1.5e-3, gain=gain, seed=k, name=str(k))
            for k, m in enumerate(motions)
        ]
        pair.append(identify_from_commands(truth.robot, data, Servo(), OPTIONS))
    agree = [
        abs(a.value - b.value) <= 1.96 * np.hypot(a.sd, b.sd) + 1e-12
        for a, b in zip(pair[0].estimates, pair[1].estimates, strict=True)
        if a.determined and b.determined
    ]
    weightless = replace(truth.robot, gravity=np.zeros(3))
    light = weightless.with_parameters(weightless.standard_parameters() * 1e-4)
    data = [commanded_motion(light, servo, t, m.q_des, noise=2e-4, quantum=1.5e-3, name=m.name) for m in motions]
    found = identify_from_commands(light, data, Servo(), OPTIONS)
    refused = not any(e.determined for e in found.estimates if e.attribute == "kp")
    held = []
    for k, joint in enumerate(light.coordinates):
        ratio, half = found.ratios[f"viscous {joint.name} / kp"]
        viscous, kp = (float(np.atleast_1d(getattr(servo, name))[k]) for name in ("viscous", "kp"))
        held.append(abs(ratio - viscous / kp) <= half)
    words = f"gain settings: {sum(agree)} of {len(agree)} agree; scale refused: {refused}"
    text = f"{words}, {sum(held)} of {len(held)} ratios hold"
    return text, bool(all(agree) and refused and all(held))
