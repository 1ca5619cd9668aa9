"""The default options against forty others on real recordings: the error of predicted torques.

Each set of options identifies the robot from the first two thirds of a recording. Torques of the last third, with the
filters that the default chose, are predicted from each, so that all predict the same. A recording is a piece: what was
measured of it is kept while the code that it exercises is unchanged. ``python -m benchmarks.real.options UR10`` in
``scripts/``: one recording with all sets; ``--quick``: eight sets.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from benchmarks.measure import Measure
from benchmarks.real.raw_recordings import IDENTIFYING, SET_ON, recording_of
from benchmarks.results import digest, measured
from casid.description import Robot
from casid.errors import CasidError
from casid.identification import Checks, Choice, ModelOptions, identify
from casid.measurement import Dataset, Processing

LINEAR = ("viscous", "coulomb", "offset")
#: Cut-offs [Hz], joint terms, friction laws and shares that are combined; None: the default.
CUTOFFS = (None, 1.0, 2.0, 5.0, 10.0)
TERMS = (LINEAR, (*LINEAR, "rotor"))
FRICTION = ("linear", "stribeck")
SHARES = (0.005, 0.05)
#: Recordings of the row; those that cut-offs were set on, and those that judge.
ROBOTS = (*SET_ON, "UR10", "KR300", "TX40", "Kinova")
#: Largest error over that of the best set.
BAR = 1.1
#: Seconds after which no other recording is begun, and the files that a recording's errors depend on: no verdict is
#: asked for.
SECONDS = 1500
EXERCISED = (*IDENTIFYING, "scripts/benchmarks/real/options.py")


class Options(NamedTuple):
    """One set."""

    cutoff: float | None
    terms: tuple[str, ...]
    friction: str
    share: float

    @property
    def text(self) -> str:
        """In words."""
        cutoff = "cut-off chosen" if self.cutoff is None else f"{self.cutoff:g} Hz"
        rotor = "rotor" if "rotor" in self.terms else "no rotor"
        return f"{cutoff}, {rotor}, {self.friction}, share {100 * self.share:g} %"


def sets(quick: bool = False) -> list[Options]:
    """Forty sets, or eight."""
    made = itertools.product(CUTOFFS, TERMS, FRICTION, SHARES)
    return [Options(*one) for one in made if not quick or (one[0] in (None, 5.0) and one[2] == "linear")]


def _parts(data: Dataset) -> tuple[Dataset, Dataset]:
    edge = 2 * len(data) // 3
    return data.rows(slice(0, edge), "first two thirds"), data.rows(slice(edge, None), "last third")


def _error(robot: Robot, train: Dataset, test: Dataset, one: Options) -> float:
    """Error of predicted torques [%]; infinite where the set fails."""
    processing = Processing() if one.cutoff is None else Processing(cutoff=one.cutoff)
    try:
        result = identify(
            robot, train, processing=processing, model=ModelOptions(terms=one.terms, friction=one.friction),
            choice=Choice(share=one.share), checks=Checks(folds=0, verdict=False),
        )  # fmt: skip
        return result.predict(test).relative_error
    except CasidError:
        return float("inf")


def compared(name: str, quick: bool = False) -> dict[str, Any]:
    """Errors of the default and of every other set on one recording [%]; infinite ones are left out."""
    robot, data = recording_of(name)
    train, later = _parts(data)
    default = identify(robot, train, checks=Checks(verdict=False))
    used = default.processing
    assert isinstance(used, Processing)
    test = replace(used, every="auto").apply(later)
    errors = {one.text: _error(robot, train, test, one) for one in sets(quick)}
    kept = {text: round(error, 4) for text, error in errors.items() if error < float("inf")}
    return {"default": round(default.predict(test).relative_error, 4), "errors": kept}


def against_forty(robots: tuple[str, ...] = ROBOTS, quick: bool = False, jobs: int = 2) -> tuple[str, bool]:
    """The row of the table."""
    if quick:
        made = {name: compared(name, True) for name in robots}
    else:
        made = measured("options", digest(*EXERCISED), {n: partial(compared, n) for n in robots}, SECONDS, jobs)
    texts, met = [], len(made) == len(robots)
    for name, piece in made.items():
        own, (text, best) = piece["default"], min(piece["errors"].items(), key=lambda one: one[1])
        met = met and own <= BAR * best
        split = "set on" if name in SET_ON else "judged"
        texts.append(f"{name} ({split}) {own:.2f} %, best {best:.2f} % ({text}), {own / best:.2f} x")
    left = [name for name in robots if name not in made]
    return "; ".join([*texts, *([f"not yet measured: {', '.join(left)}"] if left else [])]), met


OPTION_ROWS = (
    Measure(
        "default against the best of 40 option sets, error of predicted torques",
        "within 10 % of the best",
        "up to 9 x",
        against_forty,
        quick=lambda: against_forty(("UR10",), True),
        left_out="most recordings and option sets",
    ),
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--quick", action="store_true", help="eight sets")
    given = parser.parse_args()
    for robot_name in given.robots:
        print(*against_forty((robot_name,), given.quick), flush=True)
