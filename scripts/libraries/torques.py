"""Entries from recordings of torques or currents: `casid.identification.identify`, without options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.real.robots import _kinova, _kr300, one_recording

from casid.description import Robot
from casid.identification import Checks, Identification, identify
from casid.measurement import Dataset
from libraries.entry import Found

#: Half width of a 95 % interval in standard deviations.
NORMAL = 1.96


def made(read: Callable[[], tuple[Robot, list[Dataset]]], folder: str, first: int | None = None) -> Found:
    """The default call on the first recordings or all, with proven ranges of masses."""
    robot, data = read()
    data = data[:first]
    result = identify(robot, data, checks=Checks(intervals=True))
    assert result.verdict is not None and result.held_out is not None and result.intervals is not None
    error, held_out = result.feasible.relative_error, result.held_out.tested["consistent"].total
    errors = round(error, 3), round(held_out, 3)
    ends = {entry.name: (max(float(entry.low), 0.0), float(entry.high)) for entry in result.intervals.entries}
    masses = {name.removesuffix(" mass"): pair for name, pair in ends.items()}
    files = tuple(f"{folder}/{recording.name}.npz" for recording in data)
    bodies = robot.with_parameters(result.parameters)
    return Found(bodies, result.verdict.line, *errors, intervals=intervals_of(result), masses=masses, files=files)


def intervals_of(result: Identification) -> dict[str, tuple[float, float, float]]:
    """Base parameters: consistent value, and 95 % of the unconstrained fit."""
    fit = result.unconstrained
    rows = zip(fit.data.base.names, result.feasible.beta, fit.beta, NORMAL * fit.sd, strict=True)
    return {name: (float(value), float(beta - half), float(beta + half)) for name, value, beta, half in rows}


TORQUES: dict[str, Callable[[], Found]] = {
    "ur10_salerno": partial(made, partial(one_recording, "UR10"), "ur10_unisa"),
    "kr300": partial(made, _kr300, "kr300"),
    # one channel of the others is dead
    "kinova_gen3_sensors": partial(made, partial(_kinova, "tau_sensor"), "kinova_gen3", 1),
    "kinova_gen3_currents": partial(made, partial(_kinova, "tau_current"), "kinova_gen3"),
}
