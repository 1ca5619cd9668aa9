"""A folder of C code that stands on its own, of functions or a controller: header, build files, example, self-test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.codegen import LANGUAGES, Argument, CFunction, batch_source, check_identifier, scalar_source, script_source
from casid.control import Controller
from casid.description import Robot
from casid.errors import ExportError
from casid.export import _texts as texts
from casid.export._beside import Described, beside
from casid.expressions import as_function, enclose
from casid.files import check_target, json_bytes, write_directory

#: Random states that the self-test compares at, and those that they are chosen from.
_TEST_SAMPLES, _CANDIDATES = 4, 16


@dataclass(frozen=True)
class ExportedDirectory:
    """What an export wrote.

    Attributes
    ----------
    path : Path
        The folder.
    files : tuple of str
        Names of its files.
    functions : tuple of CFunction
        The C functions, with their operation counts.
    """

    path: Path
    files: tuple[str, ...]
    functions: tuple[CFunction, ...]


def export_c(
    functions: Mapping[str, ca.Function] | Sequence[ca.Function],
    out: str | Path,
    prefix: str,
    *,
    words: Mapping[str, str] = MappingProxyType({}),
    units: Mapping[str, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
    samples: Mapping[str, ArrayLike] = MappingProxyType({}),
    robot: Robot | None = None,
    batched: bool = False,
    languages: Sequence[str] = (),
    overwrite: bool = False,
) -> ExportedDirectory:
    """Write CasADi functions as plain C.

    Every function becomes ``int <prefix>_<name>(const double <input>[...], ..., double <output>[...])``: C99 that is
    also C++, no allocation, no static state, matrices row by row.

    Parameters
    ----------
    functions
        Functions by name, or functions with names of their own.
    out
        Folder to make.
    prefix
        Beginning of all names; names the files.
    words
        What each function returns, for the header.
    units
        Meaning, frame and unit of arguments by name, for the header and FRAMES.md.
    notes
        Paragraphs for the head of the header.
    samples
        Values that arguments of these names take in the self-test; others are random.
    robot
        Whose numbers these are: LICENSE names its sources, FRAMES.md where its frames stand.
    batched
        Add functions for many samples at once (GCC or Clang).
    languages
        Other languages in which the functions are written beside C: ``python``, ``julia``.
    overwrite
        Replace files of an earlier export in the same folder.

    Returns
    -------
    ExportedDirectory
        The folder, its files and functions.

    Raises
    ------
    ExportError
        If a name is no C identifier, the folder exists or cannot be written, or a function has an operation without a C
        counterpart.
    """
    named = functions if isinstance(functions, Mapping) else {f.name(): f for f in functions}
    check_identifier(prefix, "prefix")
    if not named:
        raise ExportError("no function to export")
    target = Path(out)
    check_target(target, overwrite)
    built = [CFunction(function, f"{prefix}_{name}") for name, function in named.items()]
    described = [Described(c, words.get(name, ""), units) for name, c in zip(named, built, strict=True)]
    contents: dict[str, bytes | str] = {
        f"{prefix}.h": texts.header(prefix, described, notes),
        f"{prefix}.c": f'#include "{prefix}.h"\n\n' + scalar_source(built, prefix),
        "self_test.c": texts.self_test(prefix, built, [_cases(c, samples) for c in built]),
        "example.c": texts.example(prefix, built),
        **texts.build_files(prefix, batched),
        f"{prefix}.json": json_bytes(_manifest(prefix, built, named, batched)),
        **beside(robot, described),
    }
    if batched:
        contents[f"{prefix}_batch.h"] = texts.batch_header(prefix, built)
        contents[f"{prefix}_batch.c"] = f'#include "{prefix}_batch.h"\n\n' + batch_source(built, f"{prefix}_batch")
    for name in languages:
        if name not in LANGUAGES:
            raise ExportError(f"language '{name}': expected {', '.join(LANGUAGES)}")
        contents[f"{prefix}.{LANGUAGES[name].ending}"] = script_source(built, prefix, LANGUAGES[name])
    write_directory(target, contents, overwrite=overwrite)
    return ExportedDirectory(target, tuple(contents), tuple(built))


def _cases(function: CFunction, samples: Mapping[str, ArrayLike]) -> list[texts.Case]:
    """Inputs, the CasADi graph's values there and how exact they are, as the C arrays hold them.

    Of `_CANDIDATES` random states those at which rounding matters least: near a singularity, a comparison of two orders
    of the same operations shows nothing.
    """
    rng = np.random.default_rng(20190704)
    drawn = []
    for _ in range(_CANDIDATES):
        inputs = []
        for argument in function.inputs:
            given = samples.get(argument.name)
            flat = np.zeros(argument.size)
            if given is not None and np.size(given) == argument.size:
                flat[:] = np.ravel(np.asarray(given, dtype=float))
            else:
                flat[list(argument.positions)] = rng.uniform(-1.5, 1.5, len(argument.positions))
            inputs.append(flat)
        drawn.append(inputs)
    cases = [
        texts.Case(inputs, _evaluated(function, inputs), bounds.tolist())
        for inputs, bounds in zip(drawn, _rounding(function, drawn), strict=True)
    ]
    return sorted(cases, key=lambda case: case.uncertainty)[:_TEST_SAMPLES]


def _rounding(function: CFunction, states: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """By how much two evaluations of a function may differ, shape (states, outputs).

    Any evaluation of the graph in floating point lies within its interval enclosure at that point, which grows with the
    condition number of every matrix that is inverted on the way; one in another order of operations has an enclosure of
    its own, of about the same width.
    """
    plain = function.function.expand()
    inputs = [ca.SX.sym(name, plain.sparsity_in(i)) for i, name in enumerate(plain.name_in())]
    outputs = plain.call(inputs)
    elements: list[Any] = [element for symbol in inputs for element in symbol.nonzeros()]
    x = ca.vertcat(*elements)
    values = [
        np.concatenate([flat[list(a.positions)] for flat, a in zip(state, function.inputs, strict=True)])
        for state in states
    ]
    ranges = enclose(as_function(ca.vertcat(*(ca.vec(y) for y in outputs)), x), np.array(values).T, np.array(values).T)
    widths = np.array([np.broadcast_to(found.high - found.low, len(states)) for found in ranges])
    edges = np.cumsum([0, *(y.numel() for y in outputs)])
    return np.transpose([2.0 * widths[a:b].max(axis=0, initial=0.0) for a, b in pairwise(edges)])


def _evaluated(function: CFunction, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The graph's values."""
    call = [
        ca.project(ca.DM(flat.reshape(a.rows, a.columns)), function.function.sparsity_in(i))
        for i, (flat, a) in enumerate(zip(inputs, function.inputs, strict=True))
    ]
    return [np.array(value.full(), dtype=float).ravel() for value in function.function.call(call)]


def _manifest(
    prefix: str, built: Sequence[CFunction], named: Mapping[str, ca.Function], batched: bool
) -> dict[str, object]:
    def shapes(arguments: Sequence[Argument]) -> list[dict[str, object]]:
        return [{"name": a.name, "rows": a.rows, "columns": a.columns} for a in arguments]

    return {
        "prefix": prefix,
        "batched": batched,
        "functions": {
            name: {"inputs": shapes(f.inputs), "outputs": shapes(f.outputs), "operations": vars(f.operations)}
            for name, f in zip(named, built, strict=True)
        },
    }


_UNITS = {
    "t": "time since the control began [s]",
    "q": "measured joint positions [rad, m for prismatic joints]",
    "dq": "measured joint velocities [rad/s, m/s]",
    "tau": "joint torques to command [N.m, N]",
    "memory": "memory of the controller, 0 samples old; at first that of rest",
    "memory_next": "memory to hand over at the next sample",
}


def export_controller(
    controller: Controller, out: str | Path, prefix: str = "robot", *, batched: bool = False, overwrite: bool = False
) -> ExportedDirectory:
    """Write a controller's law as C: ``int <prefix>_control(t, <reference signals>, q, dq, tau)``.

    The same expression that `casid.simulation.simulate` runs, torque limits included: without allocation, without
    state, with header, build files and self-test (see `export_c`).

    Parameters
    ----------
    controller
        Any controller of `casid.control`.
    out
        Folder to make.
    prefix
        Beginning of the functions' and files' names.
    batched, overwrite
        As for `export_c`.

    Raises
    ------
    ExportError
        If a name is no C identifier, or the folder exists or cannot be written.

    Examples
    --------
    >>> import casid
    >>> from casid.control import ComputedTorque, Saturated, nominal
    >>> from casid.export import export_controller
    >>> panda = casid.load_robot("panda")
    >>> law = Saturated(ComputedTorque(*nominal(panda), 100.0, 20.0), panda.limits.effort)
    >>> export_controller(law, "panda_control", "panda")  # doctest: +SKIP
    """
    units = {**_UNITS, **{signal.name: signal.words for signal in controller.signals if signal.words}}
    return export_c(
        {"control": controller.function}, out, prefix, words={"control": controller.words}, units=units,
        batched=batched, overwrite=overwrite,
    )  # fmt: skip
