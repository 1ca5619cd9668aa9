"""Intervals of masses: how far choices of plausible bodies miss robots whose bodies are known, each left out in turn.

python -m benchmarks.real.intervals     # in scripts/: makes mass_deviations.csv anew, prints what `misses` holds
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import recordings
from benchmarks.measure import Measure, NotMeasured
from benchmarks.real import robots, simulated_robots
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import Checks, Identification, identify
from casid.measurement import Dataset
from casid.retrieval.plausible import Misses

TABLE = Path(__file__).parent / "mass_deviations.csv"
ORIGINS = ("skeleton", "shape", "description")
#: Links of a simulated robot with a description weigh so much more or less than it states (of logarithms).
DESCRIBED = 0.1
Case = tuple[Robot, Sequence[Dataset], Sequence[float]]


class Missed(NamedTuple):
    """One mass: where its plausible body is from, the truth, the choice [kg], the posterior's relative deviation."""

    origin: str
    robot: str
    body: str
    true: float
    chosen: float
    deviation: float

    @property
    def error(self) -> float:
        """``log(true / chosen)``."""
        return float(np.log(self.true / self.chosen))


def _nominal(name: str, first: int = 1) -> list[float]:
    return [float(row["mass_kg"]) for row in recordings.table(f"{name}/nominal_inertials.csv")[first:]]


def _kinova(signal: str) -> Case:
    return *robots._kinova(signal), _nominal("kinova_gen3")


#: Real robots, and the masses of their links, or of all of them [kg].
REAL: dict[str, Callable[[], Case]] = {
    "UR10e": lambda: (*robots._ur10e(), _nominal("ur10e")),
    "AR5": lambda: (*robots._ar5(), _nominal("ar5", 0)),
    "Kinova Gen3, sensors": lambda: _kinova("tau_sensor"),
    "Kinova Gen3, currents": lambda: _kinova("tau_current"),
    "TX40": lambda: (robots.blind(robots.recording_of("TX40")[0]), [robots.recording_of("TX40")[1]], _nominal("tx40")),
    "Franka Panda": lambda: (*robots._panda(), [16.0]),
    "UR10, real": lambda: (*robots._ur10(), [28.7]),
    "KR300": lambda: (*robots._kr300(), [1150.0]),
    "Rokae": lambda: (*robots._rokae(), [20.7]),
}


def _described(robot: Robot, seed: int) -> Robot:
    """A robot near its description."""
    rng, joints = np.random.default_rng(seed), []
    for joint in robot.joints:
        body = joint.link.inertial
        if body is not None and body.mass > 0:
            factor, radius = np.exp(DESCRIBED * rng.normal()), np.sqrt(np.trace(body.inertia_com) / 2 / body.mass)
            body = replace(
                body, mass=body.mass * factor, com=body.com + DESCRIBED * radius * rng.normal(size=3) / np.sqrt(3),
                inertia_com=body.inertia_com * factor * np.exp(DESCRIBED * rng.normal()),
            )  # fmt: skip
        joints.append(replace(joint, link=replace(joint.link, inertial=body)))
    return replace(robot, joints=tuple(joints))


def case(name: str, known: str) -> Case:
    """A real robot, or a simulated one of which the kinematics, its links' shapes, or a description are known."""
    if name in REAL:
        return REAL[name]()
    described = simulated_robots.robot_of(name)
    true = _described(described, sum(map(ord, name))) if known == "description" else described
    robot = {
        "skeleton": replace(robots.blind(described), origin=None),
        "shape": robots.blind(described),
        "description": replace(described, total_mass=(0.0, np.inf)),
    }[known]
    return robot, [simulated_robots.recorded(true, 0)], true.standard_parameters()[9::10].tolist()


def missed(name: str, known: str) -> list[Missed]:
    """All masses of one robot by the default call; none where its result has no intervals."""
    try:
        robot, data, true = case(name, known)
        given = {} if name in REAL else {"checks": Checks(verdict=False), "delay": "auto"}  # as proven by the verdict
        found = identify(robot, data, **given)
    except (CasidError, NotMeasured):
        return []
    choice = found.feasible.believable
    if choice is None or not np.isfinite(found.total_mass_range[1]):
        return []
    return list(_compared(name, found, true))


def _compared(name: str, found: Identification, true: Sequence[float]) -> Iterator[Missed]:
    choice, masses = found.feasible.believable, found.standard_parameters[9::10]
    assert choice is not None
    origins, covariance = choice.bodies.origins, choice.covariance[9 : 10 * len(masses) : 10, 9 : 10 * len(masses) : 10]
    total = float(masses.sum())
    whole = max(origins, key=origins.count), name, "all links", float(sum(true)), total
    yield Missed(*whole, float(np.sqrt(covariance.sum())) / total)
    if len(true) >= len(masses) > 1:
        for k, link in enumerate(found.model.robot.links):
            s = float(np.sqrt(covariance[k, k]) / masses[k])
            yield Missed(origins[k], name, link.name, true[k], float(masses[k]), s)


def table(
    names: Sequence[str] = (*REAL, *simulated_robots.TUNED, *simulated_robots.JUDGED), jobs: int = 1
) -> list[Missed]:
    """All robots, measured anew."""
    work = [(name, known) for name in names for known in (("real",) if name in REAL else ORIGINS)]
    return [row for rows in Parallel(n_jobs=jobs)(delayed(missed)(*one) for one in work) for row in rows]


def read() -> list[Missed]:
    """The table of the repository."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [Missed(*row[:3], *map(float, row[3:])) for row in list(csv.reader(file))[1:]]


def _numbers(rows: Sequence[Missed]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Machines, errors, deviations."""
    machines = np.array([row.robot.split(",")[0] for row in rows])
    return machines, np.array([row.error for row in rows]), np.array([row.deviation for row in rows])


def fitted(rows: Sequence[Missed]) -> Misses:
    """What `casid.retrieval.plausible.misses` holds of one class: a spread where errors are likelier with it."""
    machines, e, s = _numbers(rows)
    found = []
    for spread in (np.inf, float(np.sqrt(np.mean(e**2)))):
        known = s / np.sqrt(1.0 + (s / spread) ** 2)
        scale = float(np.sqrt(np.mean((e / known) ** 2)))
        found.append((float(np.log(scale * known).sum()), Misses(scale, spread, len(set(machines)))))
    return min(found)[1]


def judged(rows: Sequence[Missed]) -> tuple[float, np.ndarray]:
    """Share of the masses that their intervals hold, each robot left out in turn; ends over each other."""
    machines, e, s = _numbers(rows)
    held = np.zeros(len(rows), dtype=bool)
    for machine in set(machines):
        others = fitted([row for row in rows if row.robot.split(",")[0] != machine])
        own = machines == machine
        held[own] = np.abs(e[own]) <= others.half_width(s[own])
    return float(held.mean()), np.exp(2.0 * fitted(rows).half_width(s))


def classes(rows: Sequence[Missed]) -> Iterator[tuple[str, bool, list[Missed]]]:
    """Origin, whether they are totals, and the masses of each class."""
    for origin in ORIGINS:
        for total in (True, False):
            yield origin, total, [r for r in rows if r.origin == origin and (r.body == "all links") == total]


def held(rows: Sequence[Missed]) -> tuple[str, bool]:
    """The row of the table."""
    texts, met = [], len({row.robot for row in rows}) >= 25
    for origin, total, own in classes(rows):
        share, ends = judged(own)
        kind = "totals" if total else "links"
        bar = {"skeleton": 2.0, "shape": 1.4}.get(origin, np.inf) if total else np.inf
        texts.append(
            f"{origin} {kind}: {100 * share:.0f} % of {len(own)}, ends {np.median(ends):.2f} "
            f"({ends.min():.2f} to {ends.max():.2f})"
        )
        met = met and 0.92 <= share <= 0.98 and float(np.median(ends)) <= bar and float(np.ptp(ends)) > 0.1
    return "; ".join(texts), met


def write(rows: Sequence[Missed]) -> None:
    """The table of the repository."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        made = csv.writer(file, lineterminator="\n")
        made.writerow(Missed._fields)
        made.writerows((*row[:3], *(f"{number:.4g}" for number in row[3:])) for row in rows)


INTERVAL_ROWS = (
    Measure(
        "intervals of totals and single masses, each robot left out", "92-98 % in each class; ends 2.0, shapes 1.4",
        "constants, 3.3", lambda: held(table(jobs=2)), lambda: held(read()), "measuring the repository's table anew",
    ),
)  # fmt: skip

if __name__ == "__main__":
    made = table()
    write(made)
    for origin, total, own in classes(made):
        print(origin, "totals" if total else "links", fitted(own), *judged(own)[:1])
