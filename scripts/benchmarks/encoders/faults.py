"""Faults injected into simulated recordings, and clean ones: what the headline names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.encoders.simulated import OPTIONS, Truth, drawn, truths
from casid.arrays import Array
from casid.description import Robot
from casid.drives import CommandRecording, Servo, identify_from_commands
from casid.errors import DatasetError
from casid.inertia import Parameters
from casid.testing import broadband_commands, commanded_motion


@dataclass(frozen=True)
class Case:
    """A robot as it is described, its servos as they are, one motion, and a joint to spoil."""

    truth: Truth
    servo: Servo
    data: CommandRecording
    joint: int

    def again(self, robot: Robot | None = None, **changes: Any) -> CommandRecording:
        """The motion with another robot or other servos."""
        servo = replace(self.servo, **changes)
        made = robot or self.truth.robot
        return commanded_motion(made, servo, self.data.t, self.data.q_des, noise=2e-4, quantum=1.5e-3, name="motion")

    def changed(self, q: Array | None = None, q_des: Array | None = None) -> CommandRecording:
        """The recording with other columns."""
        return replace(self.data, q=self.data.q if q is None else q, q_des=self.data.q_des if q_des is None else q_des)


def _limited(case: Case) -> CommandRecording:
    """Torque limits at half of the largest torque of each joint."""
    kp = np.array(case.servo.of("kp", case.truth.robot.n), dtype=float)
    top = 0.5 * kp * np.abs(case.data.q_des - case.data.q).max(axis=0)
    return case.again(limit=top.tolist())


def _stalled(case: Case) -> CommandRecording:
    q = np.array(case.data.q)
    first = len(q) // 3
    count = len(q) // 3
    q[first : first + count, case.joint] = q[first, case.joint]
    return case.changed(q)


def _stepped(case: Case, size: float, share: float) -> CommandRecording:
    q = np.array(case.data.q)
    q[int(share * len(q)) :, case.joint] += size
    return case.changed(q)


def _missing(case: Case) -> CommandRecording:
    u = np.array(case.data.q_des)
    first = len(u) // 3
    u[first : 2 * first] = u[first]
    return case.changed(q_des=u)


def _lost(case: Case) -> CommandRecording:
    rng = np.random.default_rng(1)
    kept = rng.random(len(case.data)) > 0.03
    kept[[0, -1]] = True
    return CommandRecording(case.data.t[kept], case.data.q[kept], case.data.q_des[kept], name="motion")


def _loaded(case: Case) -> CommandRecording:
    """A last body (of the branch's end) three times as heavy as described."""
    robot = case.truth.robot
    bodies = robot.standard_parameters().reshape(-1, 10).copy()
    bodies[robot.n - 1] *= 5.0 if case.truth.name == "UR-like" else 3.0
    made = Parameters.of_links(bodies.ravel(), tuple(link.name for link in robot.links), {})
    return case.again(robot.with_parameters(made))


def _swapped(case: Case) -> CommandRecording:
    order = list(range(case.data.n))
    a, b = case.joint, (case.joint + 1) % case.data.n
    order[a], order[b] = order[b], order[a]
    return case.changed(q_des=np.array(case.data.q_des)[:, order])


def _reversed(case: Case) -> CommandRecording:
    sign = np.ones(case.data.n)
    sign[case.joint] = -1.0
    return case.changed(q_des=case.data.q_des * sign)


def _standing(case: Case) -> CommandRecording:
    q = np.array(case.data.q)
    q[:, case.joint] = q[0, case.joint]
    return case.changed(q)


def _late(case: Case) -> CommandRecording:
    u = np.array(case.data.q_des)
    return case.changed(q_des=np.vstack([u[4:], np.repeat(u[-1:], 4, axis=0)]))


#: Kind of fault -> how it is injected, and the kinds of finding that name it.
FAULTS: Mapping[str, tuple[Callable[[Case], CommandRecording], tuple[str, ...]]] = {
    "gain given wrongly": (lambda case: case.data, ("gain",)),
    "saturation": (_limited, ("saturation",)),
    "stall": (_stalled, ("stall",)),
    "slip": (lambda case: _stepped(case, 0.1, 0.5), ("slip",)),
    "wrong zero": (lambda case: _stepped(case, 0.2, 0.0), ("zero",)),
    "wrong sign": (_reversed, ("sign",)),
    "swapped joints": (_swapped, ("joint order",)),
    "delay of four cycles": (_late, ("delay",)),
    "load": (_loaded, ("load",)),
    "missing commands": (_missing, ("missing commands",)),
    "lost cycles": (_lost, ("lost cycles",)),
    "never moves": (_standing, ("standstill",)),
}


def _case(truth: Truth, seed: int, seconds: float = 10.0) -> Case:
    servo, _ = drawn(truth, seed, 1.5)
    t = np.arange(int(seconds * truth.rate)) / truth.rate
    u = broadband_commands(t, truth.middle, 0.4, seed=seed)
    data = commanded_motion(truth.robot, servo, t, u, noise=2e-4, quantum=1.5e-3, seed=seed, name="motion")
    return Case(truth, servo, data, 1)


def _headline(case: Case, data: CommandRecording, gain: float | None) -> tuple[str, tuple[str, ...]]:
    """Headline and the kinds it names; an error's text counts as a headline."""
    if gain is not None:
        given = Servo(kp=(gain * np.array(case.servo.of("kp", case.truth.robot.n), dtype=float)).tolist())
    else:
        given = Servo(kp=case.servo.kp) if case.truth.known else Servo()
    try:
        found = identify_from_commands(case.truth.robot, [data], given, OPTIONS)
    except DatasetError as error:
        return error.message, ()
    return found.headline, tuple(f.kind for f in found.findings if f.kind in found.headline)


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
