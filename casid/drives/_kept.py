"""Parts of a search on free runs that are done: kept in a journal, so that an interrupted search goes on from there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.codegen import evaluate_batch
from casid.drives._runs import FreeRuns, Point
from casid.drives._search import Normal, Search
from casid.errors import DatasetError
from casid.files._journal import journal, journal_lines
from casid.files._texts import parse_json

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Kept:
    """Parts of a search that are done, by name; with a file, each is in it as soon as it is there."""

    done: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    append: Callable[[Mapping[str, Any]], None] | None = None

    def part(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Plain data of a part: what was kept of it, or computed and kept."""
        if name not in self.done:
            self.done[name] = compute()
            if self.append is not None:
                self.append({"part": name, **self.done[name]})
        return self.done[name]

    def searched(
        self, name: str, search: Search, compute: Callable[[], tuple[Search, Point, Normal]]
    ) -> tuple[Search, Point, Normal]:
        """A search that was run, where it ended, and the normal equations there; ``search`` itself if that is kept."""
        fresh: list[tuple[Search, Point, Normal]] = []

        def run() -> Mapping[str, Any]:
            fresh.append(compute())
            made, point, _ = fresh[0]
            return {
                "theta": point.theta.tolist(), "starts": [x.tolist() for x in point.starts], "scale": made.scale,
                "inflation": made.inflation, "history": list(made.history), "rollouts": made.runs.rollouts,
            }  # fmt: skip

        kept = self.part(name, run)
        if fresh:
            return fresh[0]
        search.scale, search.inflation, search.history = kept["scale"], kept["inflation"], list(kept["history"])
        point = Point(np.array(kept["theta"], dtype=float), [np.array(x, dtype=float) for x in kept["starts"]])
        normal = search.normal(point)
        search.runs.rollouts = kept["rollouts"]
        return search, point, normal


@contextmanager
def keeping_parts(path: str | Path | None, runs: FreeRuns, settings: str) -> Iterator[Kept]:
    """Parts in a journal: what an earlier run of the same search has in it is not computed again; without a path: none.

    Raises
    ------
    DatasetError
        If the file belongs to another search, is damaged (it is left untouched), in use, or cannot be written.
    """
    if path is None:
        yield Kept()
        return
    digest = hashlib.sha256(repr((runs.servo, settings)).encode())
    digest.update(_dynamics(runs).tobytes())
    for data in runs.recordings:
        digest.update(repr((data.name, data.gain)).encode())
        for array in (data.t, data.q, data.q_des, data.on(), np.zeros(0) if data.torque is None else data.torque):
            digest.update(np.ascontiguousarray(array).tobytes())
    header, file = {"casid_search": 1, "search": digest.hexdigest()[:32]}, Path(path)
    differs = {"search": "other recordings, servos, options or another robot"}
    done = dict[str, Mapping[str, Any]]()
    for number, line in enumerate(journal_lines(file, header, differs, "search file", DatasetError), start=2):
        where = f"search file '{file}', line {number}"
        stored = parse_json(line, where, DatasetError)
        if not isinstance(stored, dict) or not isinstance(stored.get("part"), str):
            raise DatasetError(f"{where} is damaged; it is left as it is: remove that line")
        done[stored["part"]] = {key: value for key, value in stored.items() if key != "part"}
    with journal(file, header, "search file", DatasetError) as append:
        yield Kept(done, append)


def _dynamics(runs: FreeRuns) -> Array:
    """Torques and terms of the robot's model at some states: another robot, wherever it differs, has others."""
    rng, n = np.random.default_rng(0), runs.robot.n
    motion = rng.uniform(-1.0, 1.0, (3, 8, n))
    return np.asarray(evaluate_batch(runs.model.inverse_dynamics, *motion, runs.robot.standard_parameters()))
