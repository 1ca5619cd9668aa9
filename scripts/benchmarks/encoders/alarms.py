"""Encoders alone: real recordings that are called wrong, and faults put into real and simulated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.encoders import simulated
from benchmarks.encoders.measured import go2, one_column, one_joint, so101, so101_recordings, xl330
from benchmarks.measure import Rows, data_folder
from benchmarks.results import digest, measured
from casid.description import Robot
from casid.drives import CommandRecording, Servo, identify_from_commands
from casid.errors import DatasetError
from casid.inertia import Parameters

row = Rows()

#: Seconds after which no other piece is begun, and the files that the verdicts depend on.
SECONDS = 7200
EXERCISED = (
    *(f"casid/{name}/**/*.py" for name in ("codegen", "description", "drives", "dynamics", "evidence", "inertia")),
    "casid/drives/rollout.c",
    *(f"scripts/benchmarks/encoders/{name}.py" for name in ("alarms", "measured", "simulated")),
)  # fmt: skip
Set = tuple[Robot, Servo | None, tuple[CommandRecording, ...]]
#: Every so many files of the SO-101 has faults put into it.
EVERY = 7


@cache
def sets() -> dict[str, Set]:
    """All recordings of each robot, whole, and what is known of its servos."""
    folder, arm, legs, servo = data_folder(), so101(), go2(), xl330()
    z = np.load(folder / "go2" / "go2_train.npz")
    single = []
    for path in sorted((folder / "servos").glob("sts3250_*.npz")):
        s = np.load(path)
        q, u = one_column(s, "q", "q_des")
        single.append(CommandRecording(s["t"], q, u, s["torque_enable"].astype(float), name=path.stem))
    return {
        "SO-101": (arm.robot, None, tuple(data for _, data in so101_recordings())),
        "Go2": (legs.robot, legs.servo, (CommandRecording(z["t"], z["q"], z["q_des"], name="traj_0"),)),
        "XL330": (servo.robot, servo.servo, (*servo.train, *servo.test)),
        "STS3250": (one_joint("sts3250", "revolute", 1.13, "0 0 -0.12", "0 1 0"), None, tuple(single)),
    }


def said(robot: Robot, servo: Servo | None, data: tuple[CommandRecording, ...]) -> dict[str, Any]:
    """What the default call says: kinds of findings that are wrong, the headline, and the terms that it took."""
    try:
        found = identify_from_commands(robot, data, servo)
    except DatasetError as error:
        return {"wrong": ["refused"], "headline": error.message, "terms": []}
    terms = sorted({e.attribute for e in found.estimates if e.determined})
    return {"wrong": [f.kind for f in found.findings if f.wrong], "headline": found.headline, "terms": terms}


def clean(name: str, index: int | None) -> dict[str, Any]:
    """A whole set, or one of its files."""
    robot, servo, data = sets()[name]
    return said(robot, servo, data if index is None else data[index : index + 1])


def _degrees(robot: Robot, servo: Servo | None, data: CommandRecording) -> Set:
    return robot, servo, (replace(data, q_des=np.degrees(data.q_des)),)


def _slipped(robot: Robot, servo: Servo | None, data: CommandRecording) -> Set:
    """The second joint's encoder is 0.1 rad off from the middle on."""
    q = np.array(data.q)
    q[len(q) // 2 :, 1] += 0.1
    return robot, servo, (replace(data, q=q),)


def _gained(robot: Robot, servo: Servo | None, data: CommandRecording) -> Set:
    assert isinstance(servo, Servo) and isinstance(servo.kp, float)
    return robot, replace(servo, kp=3.0 * servo.kp), (data,)


def _heavy(robot: Robot, servo: Servo | None, data: CommandRecording) -> Set:
    bodies = Parameters.of_links(2.0 * robot.standard_parameters(), tuple(link.name for link in robot.links), {})
    return robot.with_parameters(bodies), servo, (data,)


#: Fault -> how it is put into a recording, and what names it. Where the gain is given and friction is not, encoders
#: cannot tell bodies of twice the mass from half the gain: "another gain" and "heavier or lighter bodies" name both.
INJECTED: Mapping[str, tuple[Callable[[Robot, Servo | None, CommandRecording], Set], tuple[str, ...]]] = {
    "degrees": (_degrees, ("unit",)), "slip": (_slipped, ("slip",)), "gain x 3": (_gained, ("gain", "load")),
    "masses x 2": (_heavy, ("load", "gain")),
}  # fmt: skip


def injected(name: str, index: int, part: int, fault: str) -> dict[str, Any]:
    """A fault in a real recording (part 1, 2: its halves), and whether the headline names it."""
    robot, servo, recordings = sets()[name]
    data = recordings[index]
    half = slice(0, len(data)) if not part else slice((part - 1) * len(data) // 2, part * len(data) // 2)
    make, kinds = INJECTED[fault]
    found = said(*make(robot, servo, data.rows(half)))
    return found | {"right": bool(found["wrong"]) and found["wrong"][0] in kinds}


def limited(truth: int, seed: int) -> dict[str, Any]:
    """Torques limited at half of what the motion asks for, simulated."""
    one = simulated.truths()[truth]
    case = simulated._case(one, seed)
    given = Servo(kp=case.servo.kp) if one.known else None
    found = said(one.robot, given, (simulated._limited(case),))
    return found | {"right": found["wrong"][:1] == ["saturation"]}


def played(degrees: int, seed: int) -> dict[str, Any]:
    """Backlash of a simulated pendulum: named as the term that is taken."""
    servo = replace(simulated.SERVO, backlash=float(np.radians(degrees)))
    found = said(simulated.ROBOT, None, tuple(simulated.recordings(servo, seed)))
    return found | {"right": "backlash" in found["terms"] and not found["wrong"]}


def work(few: bool) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """All cases by name; few: of single servos and of simulations."""
    for name, (_, _, data) in sets().items():
        if few and data[0].n > 1:
            continue
        yield f"clean {name}, all", partial(clean, name, None)
        if len(data) > 1:
            yield from ((f"clean {name}, {one.name}", partial(clean, name, k)) for k, one in enumerate(data))
    real = () if few else [("SO-101", k, 0) for k in range(0, len(sets()["SO-101"][2]), EVERY)]
    for name, k, part in (*real, *(() if few else [("Go2", 0, part) for part in range(3)])):
        for fault in INJECTED if name == "Go2" else ("degrees", "slip"):
            label = f"{fault} {name}, {sets()[name][2][k].name}{f', half {part}' if part else ''}"
            yield label, partial(injected, name, k, part, fault)
    for k, truth in enumerate(simulated.truths()):
        yield from ((f"limit {truth.name}, seed {seed}", partial(limited, k, seed)) for seed in (5, 6))
    yield from ((f"backlash {d} deg, seed {seed}", partial(played, d, seed)) for d in (1, 3) for seed in (0, 1))


@row("clean servo recordings and each of their files called wrong; limit, gain x 3, masses x 2, degrees, slip, "
     "backlash injected", "0 wrong; >= 90 % named", quick=(True,), left_out="SO-101 and Go2")  # fmt: skip
def alarms(few: bool = False, jobs: int = -1) -> tuple[str, bool]:
    """All cases by the default call, spread over processes."""
    made = measured("servo_alarms", digest(*EXERCISED), dict(work(few)), SECONDS, jobs)
    untouched = {part: one for part, one in made.items() if part.startswith("clean")}
    wrong = [f"{part}: {one['headline'][:70]}" for part, one in untouched.items() if one["wrong"]]
    faulty = [(part, one) for part, one in made.items() if part not in untouched]
    missed = [f"{part}: {one['headline'][:70]}" for part, one in faulty if not one["right"]]
    text = f"{len(wrong)} of {len(untouched)} clean ones wrong{': ' if wrong else ''}{'; '.join(wrong)}. "
    text += f"{len(faulty) - len(missed)} of {len(faulty)} named; missed: {'; '.join(missed) or 'none'}"
    return text, not wrong and len(missed) <= 0.1 * len(faulty)
