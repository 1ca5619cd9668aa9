"""Encoders alone, simulated: known truth, designed motions, faults injected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import casid
from benchmarks.encoders.measured import go2, one_joint, so101
from benchmarks.measure import Rows
from casid import drives
from casid.arrays import Array
from casid.description import Robot
from casid.drives._design import command_information, relative_deviations, units_of
from casid.errors import DatasetError
from casid.excitation import MotionLimits
from casid.inertia import Parameters
from casid.testing import broadband_commands, commanded_motion

row = Rows()

#: Motions as encoders show them: their noise and steps [rad].
shown = partial(commanded_motion, noise=2e-4, quantum=1.5e-3)
#: Options of the small problems here.
OPTIONS = drives.SimulationOptions(folds=0)


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


def drawn(truth: Truth, seed: int, seconds: float = 24.0) -> tuple[drives.Servo, list[drives.CommandRecording]]:
    """Servos drawn at random, and three motions of them."""
    rng, n = np.random.default_rng(seed), truth.robot.n
    kp = rng.uniform(*truth.kp, n)
    inertia = kp / rng.uniform(300.0, 900.0, n)
    values = {
        "kp": kp.tolist(), "armature": inertia.tolist(), "viscous": (kp * rng.uniform(0.02, 0.06, n)).tolist(),
        "coulomb": (kp * rng.uniform(0.003, 0.015, n)).tolist(), "bias": rng.uniform(-0.01, 0.01, n).tolist(),
        "delay": float(rng.uniform(0.0, 2.0) / truth.rate),
    }  # fmt: skip
    servo = drives.Servo(**values)
    t = np.arange(int(seconds * truth.rate / 3)) / truth.rate
    commands = [broadband_commands(t, truth.middle, 0.4, seed=10 * seed + k) for k in range(3)]
    motions = [shown(truth.robot, servo, t, u, seed=10 * seed + k, name=f"motion {k}") for k, u in enumerate(commands)]
    return servo, motions


def solved(truth: Truth, seed: int) -> tuple[drives.Servo, drives.CommandIdentification]:
    """A draw and its identification."""
    servo, motions = drawn(truth, seed)
    given = drives.Servo(kp=servo.kp) if truth.known else drives.Servo()
    return servo, drives.identify_from_commands(truth.robot, motions, given, OPTIONS)


@row("simulated: intervals hold the truth, open ones named", "95 % +- 3; all named", "-", 10, quick=(2,),
     left_out="8 of 10 draws a robot")  # fmt: skip
def coverage(count: int) -> tuple[str, bool]:
    """Share of intervals that hold the truth; parameters far off that are not named."""
    texts, shares, unnamed = [], [], 0
    for truth in truths():
        hits, opened = [], 0
        for seed in range(count):
            servo, found = solved(truth, seed)
            for e in found.estimates:
                true = float(np.broadcast_to(getattr(servo, e.attribute), truth.robot.n)[e.joints[0]])
                if e.determined:
                    hits.append(e.low - 1e-12 <= true <= e.high + 1e-12)
                    unnamed += abs(e.value - true) > 0.5 * abs(true) and abs(e.value - true) > 3 * e.sd
                else:
                    opened += 1
        shares.append(100 * float(np.mean(hits)))
        texts.append(f"{truth.name} {shares[-1]:.1f} % of {len(hits)} ({opened} named as open)")
    met = all(92 <= share <= 98 for share in shares) and unnamed == 0
    return f"{'; '.join(texts)}; {unnamed} wrong and not named", met


@row("simulated: two gain settings, unknown scale", "agree; refused in words, ratios given", "pace#13, #17")
def gains() -> tuple[str, bool]:
    """Two gain settings agree within intervals; an arm without gravity torques has its scale refused, ratios hold."""
    truth = truths()[0]
    servo, motions = drawn(truth, 3)
    t = motions[0].t
    pair = []
    for gain in (0.7, 1.4):
        data = [shown(truth.robot, servo, t, m.q_des, gain=gain, seed=k, name=str(k)) for k, m in enumerate(motions)]
        pair.append(drives.identify_from_commands(truth.robot, data, drives.Servo(), OPTIONS))
    agree = [
        abs(a.value - b.value) <= 1.96 * np.hypot(a.sd, b.sd) + 1e-12
        for a, b in zip(pair[0].estimates, pair[1].estimates, strict=True)
        if a.determined and b.determined
    ]
    weightless = replace(truth.robot, gravity=np.zeros(3))
    light = weightless.with_parameters(weightless.standard_parameters() * 1e-4)
    data = [shown(light, servo, t, m.q_des, name=m.name) for m in motions]
    found = drives.identify_from_commands(light, data, drives.Servo(), OPTIONS)
    refused = not any(e.determined for e in found.estimates if e.attribute == "kp")
    held = []
    for k, joint in enumerate(light.coordinates):
        ratio, half = found.ratios[f"viscous {joint.name} / kp"]
        viscous, kp = (float(np.atleast_1d(getattr(servo, name))[k]) for name in ("viscous", "kp"))
        held.append(abs(ratio - viscous / kp) <= half)
    words = f"gain settings: {sum(agree)} of {len(agree)} agree; scale refused: {refused}"
    text = f"{words}, {sum(held)} of {len(held)} ratios hold"
    return text, bool(all(agree) and refused and all(held))


#: A pendulum of 0.3 kg at 0.1 m, its servo, and the recordings' rate [Hz].
SERVO = drives.Servo(kp=8.0, armature=0.008, viscous=0.15, coulomb=0.05, bias=0.004, delay=0.008)
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


def recordings(servo: drives.Servo, seed: int, count: int = 6, seconds: float = 12.0) -> list[drives.CommandRecording]:
    """Motions about the hanging posture, in which gravity changes its sign; one session, one clock."""
    t = np.arange(int(seconds * RATE)) / RATE
    return [
        shown(
            ROBOT, servo, t + k * seconds, broadband_commands(t, [0.0], 0.8, seed=100 * seed + k, highest=2.5),
            step=5e-4, seed=100 * seed + k, name=f"motion {k}",
        )
        for k in range(count)
    ]  # fmt: skip


def brushed(servo: drives.Servo, seed: int, count: int = 6, seconds: float = 12.0) -> list[drives.CommandRecording]:
    """The same motions with LuGre's equations by a Runge-Kutta integrator of its own, none of the estimator's code."""
    names = ("kp", "armature", "viscous", "coulomb", "bias", "delay", "bristle_stiffness", "bristle_damping")
    known = {name: float(getattr(servo, name)) for name in names}
    samples, inner = int(seconds * RATE), 40
    h, t = 1 / (RATE * inner), np.arange(samples) / RATE
    commands = [broadband_commands(t, [0.0], 0.8, seed=100 * seed + k, highest=2.5)[:, 0] for k in range(count)]
    edges = np.arange(2 * inner * (samples - 1) + 1) * h / 2 - known["delay"]
    held = np.column_stack([drives.held_commands(t, u, edges + 1e-9)[0] for u in commands])
    inertia, weight = 0.3 * 0.1**2 + known["armature"], 0.3 * 0.1 * 9.80665
    s0, s1, fc = known["bristle_stiffness"], known["bristle_damping"], known["coulomb"]

    def slope(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        q, v, w = x
        rate = v - np.abs(v) * w / fc
        pull = known["kp"] * (u + known["bias"] - q) - weight * np.sin(q) - known["viscous"] * v
        return np.array([v, (pull - w - s1 * rate) / inertia, s0 * rate])

    q = np.array([u[0] for u in commands])
    x = np.array([q, 0 * q, np.clip(known["kp"] * known["bias"] - weight * np.sin(q), -0.99 * fc, 0.99 * fc)])
    positions = [x[0]]
    for k in range(inner * (samples - 1)):
        first, middle, last = held[2 * k : 2 * k + 3]
        a = slope(x, first)
        b = slope(x + h / 2 * a, middle)
        c = slope(x + h / 2 * b, middle)
        x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c, last))
        if (k + 1) % inner == 0:
            positions.append(x[0])
    made = []
    for k, (u, y) in enumerate(zip(commands, np.array(positions).T, strict=True)):
        y = y + 2e-4 * np.random.default_rng(100 * seed + k).standard_normal(len(y))
        q = np.round(y[:, None] / 1.5e-3) * 1.5e-3
        made.append(drives.CommandRecording(t + k * seconds, q, u[:, None], name=f"motion {k}"))
    return made


@row("underdamped joint, backlash, stiffness, LuGre, warm-up injected", "found within 10 % (5 %), no alias",
     quick=(SEEDS[:1],), left_out="three of four seeds")  # fmt: skip
def injected(seeds: Sequence[int] = SEEDS) -> tuple[str, bool]:
    """Each effect from the default's options: the worst value found, and terms that were taken without being there."""
    texts, right = list[str](), True
    for name, (changes, judged, tolerance) in EFFECTS.items():
        given: dict[str, Any] = dict(changes)
        errors, alias = [], set[str]()
        for seed in seeds:
            record = brushed if name == "LuGre" else recordings
            found = drives.identify_from_commands(ROBOT, record(replace(SERVO, **given), seed))
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


@row("simulated: intervals hold the truth with backlash of 1 and 3 deg", "95 % +- 3", "-", 8, quick=(1,),
     left_out="seven of eight seeds")  # fmt: skip
def played_intervals(count: int) -> tuple[str, bool]:
    """Share of intervals that hold the truth where the joint has play, and the farthest values found."""
    texts, shares = [], list[float]()
    for degrees in (1, 3):
        servo, hits, far = replace(SERVO, backlash=degrees * _DEGREE), list[bool](), 0.0
        for seed in range(count):
            for e in drives.identify_from_commands(ROBOT, recordings(servo, seed)).estimates:
                true = float(getattr(servo, e.attribute))
                far = max(far, abs(e.value / true - 1.0)) if true else far
                if e.determined:
                    hits.append(e.low <= true <= e.high)
        shares.append(100 * float(np.mean(hits)))
        texts.append(f"{degrees} deg {shares[-1]:.1f} % of {len(hits)}, values within {100 * far:.1f} %")
    return "; ".join(texts), all(92 <= share <= 98 for share in shares)


def _speeds(data: drives.CommandRecording, signal: str) -> Array:
    """Absolute rates of commands or encoders [rad/s]."""
    return np.asarray(np.abs(np.diff(getattr(data, signal), axis=0)) / np.diff(data.t)[:, None])


@row("designed position commands, worst interval", "<= 0.5 x at equal length", "-", 800, quick=(60,),
     left_out="740 of 800 motions")  # fmt: skip
def designed(iterations: int) -> tuple[str, bool]:
    """Worst relative interval of designed commands over that of the best recording of the SO-101, at 20 s each.

    The commands keep the range and the largest rates of all its recorded commands, of which some jump; the simulated
    joints keep that range and the encoders' largest speeds.
    """
    bench = so101()
    runs = drives.FreeRuns(bench.robot, bench.servo, bench.train, threads=1)
    theta = drives.identify_from_commands(bench.robot, bench.train, bench.servo, OPTIONS).theta
    units, recorded = units_of(runs, theta), {}
    for data in (*bench.train, *bench.test):
        count = int(20.0 / data.period)
        if len(data) >= count:
            t, u = np.asarray(data.t[:count]), np.asarray(data.q_des[:count])
            F, _ = command_information(runs, theta, t - t[0], u)
            recorded[data.name] = float(relative_deviations(F, units).max())
    everything = [*bench.train, *bench.test]
    u = np.concatenate([np.asarray(data.q_des) for data in everything])
    free, names = np.full((2, bench.robot.n), np.inf), tuple(joint.name for joint in bench.robot.coordinates)
    limits, commands = (
        MotionLimits(names, np.vstack([u.min(axis=0), -top, -free]), np.vstack([u.max(axis=0), top, free]))
        for top in (np.concatenate([_speeds(data, signal) for data in everything]).max(axis=0)
                    for signal in ("q", "q_des"))
    )  # fmt: skip
    made = drives.design_commands(runs, theta, limits, commands, duration=20.0, iterations=iterations)
    t = np.arange(0.0, 20.0, runs.period)
    q = command_information(runs, theta, t, made.trajectory.derivative(t, 0))[1]
    speed = float((np.abs(np.gradient(q, t, axis=0)).max(axis=0) / limits.upper[1]).max())
    best = min(recorded, key=lambda name: recorded[name])
    middle = float(np.median(list(recorded.values())))
    text = (f"{made.value / recorded[best]:.2f} x the best of {len(recorded)} recordings ({best}), "
            f"{made.value / middle:.2f} x the median: {100 * made.value:.2g} % ({made.worst}), "
            f"{100 * recorded[best]:.2g} %, {100 * middle:.2g} %; {made.evaluations} motions tried; joints at most "
        f"{speed:.2f} x as fast as recorded")  # fmt: skip
    return text, made.value <= 0.5 * recorded[best]


@dataclass(frozen=True)
class Case:
    """A robot as it is described, its servos as they are, one motion, and a joint to spoil."""

    truth: Truth
    servo: drives.Servo
    data: drives.CommandRecording
    joint: int

    def again(self, robot: Robot | None = None, **changes: Any) -> drives.CommandRecording:
        """The motion with another robot or other servos."""
        servo = replace(self.servo, **changes)
        return shown(robot or self.truth.robot, servo, self.data.t, self.data.q_des, name="motion")


def _limited(case: Case) -> drives.CommandRecording:
    """Torque limits at half of the largest torque of each joint."""
    kp = np.array(case.servo.of("kp", case.truth.robot.n), dtype=float)
    top = 0.5 * kp * np.abs(case.data.q_des - case.data.q).max(axis=0)
    return case.again(limit=top.tolist())


def _held(case: Case, signal: str, joint: int | slice) -> drives.CommandRecording:
    """The second third keeps its first value."""
    values: Array = np.array(getattr(case.data, signal))
    first = len(values) // 3
    values[first : 2 * first, joint] = values[first, joint]
    changed: dict[str, Any] = {signal: values}
    return replace(case.data, **changed)


def _stepped(case: Case, size: float, share: float) -> drives.CommandRecording:
    q = np.array(case.data.q)
    q[int(share * len(q)) :, case.joint] += size
    return replace(case.data, q=q)


def _lost(case: Case) -> drives.CommandRecording:
    rng = np.random.default_rng(1)
    kept = rng.random(len(case.data)) > 0.03
    kept[[0, -1]] = True
    return drives.CommandRecording(case.data.t[kept], case.data.q[kept], case.data.q_des[kept], name="motion")


def _loaded(case: Case) -> drives.CommandRecording:
    """A last body (of the branch's end) three times as heavy as described."""
    robot = case.truth.robot
    bodies = robot.standard_parameters().reshape(-1, 10).copy()
    bodies[robot.n - 1] *= 5.0 if case.truth.name == "UR-like" else 3.0
    made = Parameters.of_links(bodies.ravel(), tuple(link.name for link in robot.links), {})
    return case.again(robot.with_parameters(made))


def _swapped(case: Case) -> drives.CommandRecording:
    u, pair = np.array(case.data.q_des), [case.joint, (case.joint + 1) % case.data.n]
    u[:, pair] = u[:, pair[::-1]]
    return replace(case.data, q_des=u)


def _reversed(case: Case) -> drives.CommandRecording:
    u = np.array(case.data.q_des)
    u[:, case.joint] *= -1.0
    return replace(case.data, q_des=u)


def _standing(case: Case) -> drives.CommandRecording:
    q = np.array(case.data.q)
    q[:, case.joint] = q[0, case.joint]
    return replace(case.data, q=q)


def _late(case: Case) -> drives.CommandRecording:
    u = np.array(case.data.q_des)
    return replace(case.data, q_des=np.vstack([u[4:], np.repeat(u[-1:], 4, axis=0)]))


#: Kind of fault -> how it is injected, and the kinds of finding that name it.
FAULTS: Mapping[str, tuple[Callable[[Case], drives.CommandRecording], tuple[str, ...]]] = {
    "gain given wrongly": (lambda case: case.data, ("gain",)),
    "saturation": (_limited, ("saturation",)),
    "stall": (lambda case: _held(case, "q", case.joint), ("stall",)),
    "slip": (lambda case: _stepped(case, 0.1, 0.5), ("slip",)),
    "wrong zero": (lambda case: _stepped(case, 0.2, 0.0), ("zero",)),
    "wrong sign": (_reversed, ("sign",)),
    "swapped joints": (_swapped, ("joint order",)),
    "delay of four cycles": (_late, ("delay",)),
    "load": (_loaded, ("load",)),
    "missing commands": (lambda case: _held(case, "q_des", slice(None)), ("missing commands",)),
    "lost cycles": (_lost, ("lost cycles",)),
    "never moves": (_standing, ("standstill",)),
}


def _case(truth: Truth, seed: int, seconds: float = 10.0) -> Case:
    servo, _ = drawn(truth, seed, 1.5)
    t = np.arange(int(seconds * truth.rate)) / truth.rate
    u = broadband_commands(t, truth.middle, 0.4, seed=seed)
    return Case(truth, servo, shown(truth.robot, servo, t, u, seed=seed, name="motion"), 1)


def _headline(case: Case, data: drives.CommandRecording, gain: float | None) -> tuple[str, tuple[str, ...]]:
    """Headline and the kinds it names; an error's text counts as a headline."""
    if gain is not None:
        given = drives.Servo(kp=(gain * np.array(case.servo.of("kp", case.truth.robot.n), dtype=float)).tolist())
    else:
        given = drives.Servo(kp=case.servo.kp) if case.truth.known else drives.Servo()
    try:
        found = drives.identify_from_commands(case.truth.robot, [data], given, OPTIONS)
    except DatasetError as error:
        return error.message, ()
    return found.headline, tuple(f.kind for f in found.findings if f.kind in found.headline)


@row("faults injected, 12 kinds x 3 robots; clean pieces", "headline names >= 90 %; 0 of 30 false", "-", 3, 10,
     quick=(1, 2), left_out="2 of 3 robots, 28 of 30 clean pieces")  # fmt: skip
def faults(robots: int, clean: int) -> tuple[str, bool]:
    """Faults that the headline names, and clean pieces with a finding in it; ``clean`` pieces a robot."""
    named, false, missed, count, pieces = 0, 0, [], 0, 0
    for truth in truths()[:robots]:
        case = _case(truth, 5)
        for kind, (inject, accepted) in FAULTS.items():
            _, kinds = _headline(case, inject(case), 0.4 if kind.startswith("gain") else None)
            hit = any(k in accepted for k in kinds)
            named += hit
            count += 1
            if not hit:
                missed.append(f"{truth.name} {kind} ({', '.join(kinds) or 'nothing'})")
        for seed in range(clean):
            fresh = _case(truth, 100 + seed)
            kinds = _headline(fresh, fresh.data, None)[1]
            pieces += 1
            if kinds:
                false += 1
                missed.append(f"{truth.name} clean {seed}: {', '.join(kinds)}")
    text = f"{named} of {count} named ({100 * named / count:.0f} %), {false} false of {pieces} clean pieces"
    return f"{text}{'; missed: ' + '; '.join(missed) if missed else ''}", named >= 0.9 * count and not false
