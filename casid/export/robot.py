"""A robot's dynamics as C: which model, which parameters, what the header says about them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import check_identifier, identifier
from casid.description import Robot
from casid.dynamics import Model, reduced
from casid.dynamics.terms import JointTerm
from casid.errors import ExportError
from casid.export.catalogue import FUNCTIONS, Parametrised, build_functions, check_functions
from casid.export.directory import ExportedDirectory, export_c
from casid.export.parameters import (
    warn_if_infeasible,
    with_payload,
)
from casid.files import check_target
from casid.inertia import Parameters

RuntimeParameters = Literal["none", "standard", "base"]

#: What most controllers and simulators need.
DEFAULT_FUNCTIONS = ("inverse_dynamics", "gravity", "coriolis", "mass_matrix", "forward_dynamics")
#: Functions that divide by the mass matrix or simulate with it.
_SIMULATION = {
    "forward_dynamics", "inverse_mass_matrix", "forward_dynamics_derivatives", "operational_space", "mass_matrix",
}  # fmt: skip
#: Functions of what happens inside the links, which base parameters do not determine.
_LINKS = {"joint_wrenches", "potential_energy"}
#: Meaning and unit of arguments, by name.
UNITS = {
    "q": "joint positions [rad, m for prismatic joints]",
    "dq": "joint velocities [rad/s, m/s]",
    "ddq": "joint accelerations [rad/s^2, m/s^2]",
    "tau": "joint torques [N.m, N]",
    "pi": "parameters, see above [kg, kg.m, kg.m^2, ...]",
    "beta": "base parameters, see above",
    "signal": "measured torque, or current times nominal drive gain [N.m]",
    "memory": "states of what the joint terms remember",
    "gravity": "acceleration of gravity in the base frame [m/s^2]",
    "M": "[kg.m^2], row by row",
    "Y": "row by row",
}


def export_robot(
    robot: Robot,
    out: str | Path,
    functions: Sequence[str] = DEFAULT_FUNCTIONS,
    *,
    parameters: Parameters | ArrayLike | None = None,
    runtime_parameters: RuntimeParameters = "none",
    terms: Sequence[str | JointTerm] = (),
    payload: ArrayLike | None = None,
    frame: str | None = None,
    gravity: ArrayLike | str | None = None,
    prefix: str | None = None,
    batched: bool = False,
    languages: Sequence[str] = (),
    overwrite: bool = False,
) -> ExportedDirectory:
    """Write C functions of a robot's dynamics.

    Parameters
    ----------
    robot
        The robot.
    out
        Folder to make.
    functions
        Names, any of `casid.export.FUNCTIONS`.
    parameters
        As for `casid.Model.parameters`; default: those of the description. With run-time parameters they are only
        used by the self-test.
    runtime_parameters
        ``none``: numbers folded into the code, regrouped so that it needs the fewest operations; ``standard`` or
        ``base``: an argument ``pi`` or ``beta`` of every function that depends on them.
    terms
        Joint terms: viscous, coulomb, offset, rotor.
    payload
        A body added at ``frame``, see `casid.export.with_payload`.
    frame
        Name of a link or frame, for the payload and the operational space; default: the flange or last link.
    gravity
        Three numbers, or ``"input"`` for an argument ``gravity``; default: the robot's.
    prefix
        Beginning of the functions' and files' names; default: the robot's name, other characters as underscores.
    batched
        Add functions for many samples at once (GCC or Clang).
    languages
        Other languages beside C: ``python``, ``julia``.
    overwrite
        Replace files of an earlier export in the same folder.

    Raises
    ------
    ExportError
        If a function is unknown, a name is no C identifier, or the folder exists or cannot be written.
    DatasetError
        If the parameters do not belong to the robot.

    Warns
    -----
    InertiaWarning
        If a function for simulation is exported with parameters that no real robot can have.
    """
    model = Model(robot, terms, gravity)
    frame = robot.flange.name if frame is None else robot.frame(frame).name
    prefix = identifier(robot.name) if prefix is None else check_identifier(prefix, "prefix")
    check_functions(functions)
    check_target(Path(out), overwrite)
    inside = _LINKS.intersection(functions) if runtime_parameters == "base" else ()
    if inside:
        raise ExportError(
            f"'{min(inside)}' depends on more than the base parameters: export it with runtime parameters "
            "'standard' or 'none'"
        )
    values = _values(model, parameters, runtime_parameters)
    if payload is not None:
        values = with_payload(model, values, payload, frame)
    needs_values = runtime_parameters == "none"
    if needs_values and _SIMULATION.intersection(functions):
        warn_if_infeasible(model, values)
    models = _models(model, values, runtime_parameters, frame)
    chosen = build_functions(functions, models)
    arguments = {"pi": values, "beta": model.base.values(values) if runtime_parameters == "base" else values}
    return export_c(
        chosen,
        out,
        prefix=prefix,
        words={name: FUNCTIONS[name].words for name in chosen},
        units=UNITS,
        notes=notes_of(model, values, runtime_parameters, frame, payload),
        samples={name: arguments[name] for name in ("pi", "beta")},
        batched=batched,
        languages=languages,
        overwrite=overwrite,
    )


def default_functions(runtime_parameters: str) -> tuple[str, ...]:
    """`DEFAULT_FUNCTIONS`, with the regressor of the parameters that are an argument."""
    return DEFAULT_FUNCTIONS + {"standard": ("regressor",), "base": ("base_regressor",)}.get(runtime_parameters, ())


def all_functions(robot: Robot, runtime_parameters: str) -> tuple[str, ...]:
    """Every function that exists for a robot in a parametrisation."""
    absent = (_LINKS if runtime_parameters == "base" else set()) | ({"operational_space"} if robot.n < 6 else set())
    return tuple(name for name in FUNCTIONS if name not in absent)


def _values(model: Model, parameters: Parameters | ArrayLike | None, runtime_parameters: str) -> NDArray[np.float64]:
    if runtime_parameters not in ("none", "standard", "base"):
        raise ExportError(f"runtime parameters: 'none', 'standard' or 'base', not '{runtime_parameters}'")
    if parameters is not None:
        return model.parameters(parameters)
    without = [link for link in model.robot.links if link.inertial is None]
    if without and runtime_parameters != "none":
        rng = np.random.default_rng(0)  # any numbers do for the self-test of functions of the parameters
        return rng.uniform(0.1, 1.0, len(model.parameter_names))
    return model.parameters(model.robot.standard_parameters())


def _models(model: Model, values: NDArray[np.float64], runtime_parameters: str, frame: str) -> Parametrised:
    if runtime_parameters == "standard":
        return Parametrised(model, model, frame)
    if runtime_parameters == "base":
        based = model.with_base_parameters()
        return Parametrised(based, based, frame)
    return Parametrised(reduced(model, values), model.with_parameters(values), frame)


def notes_of(
    model: Model, values: NDArray[np.float64], runtime_parameters: str, frame: str, payload: ArrayLike | None
) -> list[str]:
    """Paragraphs for a header: the robot, its parameters, where they come from."""
    robot = model.robot
    gravity = "an argument" if model.gravity_vector is None else f"{_numbers(model.gravity_vector)} m/s^2, base frame"
    notes = [
        f"Robot '{robot.name}', {robot.n} joints: {', '.join(joint.name for joint in robot.joints)}.",
        f"Gravity: {gravity}. Frame for payload and operational space: '{frame}'.",
        f"Joint terms: {', '.join(term.name for term in model.terms) or 'none'}.",
    ]
    notes += [
        f"Licence of the description: {text}." if what == "licence" else f"Source of the {what}: {text}."
        for what, text in robot.source.items()
    ]
    if payload is not None:
        notes.append(f"Payload at '{frame}': {_numbers(np.ravel(payload))} (mass, centre, inertia; kg, m, kg.m^2).")
    if runtime_parameters == "none":
        digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
        notes.append(f"Parameters are folded in; SHA-256 of their {len(values)} doubles begins {digest}.")
        notes.append(f"Parameters: {_named(model.parameter_names, values)}.")
    elif runtime_parameters == "standard":
        names = model.parameter_names
        notes.append(f"Argument pi[{len(names)}]: {_columns(names)}.")
        notes.append("L is the inertia about the link-frame origin, l = m c the first moment, m the mass of each link.")
    else:
        base = model.base
        listed = "; ".join(f"beta[{i}] = {form}" for i, form in enumerate(base.expressions))
        notes.append(f"Argument beta[{base.rank}]: {listed}.")
        notes.append("The kinetic energy and everything else that torques determine depend on beta alone.")
    return notes


def _numbers(values: ArrayLike) -> str:
    return "(" + ", ".join(f"{value:.10g}" for value in np.ravel(values)) + ")"


def _named(names: Sequence[str], values: NDArray[np.float64]) -> str:
    return ", ".join(f"{name}={value:.9g}" for name, value in zip(names, values, strict=True))


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"[{i}] {name}" for i, name in enumerate(names))
