"""The model description of an FMU: its variables with their units, and what depends on what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

import numpy as np

from casid.description import Robot
from casid.export import licence_of, rest
from casid.files import template
from casid.version import __version__

#: Name of the library and of everything that FMI identifies the model by.
IDENTIFIER = "robot"
#: Blocks of variables: causality, initial value ("exact" with a start), of what it is the derivative, units, words.
_BLOCKS = {
    "q": ("output", "exact", "", ("rad", "m"), "joint position"),
    "dq": ("output", "exact", "", ("rad/s", "m/s"), "joint velocity"),
    "tau": ("input", "", "", ("N.m", "N"), "joint torque or force"),
    "ddq": ("output", "calculated", "dq", ("rad/s2", "m/s2"), "joint acceleration"),
    "rate": ("local", "calculated", "q", ("rad/s", "m/s"), "derivative of the position"),
}


class _Variable(NamedTuple):
    """A variable; value references count them in their order, from 0."""

    name: str
    causality: str
    unit: str
    initial: str = ""
    start: str = ""
    derivative: int | None = None
    variability: str = "continuous"
    words: str = ""


def description(robot: Robot, author: str, token: str, step: float, fmi: int) -> str:
    """The model description.

    Parameters
    ----------
    author
        Who answers for the model.
    token
        Identifies the model: the library refuses another.
    step
        Default of the longest step of co-simulation [s].
    fmi
        Version of the interface, 2 or 3.
    """
    variables, older = _variables(robot, step), fmi == 2
    able = f'modelIdentifier="{IDENTIFIER}" canGetAndSetFMU{"s" if older else "S"}tate="true"'
    inside = f'><SourceFiles><File name="{IDENTIFIER}.c"/></SourceFiles></' if older else ""
    close = (f"{inside}ModelExchange>", f"{inside}CoSimulation>") if older else ("/>", "/>")
    identity = (
        f'fmiVersion="2.0" modelName="{escape(robot.name)}" guid="{token}"' if older
        else f'fmiVersion="3.0" modelName="{escape(robot.name)}" instantiationToken="{token}"'
    )  # fmt: skip
    origin = {
        "description": f"Forward dynamics of {robot.name}", "author": author, "license": licence_of(robot),
        "generationTool": f"casid {__version__}",
    }  # fmt: skip
    slots = {
        "identity": identity, "origin": _pairs(origin), "able": able, "exchange": close[0], "simulation": close[1],
        "indicators": ' numberOfEventIndicators="0"' if older else "", "step": repr(float(step)),
        "units": _indented(_units({variable.unit for variable in variables})),
        "variables": _indented(_written(number, variable, older) for number, variable in enumerate(variables)),
        "structure": _indented(_structure(robot.n, older)),
    }  # fmt: skip
    return template(__package__, "modelDescription.xml", slots)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _units(used: set[str]) -> Iterator[str]:
    """Units as powers of the base units."""
    known = {
        "s": {"s": 1}, "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "rad/s2": {"rad": 1, "s": -2}, "m": {"m": 1},
        "m/s": {"m": 1, "s": -1}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
        "N.m": {"kg": 1, "m": 2, "s": -2},
    }  # fmt: skip
    for name in sorted(used):
        powers = " ".join(f'{base}="{power}"' for base, power in known[name].items())
        yield f'<Unit name="{name}"><BaseUnit {powers}/></Unit>'


def _variables(robot: Robot, step: float) -> list[_Variable]:
    first = {name: 1 + block * robot.n for block, name in enumerate(_BLOCKS)}
    starts = {"q": rest(robot), "dq": np.zeros(robot.n), "tau": np.zeros(robot.n)}
    found = [_Variable("time", "independent", "s")]
    for name, (causality, initial, of, units, words) in _BLOCKS.items():
        for k, joint in enumerate(robot.coordinates):
            found.append(
                _Variable(
                    f"{name}.{joint.name}", causality, units[joint.type == "prismatic"], initial,
                    f"{starts[name][k]:.17g}" if name in starts else "", first[of] + k if of else None, words=words,
                )
            )  # fmt: skip
    words = "longest step of co-simulation"
    return [*found, _Variable("step", "parameter", "s", "exact", repr(float(step)), None, "tunable", words)]


def _written(number: int, variable: _Variable, older: bool) -> str:
    """A variable; a derivative names what it is of: FMI 3 by its value reference, FMI 2 by its place, from 1."""
    of = "" if variable.derivative is None else str(variable.derivative + older)
    common = _pairs({
        "name": variable.name, "valueReference": str(number), "causality": variable.causality,
        "variability": variable.variability, "initial": variable.initial, "description": variable.words,
    })  # fmt: skip
    own = _pairs({"unit": variable.unit, "start": variable.start, "derivative": of})
    return f"<ScalarVariable {common}><Real {own}/></ScalarVariable>" if older else f"<Float64 {common} {own}/>"


def _pairs(values: dict[str, str]) -> str:
    return " ".join(f'{key}="{escape(value)}"' for key, value in values.items() if value)


def _structure(n: int, older: bool) -> Iterator[str]:
    """Outputs, derivatives and initial unknowns, each with what it depends on, by value references or places."""
    q, dq, tau, ddq, rate = (range(older + 1 + block * n, older + 1 + (block + 1) * n) for block in range(5))
    every = " ".join(map(str, (*q, *dq, *tau)))
    known = {r: str(of) for r, of in zip(rate, dq, strict=True)} | dict.fromkeys(ddq, every)
    parts = {"Output": (*q, *dq, *ddq), "ContinuousStateDerivative": (*rate, *ddq), "InitialUnknown": (*ddq, *rate)}
    for kind, listed in parts.items():
        needs = {r: f' dependencies="{known[r]}"' if r in known else "" for r in listed}
        if older:
            name = kind.removeprefix("ContinuousState") + "s"
            yield from (f"<{name}>", *(f'  <Unknown index="{r}"{needs[r]}/>' for r in listed), f"</{name}>")
        else:
            yield from (f'<{kind} valueReference="{r}"{needs[r]}/>' for r in listed)
