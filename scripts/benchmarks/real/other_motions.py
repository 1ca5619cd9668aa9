"""What a model is worth in a motion it was not fitted on: every recording of a robot predicts every other.

cd scripts && python -m benchmarks.real.other_motions    # writes other_motions.csv, simulated robots included
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import casid
from benchmarks.measure import NotMeasured, Rows
from benchmarks.real import simulated_robots
from benchmarks.real.identification import Options, as_used, sets
from benchmarks.real.robots import IDENTIFYING, blind, recording_of
from benchmarks.recordings import KINOVA, kinova_raw, kinova_robot, kr300_raw, records, ur10e_raw
from benchmarks.results import digest, measured
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import MotionSpread, identify, other_motion_errors
from casid.measurement import Dataset

row = Rows()

#: Largest error over that of the best of the option sets.
BAR = 1.05
#: Seconds after which no other recording is begun, and the files that the errors depend on.
SECONDS = 7200
EXERCISED = (*IDENTIFYING, *(f"scripts/benchmarks/real/{name}.py" for name in ("identification", "other_motions")))
PATH = Path(__file__).with_suffix(".csv")
#: Real robots of which the data folder has several recordings of motions; the UR10e's name their period and harmonics.
UR10E = ("20sec_5harm", "20sec_8harm", "20sec_12harm", "30sec_12harm", "40sec_12harm", "14harm50sec")
ROBOTS = ("UR10e", "KR300", "Kinova sensors", "Kinova currents")


class Pair(NamedTuple):
    """Errors while moving [%]: held out of the recording that trained, and on another one.

    Open: base parameters that the recording that trained does not excite; the product then states no range.
    """

    robot: str
    trained: str
    tested: str
    open: int
    held_out: float
    error: float


def _sensed(name: str) -> Dataset:
    """The sensor of joint 1 is dead in one recording."""
    data = kinova_raw(name, "tau_sensor")
    return data if data.tau[:, 0].any() else data.only(range(1, 7))


@cache
def recordings(name: str) -> tuple[Robot, dict[str, Dataset]]:
    """A robot without its bodies, and its recordings."""
    if name == "UR10e":
        return blind(casid.load_robot("ur10e")), {one: ur10e_raw(one, whole=True) for one in UR10E}
    if name == "KR300":
        return blind(recording_of(name)[0]), {part: kr300_raw(part) for part in "AB"}
    if name in ROBOTS:
        read, names = (_sensed, KINOVA[:2]) if name.endswith("sensors") else (kinova_raw, KINOVA)
        return kinova_robot(), {one: read(one) for one in names}
    robot = simulated_robots.robot_of(name)
    return blind(robot), _two_motions(robot)


def _two_motions(robot: Robot, gap: float = 1.0) -> dict[str, Dataset]:
    """Two motions of one simulated robot: `recorded` draws another truth for each seed, hence both in one call."""
    single, edges = simulated_robots.moved_once, list[float]()

    def both(robot: Robot, rng: np.random.Generator, designed: bool) -> tuple[np.ndarray, ...]:
        first, second = (single(robot, rng, designed) for _ in range(2))
        edges.append(float(first[0][-1]) + gap / 2)
        late = second[0] + first[0][-1] + gap
        return (np.append(first[0], late), *(np.vstack(parts) for parts in zip(first[1:], second[1:], strict=True)))

    data = simulated_robots.recorded(robot, 0, drawn=both)
    cut = int(np.searchsorted(data.t, edges[0]))
    later = data.rows(slice(cut + 2, None), "motion 2")  # the torque's delay mixes two samples with those before
    return {"motion 1": data.rows(slice(0, cut), "motion 1"), "motion 2": replace(later, t=later.t - later.t[0])}


def option_sets() -> list[Options]:
    """Twelve sets: cut-offs, friction laws and shares."""
    return [one for one in sets() if one.cutoff in (None, 2.0, 5.0) and "rotor" in one.terms]


def predicted(name: str, trained: str, alone: bool = False) -> dict[str, Any]:
    """Errors of the default and of the other sets, identified on one recording, on each other one [%]."""
    robot, everything = recordings(name)
    train, others = everything[trained], {key: data for key, data in everything.items() if key != trained}
    default = identify(robot, train)
    tests = {key: as_used(default, data) for key, data in others.items()}
    found: dict[str, dict[str, float]] = {key: {} for key in tests}
    for one in [] if alone else option_sets():
        try:
            result = one.identified(robot, train)
        except CasidError:
            continue
        for key, test in tests.items():
            found[key][one.text] = round(result.predict(test).relative_error, 4)
    own = {key: round(default.predict(test).relative_error, 4) for key, test in tests.items()}
    held = None if default.held_out is None else round(default.held_out.tested["consistent"].total, 4)
    left = default.unconstrained.data.base.rank - default.unconstrained.rank
    return {"robot": name, "trained": trained, "open": left, "held_out": held, "default": own, "errors": found}


def pieces(names: tuple[str, ...], jobs: int = -1) -> list[dict[str, Any]]:
    """What each recording of these robots predicts of the others, kept so that an interrupted run goes on."""
    work: dict[str, Callable[[], dict[str, Any]]] = {}
    for name in names:
        simulated = name not in ROBOTS
        trained = ("motion 1",) if simulated else tuple(recordings(name)[1])
        work |= {f"{name}, {one}": partial(predicted, name, one, simulated) for one in trained}
    return list(measured("other_motions", digest(*EXERCISED), work, SECONDS, jobs).values())


def simulated_names() -> Iterator[str]:
    """Those whose descriptions have bodies."""
    for name in (*simulated_robots.TUNED, *simulated_robots.JUDGED):
        try:
            simulated_robots.robot_of(name)
        except NotMeasured:
            continue
        yield name


def pairs(names: tuple[str, ...] | None = None, jobs: int = -1) -> list[Pair]:
    """All pairs of these robots, default: the real ones and the simulated ones."""
    made = pieces((*ROBOTS, *simulated_names()) if names is None else names, jobs)
    return [
        Pair(one["robot"], one["trained"], tested, one["open"], one["held_out"] or np.nan, error)
        for one in made
        for tested, error in one["default"].items()
    ]


@row("prediction of another recording over that of the best of 12 option sets, all pairs", f"<= {BAR:g} each",
     quick=(("KR300",),), left_out="the UR10e and the Kinova")  # fmt: skip
def other_motions(names: tuple[str, ...] = ROBOTS, jobs: int = -1) -> tuple[str, bool]:
    """Default calls beside the best of the sets for each pair of recordings."""
    ratios: dict[str, list[tuple[float, str]]] = {name: [] for name in names}
    for one in pieces(names, jobs):
        for tested, own in one["default"].items():
            text, best = min(one["errors"][tested].items(), key=lambda item: float(item[1]))
            shown = f"{one['trained']} -> {tested}: {own:.2f} %, best {best:.2f} % ({text})"
            ratios[one["robot"]].append((own / best, shown))
    texts = [f"{name} worst {max(own)[0]:.2f} of {len(own)} pairs ({max(own)[1]})" for name, own in ratios.items()]
    every = [ratio for own in ratios.values() for ratio, _ in own]
    above = sum(ratio > BAR for ratio in every)
    text = f"{'; '.join(texts)}; median {np.median(every):.2f}, {above} of {len(every)} above {BAR:g}"
    text += f"; UR10e: {', '.join(UR10E)}" if "UR10e" in names else ""
    return text, not above


def read() -> list[Pair]:
    """The table of the repository."""
    return records(PATH, Pair)


def logarithms(made: Sequence[Pair]) -> dict[str, np.ndarray]:
    """log(error / held-out error) of each robot's pairs whose training motion excites everything."""
    robots = dict.fromkeys(pair.robot for pair in made if not pair.open)
    return {
        name: np.log([pair.error / pair.held_out for pair in made if pair.robot == name and not pair.open])
        for name in robots
    }


def fitted(robots: Sequence[np.ndarray]) -> MotionSpread:
    """What `casid.identification.OTHER_MOTIONS` holds: mean and deviation with each robot counting once."""
    n, mean = len(robots), float(np.mean([own.mean() for own in robots]))
    square = float(np.mean([((own - mean) ** 2).mean() for own in robots]))
    return MotionSpread(mean, float(np.sqrt(square * n / (n - 1))), n)


@row("printed range of the error on other motions, each robot left out", "holds 90 % of them", "none",
     partial(pairs, jobs=-1), quick=(read,), left_out="measuring the repository's table anew")  # fmt: skip
def stated(measured_now: Callable[[], Sequence[Pair]]) -> tuple[str, bool]:
    """Pairs of recordings within the range that robots other than theirs give."""
    robots, held = logarithms(measured_now()), list[np.ndarray]()
    for name, own in robots.items():
        ends = np.log(other_motion_errors(1.0, fitted([x for other, x in robots.items() if other != name])))
        held.append((own >= ends[0]) & (own <= ends[1]))
    shares = 100 * np.array([own.mean() for own in held])
    low, high = other_motion_errors(1.0, fitted(list(robots.values())))
    text = f"{shares.mean():.0f} % of {sum(map(len, held))} pairs of {len(held)} robots, each robot counting once "
    text += f"({100 * np.concatenate(held).mean():.0f} % of the pairs); {low:.2f} to {high:.2f} x the held-out error"
    return text, bool(shares.mean() >= 90.0)


def main() -> None:
    """Write the table of all pairs."""
    found = pairs()
    with PATH.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([Pair._fields, *found])
    print(fitted(list(logarithms(found).values())))


if __name__ == "__main__":
    import benchmarks.real.other_motions as module  # by its name, by which the other processes find it

    module.main()
