"""Intervals of masses: how far choices of plausible bodies miss robots whose bodies are known, each left out in turn.

python -m benchmarks.real.intervals     # in scripts/: makes mass_deviations.csv anew, prints what `misses` holds
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import recordings
from benchmarks.measure import NotMeasured, Rows
from benchmarks.real import robots, simulated_robots
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import Checks, Identification, identify
from casid.measurement import Dataset
from casid.retrieval.plausible import Misses

row = Rows()

TABLE = Path(__file__).parent / "mass_deviations.csv"
ORIGINS = ("skeleton", "shape", "description")
KINDS = ("total", "link", "centre")
#: Links of a simulated robot with a description weigh so much more or less than it states (of logarithms).
DESCRIBED = 0.1
#: Robot, recordings, masses of the links or of all, and standard parameters where they are known.
Case = tuple[Robot, Sequence[Dataset], Sequence[float], np.ndarray | None]


class Missed(NamedTuple):
    """A mass [kg] or a coordinate of a centre [m]: where its plausible body is from, truth, choice, deviation.

    Deviations of the posterior: of masses relative ones. Links: of the robot.
    """

    kind: str
    origin: str
    robot: str
    links: int
    body: str
    true: float
    chosen: float
    deviation: float

    @property
    def error(self) -> float:
        """``log(true / chosen)`` of a mass, the difference of centres."""
        return self.true - self.chosen if self.kind == "centre" else float(np.log(self.true / self.chosen))


def _nominal(name: str, first: int = 1) -> list[float]:
    return [float(row["mass_kg"]) for row in recordings.table(f"{name}/nominal_inertials.csv")[first:]]


#: Real robots, and the masses of their links, or of all of them [kg].
REAL: dict[str, Callable[[], tuple[Robot, list[Dataset], list[float]]]] = {
    "UR10e": lambda: (*robots._ur10e(), _nominal("ur10e")),
    "AR5": lambda: (*robots.one_recording("AR5"), _nominal("ar5", 0)),
    "Kinova Gen3, sensors": lambda: (*robots._kinova("tau_sensor"), _nominal("kinova_gen3")),
    "Kinova Gen3, currents": lambda: (*robots._kinova("tau_current"), _nominal("kinova_gen3")),
    "TX40": lambda: (*robots.one_recording("TX40"), _nominal("tx40")),
    "Franka Panda": lambda: (*robots.one_recording("Panda"), [16.0]),
    "UR10, real": lambda: (*robots.one_recording("UR10"), [28.7]),
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
        return *REAL[name](), None
    described = simulated_robots.robot_of(name)
    true = _described(described, sum(map(ord, name))) if known == "description" else described
    robot = {
        "skeleton": replace(robots.blind(described), origin=None),
        "shape": robots.blind(described),
        "description": replace(described, total_mass=(0.0, np.inf)),
    }[known]
    bodies = true.standard_parameters().reshape(-1, 10)
    return robot, [simulated_robots.recorded(true, 0)], bodies[:, 9].tolist(), bodies


def missed(name: str, known: str) -> list[Missed]:
    """All masses of one robot by the default call; none where its result has no intervals."""
    try:
        robot, data, true, bodies = case(name, known)
        if name in REAL:
            found = identify(robot, data)
        else:  # the delay as the verdict proves it
            found = identify(robot, data, checks=Checks(verdict=False), delay="auto")
    except (CasidError, NotMeasured):
        return []
    choice = found.feasible.believable
    if choice is None or not np.isfinite(found.total_mass_range[1]):
        return []
    return list(_compared(name, found, true, bodies))


def _compared(name: str, found: Identification, true: Sequence[float], bodies: np.ndarray | None) -> Iterator[Missed]:
    choice, tens = found.feasible.believable, found.standard_parameters.reshape(-1, 10)
    assert choice is not None
    origins, covariance, masses = choice.bodies.origins, choice.covariance[: tens.size, : tens.size], tens[:, 9]
    total = float(masses.sum())
    own = covariance[9::10, 9::10]
    most = max(origins, key=origins.count)
    yield Missed(
        "total", most, name, len(masses), "all links", float(sum(true)), total, float(np.sqrt(own.sum())) / total
    )
    if len(true) < len(masses):
        return
    for k, (origin, link) in enumerate(zip(origins, found.model.robot.links, strict=False)):
        s = float(np.sqrt(own[k, k]) / masses[k])
        yield Missed("link", origin, name, len(masses), link.name, true[k], float(masses[k]), s)
        block = covariance[10 * k : 10 * k + 10, 10 * k : 10 * k + 10]
        for i, axis in enumerate("xyz" if bodies is not None else ""):
            slope = (np.eye(10)[6 + i] - tens[k, 6 + i] / masses[k] * np.eye(10)[9]) / masses[k]
            true_one, chosen = (float(one[k, 6 + i] / one[k, 9]) for one in (bodies, tens) if one is not None)
            s = float(np.sqrt(slope @ block @ slope))
            yield Missed("centre", origin, name, len(masses), f"{link.name} {axis}", true_one, chosen, s)


def table(
    names: Sequence[str] = (*REAL, *simulated_robots.TUNED, *simulated_robots.JUDGED), jobs: int = 1
) -> list[Missed]:
    """All robots, measured anew."""
    work = [(name, known) for name in names for known in (("real",) if name in REAL else ORIGINS)]
    return [row for rows in Parallel(n_jobs=jobs)(delayed(missed)(*one) for one in work) for row in rows]


def read() -> list[Missed]:
    """The table of the repository."""
    return recordings.records(TABLE, Missed)


def _numbers(rows: Sequence[Missed]) -> tuple[np.ndarray, ...]:
    """Machines, errors, deviations, links."""
    machines = np.array([row.robot.split(",")[0] for row in rows])
    return machines, *(np.array([getattr(row, name) for row in rows]) for name in ("error", "deviation", "links"))


def fitted(rows: Sequence[Missed]) -> Misses:
    """What `casid.retrieval.plausible.misses` holds of one class.

    Its form is that of the least interval score (Gneiting and Raftery 2007) over robots that are left out: of totals
    with s' 1.34, 0.79, 0.39 (skeleton, shape, description), with s'/n 1.58, 0.43, 0.37; s alone 1.35, 0.74, 0.43.
    """
    machines, e, s, links = _numbers(rows)
    kind, origin = rows[0].kind, rows[0].origin
    spread = np.inf if kind == "centre" else float(np.sqrt(np.mean(e**2)))
    made = Misses(1.0, spread, len(set(machines)), kind == "total" and origin != "skeleton")
    return made._replace(scale=float(np.sqrt(np.mean((e / made.known(s, links)) ** 2))))


def judged(rows: Sequence[Missed]) -> tuple[float, np.ndarray]:
    """Share of the masses that their intervals hold, each robot left out in turn; ends over each other."""
    machines, e, s, links = _numbers(rows)
    held = np.zeros(len(rows), dtype=bool)
    for machine in set(machines):
        own = machines == machine
        others = fitted([row for row, left in zip(rows, own, strict=True) if not left])
        held[own] = np.abs(e[own]) <= others.half_width(s[own], links[own])
    return float(held.mean()), np.exp(2.0 * fitted(rows).half_width(s, links))


def classes(rows: Sequence[Missed]) -> Iterator[tuple[str, str, list[Missed]]]:
    """Origin, kind, and the rows of each class."""
    for origin in ORIGINS:
        for kind in KINDS:
            yield origin, kind, [row for row in rows if (row.origin, row.kind) == (origin, kind)]


@row("intervals of totals and single masses, each robot left out", "92-98 % in each class; ends 2.0, shapes 1.4",
     "constants, 3.3", partial(table, jobs=-1), quick=(read,),
     left_out="measuring the repository's table anew")  # fmt: skip
def held(measured: Callable[[], Sequence[Missed]]) -> tuple[str, bool]:
    """The row of the table."""
    rows, texts = measured(), list[str]()
    met = len({row.robot for row in rows}) >= 25
    for origin, kind, own in classes(rows):
        share, ends = judged(own)
        if kind == "centre":
            texts.append(f"{origin} centres: {100 * share:.0f} % of {len(own)}")
            continue
        bar = {"skeleton": 2.0, "shape": 1.4}.get(origin, np.inf) if kind == "total" else np.inf
        texts.append(
            f"{origin} {kind}s: {100 * share:.0f} % of {len(own)}, ends {np.median(ends):.2f} "
            f"({ends.min():.2f} to {ends.max():.2f})"
        )
        met = met and 0.92 <= share <= 0.98 and float(np.median(ends)) <= bar and float(np.ptp(ends)) > 0.1
    return "; ".join(texts), met


def write(rows: Sequence[Missed]) -> None:
    """The table of the repository."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        made = csv.writer(file, lineterminator="\n")
        made.writerow(Missed._fields)
        made.writerows((*row[:5], *(f"{number:.4g}" for number in row[5:])) for row in rows)


if __name__ == "__main__":
    made = table(jobs=-1)
    write(made)
    for origin, kind, own in classes(made):
        print(origin, kind, fitted(own), judged(own)[0])
