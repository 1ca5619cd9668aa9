"""The functions of a robot that can be exported by name; bodies added to it."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import Operations, check_identifier, identifier, operation_count
from casid.description import Robot
from casid.dynamics import (
    Model,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    operational_space,
    reduced,
)
from casid.errors import DatasetError, ExportError, InertiaWarning, RobotError
from casid.export._directory import ExportedDirectory, export_c
from casid.files import check_target, near
from casid.inertia import Parameters, consistency, express_in, tensor, to_standard


def with_payload(model: Model, parameters: Array, payload: ArrayLike, frame: str) -> Array:
    """Parameters of the robot with a body fixed to one of its frames.

    Parameters
    ----------
    payload
        ``mass, cx, cy, cz`` and optionally the inertia about the centre of mass ``Ixx Ixy Ixz Iyy Iyz Izz``, in the
        axes of the frame [kg, m, kg.m^2].
    frame
        Name of a link or frame that moves.

    Raises
    ------
    DatasetError
        For numbers that are no payload.
    RobotError
        For a frame of the base.
    """
    values = np.array(payload, dtype=float).ravel()
    if len(values) not in (4, 10) or not np.isfinite(values).all() or values[0] < 0:
        raise DatasetError(
            "payload: give mass,cx,cy,cz or mass,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz (kg, m, kg.m^2, finite, mass >= 0), "
            f"got {values.tolist()}"
        )
    inertia = tensor(values[4:]) if len(values) == 10 else np.zeros((3, 3))
    hung = model.robot.frame(frame)
    joint, placement = hung.joint, hung.placement
    if joint < 0:
        raise RobotError(
            f"robot '{model.robot.name}': frame '{hung.name}' is fixed to the base, where a payload changes no torque; "
            "give a frame of a link that moves"
        )
    result: Array = parameters.copy()
    body = express_in(to_standard(values[0], values[1:4], inertia), placement[:3, :3], placement[:3, 3])
    result[list(model.link_columns[joint])] += body
    return result


def warn_if_infeasible(model: Model, parameters: Array) -> None:
    """An InertiaWarning for links that no real body can have: a simulation with them may not behave."""
    for k, link in enumerate(model.robot.links):
        complaint = consistency(parameters[list(model.link_columns[k])]).complaint()
        if complaint:
            warnings.warn(
                f"robot '{model.robot.name}', link '{link.name}': {complaint}; the mass matrix M(q) may not be "
                "positive definite, and forward dynamics and everything else with its inverse may diverge",
                InertiaWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class Parametrised:
    """The models behind an export.

    Attributes
    ----------
    torques : Model
        For everything that only torques depend on; may be an equivalent model with moved frames.
    links : Model
        For everything that refers to the links themselves.
    frame : str
        Where operational-space quantities are taken.
    """

    torques: Model
    links: Model
    frame: str


@dataclass(frozen=True)
class Exportable:
    """A function: what it returns, in words; the model that has it under its name, or how to build it."""

    words: str
    of: Literal["torques", "links"] | Callable[[Parametrised], ca.Function] = "torques"

    def build(self, name: str, models: Parametrised) -> ca.Function:
        """The function of that name."""
        function: ca.Function = getattr(getattr(models, self.of), name) if isinstance(self.of, str) else self.of(models)
        return function


FUNCTIONS: dict[str, Exportable] = {
    "inverse_dynamics": Exportable("Joint torques of a motion: tau = M(q) ddq + c(q, dq) + g(q) + joint terms."),
    "gravity": Exportable("Gravity torques g(q)."),
    "coriolis": Exportable("Coriolis and centrifugal torques c(q, dq)."),
    "coriolis_matrix": Exportable("Matrix C with c = C dq, from the Christoffel symbols: dM/dt - 2 C is skew."),
    "friction": Exportable("Torques of the joint terms that depend on velocity."),
    "mass_matrix": Exportable("Joint-space mass matrix M(q), symmetric."),
    "inverse_mass_matrix": Exportable(
        "Inverse of the joint-space mass matrix.", lambda m: inverse_mass_matrix(m.torques)
    ),
    "forward_dynamics": Exportable("Joint accelerations: ddq = M^-1 (tau - c - g - joint terms)."),
    "inverse_dynamics_derivatives": Exportable(
        "Partial derivatives of the torques with respect to q, dq and ddq (the last is M).",
        lambda m: inverse_dynamics_derivatives(m.torques),
    ),
    "forward_dynamics_derivatives": Exportable(
        "Partial derivatives of the accelerations with respect to q, dq and tau (the last is M^-1).",
        lambda m: forward_dynamics_derivatives(m.torques),
    ),
    "operational_space": Exportable(
        "At frame @frame: Jacobian J, dJ/dt dq, and Lambda, mu, p of Lambda xdd + mu + p = F. Not in singular "
        "postures.",
        lambda m: operational_space(m.torques, m.frame, m.links),
    ),
    "regressor": Exportable("Regressor Y of the standard parameters: tau = Y pi.", "links"),
    "base_regressor": Exportable("Regressor Y of the base parameters: tau = Y beta.", "links"),
    "static_regressor": Exportable(
        "Regressor of [rows of the lower triangle of M; g] in the standard parameters.", "links"
    ),
    "joint_wrenches": Exportable(
        "Force [N] and moment [N.m] that the parent exerts on each link, one column a joint, in the joint's frame.",
        "links",
    ),
    "kinetic_energy": Exportable("Kinetic energy [J].", "links"),
    "potential_energy": Exportable("Potential energy [J].", "links"),
    "forward_kinematics": Exportable("Placement (4 x 4) of every link frame in the base frame.", "links"),
    "jacobian": Exportable(
        "Geometric Jacobian (6 x n) of every link frame: linear velocity, then angular velocity, in base axes.", "links"
    ),
}


#: What most controllers and simulators need.
DEFAULT_FUNCTIONS = ("inverse_dynamics", "gravity", "coriolis", "mass_matrix", "forward_dynamics")
#: Functions that divide by the mass matrix or simulate with it.
_SIMULATION = {
    "forward_dynamics", "inverse_mass_matrix", "forward_dynamics_derivatives", "operational_space", "mass_matrix",
}  # fmt: skip
#: Functions of what happens inside the links, which base parameters do not determine.
_LINKS = {"joint_wrenches", "potential_energy"}
#: Meaning, frame and unit of arguments, by name; of all names that begin so, where it ends in `_`.
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
    "g": "joint torques [N.m, N]",
    "c": "joint torques [N.m, N]",
    "M": "between joints [kg.m^2, kg.m, kg], row by row",
    "C": "between joints: times dq [rad/s, m/s] joint torques [N.m, N], row by row",
    "Minv": "between joints: times joint torques [N.m, N] joint accelerations [rad/s^2, m/s^2], row by row",
    "Y": "one row a torque [N.m, N], one column a parameter; of static_regressor the rows of M [kg.m^2] first",
    "dtau_": "row: torque [N.m, N]; column: what it is differentiated by [rad, rad/s, rad/s^2; m, ...]",
    "dddq_": "row: acceleration [rad/s^2, m/s^2]; column: what it is differentiated by [rad, rad/s, N.m; m, ...]",
    "J": "linear velocity of the frame's origin [m/s], then angular velocity [rad/s], axes of the base frame",
    "dJdq": "linear acceleration of the frame's origin [m/s^2], then angular [rad/s^2], axes of the base frame",
    "Lambda": "from linear and angular acceleration to force [N] and moment about the frame's origin [N.m], base axes",
    "mu": "force [N], then moment about the frame's origin [N.m], axes of the base frame",
    "p": "force [N], then moment about the frame's origin [N.m], axes of the base frame",
    "w": "force [N], then moment [N.m] about the origin and in the axes of the moved joint frame",
    "T": "[J]",
    "U": "[J], zero with all mass at the origin of the base frame",
    "T_": "from coordinates in the link's frame to those in the base frame [m]",
    "J_": "linear velocity of the link frame's origin [m/s], then angular [rad/s], axes of the base frame",
}


def export_robot(
    robot: Robot | Model,
    out: str | Path,
    functions: Sequence[str] = DEFAULT_FUNCTIONS,
    *,
    parameters: Parameters | ArrayLike | None = None,
    runtime_parameters: Literal["none", "standard", "base"] = "none",
    payload: ArrayLike | None = None,
    frame: str | None = None,
    prefix: str | None = None,
    batched: bool = False,
    languages: Sequence[str] = (),
    overwrite: bool = False,
) -> ExportedDirectory:
    """Write C functions of a robot's dynamics.

    Parameters
    ----------
    robot
        The robot, or a `casid.Model` of it with joint terms and a gravity of its own; with ``gravity="input"``, gravity
        is an argument ``gravity``.
    out
        Folder to make.
    functions
        Names, any of `FUNCTIONS`.
    parameters
        As for `casid.Model.parameters`; default: those of the description. With run-time parameters they are only
        used by the self-test.
    runtime_parameters
        ``none``: numbers folded into the code, regrouped so that it needs the fewest operations; ``standard`` or
        ``base``: an argument ``pi`` or ``beta`` of every function that depends on them.
    payload
        A body added at ``frame``, see `casid.export._robot.with_payload`.
    frame
        Name of a link or frame, for the payload and the operational space; default: the flange or last link.
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
    model = model_of(robot)
    robot = model.robot
    frame = robot.flange.name if frame is None else robot.frame(frame).name
    prefix = identifier(robot.name) if prefix is None else check_identifier(prefix, "prefix")
    for name in functions:
        if name not in FUNCTIONS:
            raise ExportError(f"unknown function '{name}'{near(name, FUNCTIONS) or ';'} known: {', '.join(FUNCTIONS)}")
    check_target(Path(out), overwrite)
    inside = _LINKS.intersection(functions) if runtime_parameters == "base" else ()
    if inside:
        raise ExportError(
            f"'{min(inside)}' depends on more than the base parameters: export it with runtime parameters "
            "'standard' or 'none'"
        )
    values = _values(model, parameters, runtime_parameters, anything=payload is None)
    if payload is not None:
        values = with_payload(model, values, payload, frame)
    needs_values = runtime_parameters == "none"
    if needs_values and _SIMULATION.intersection(functions):
        warn_if_infeasible(model, values)
    models = _models(model, values, runtime_parameters, frame)
    chosen = {name: FUNCTIONS[name].build(name, models) for name in dict.fromkeys(functions)}
    arguments = {"pi": values, "beta": model.base.values(values) if runtime_parameters == "base" else values}
    return export_c(
        chosen, out, prefix, words={name: FUNCTIONS[name].words.replace("@frame", f"'{frame}'") for name in chosen},
        units=UNITS,
        notes=notes_of(model, values, runtime_parameters, frame, payload), samples=arguments,
        robot=robot, batched=batched, languages=languages, overwrite=overwrite,
    )  # fmt: skip


def model_of(robot: Robot | Model) -> Model:
    """A model as it is; of a robot, the model without joint terms."""
    return robot if isinstance(robot, Model) else Model(robot)


def default_functions(runtime_parameters: str) -> tuple[str, ...]:
    """`DEFAULT_FUNCTIONS`, with the regressor of the parameters that are an argument."""
    return DEFAULT_FUNCTIONS + {"standard": ("regressor",), "base": ("base_regressor",)}.get(runtime_parameters, ())


def all_functions(robot: Robot, runtime_parameters: str) -> tuple[str, ...]:
    """Every function that exists for a robot in a parametrisation."""
    absent = (_LINKS if runtime_parameters == "base" else set()) | ({"operational_space"} if robot.n < 6 else set())
    return tuple(name for name in FUNCTIONS if name not in absent)


def _values(model: Model, parameters: Parameters | ArrayLike | None, runtime_parameters: str, anything: bool) -> Array:
    if runtime_parameters not in ("none", "standard", "base"):
        raise ExportError(f"runtime parameters: 'none', 'standard' or 'base', not '{runtime_parameters}'")
    if parameters is not None:
        return model.parameters(parameters)
    without = [link for link in model.robot.links if link.inertial is None]
    if without and runtime_parameters != "none" and anything:
        rng = np.random.default_rng(0)  # any numbers do for the self-test of functions of the parameters
        return rng.uniform(0.1, 1.0, len(model.parameter_names))
    return model.parameters(model.robot.standard_parameters())


def _models(model: Model, values: Array, runtime_parameters: str, frame: str) -> Parametrised:
    if runtime_parameters == "standard":
        return Parametrised(model, model, frame)
    if runtime_parameters == "base":
        based = model.with_base_parameters()
        return Parametrised(based, based, frame)
    return Parametrised(reduced(model, values), model.with_parameters(values), frame)


def notes_of(model: Model, values: Array, runtime_parameters: str, frame: str, payload: ArrayLike | None) -> list[str]:
    """Paragraphs for a header: the robot, its parameters, where they come from."""
    notes = [*described(model), f"Frame for payload and operational space: '{frame}'."]
    if payload is not None:
        notes.append(f"Payload at '{frame}': {numbered(np.ravel(payload))} (mass, centre, inertia; kg, m, kg.m^2).")
    if runtime_parameters == "none":
        return notes + folded(model, values, "Parameters")
    if runtime_parameters == "standard":
        argument, given = "pi", values
        listed = ", ".join(f"[{i}] {name}" for i, name in enumerate(model.parameter_names))
        notes.append(f"Argument pi[{len(values)}]: {listed}.")
        notes.append("L is the inertia about the link-frame origin, l = m c the first moment, m the mass of each link.")
    else:
        base = model.base
        argument, given = "beta", base.values(values)
        listed = "; ".join(f"beta[{i}] = {form}" for i, form in enumerate(base.expressions))
        notes.append(f"Argument beta[{base.rank}]: {listed}.")
        notes.append("The kinetic energy and everything else that torques determine depend on beta alone.")
    if payload is not None:
        listed = ", ".join(repr(float(value)) for value in given)
        notes.append(f"The code adds no payload: it is part of {argument}. With it, {argument} = {{{listed}}}.")
    return notes


def described(model: Model) -> list[str]:
    """Paragraphs for a header: robot, gravity, joint terms, licence and sources."""
    robot = model.robot
    gravity = "an argument" if model.gravity_vector is None else f"{numbered(model.gravity_vector)} m/s^2, base frame"
    return [
        f"Robot '{robot.name}', {robot.n} joints: {', '.join(joint.name for joint in robot.joints)}.",
        f"Gravity: {gravity}.",
        f"Joint terms: {', '.join(term.name for term in model.terms) or 'none'}.",
        *(
            f"Licence of the description: {text}." if what == "licence" else f"Source of the {what}: {text}."
            for what, text in robot.source.items()
        ),
    ]


def folded(model: Model, values: Array, what: str) -> list[str]:
    """Paragraphs for a header: parameters that are numbers in the code."""
    digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
    named = ", ".join(f"{name}={value:.9g}" for name, value in zip(model.parameter_names, values, strict=True))
    return [f"{what} are folded in; SHA-256 of their {len(values)} doubles begins {digest}.", f"{what}: {named}."]


def numbered(values: ArrayLike) -> str:
    """Numbers in brackets."""
    return "(" + ", ".join(f"{value:.10g}" for value in np.ravel(values)) + ")"


#: Inverse dynamics generated by SymPyBotics (Sousa 2014, Table 7.1), by robot; joint terms are not stated there.
PUBLISHED = {
    "stanford": Operations(multiplications=477, additions=393),
    "puma560": Operations(multiplications=576, additions=454),
    "wam7": Operations(multiplications=626, additions=493),
}


def count_robot(model: Model) -> list[tuple[str, Operations]]:
    """Operation counts of a model's functions, as (label, counts).

    Standard parameters as an argument, base parameters as an argument, and numbers folded in. The counts do not depend
    on the numbers unless some are zero, so random ones stand for them.
    """
    numbers = np.random.default_rng(1).uniform(0.1, 1.0, len(model.parameter_names))
    based, given = model.with_base_parameters(), reduced(model, numbers)
    rows = [
        ("inverse dynamics, standard parameters", model.inverse_dynamics),
        ("inverse dynamics, base parameters", based.inverse_dynamics),
        ("inverse dynamics, numbers", given.inverse_dynamics),
        ("gravity, numbers", given.gravity),
        ("mass matrix, numbers", given.mass_matrix),
        ("forward dynamics, numbers", given.forward_dynamics),
        ("regressor", model.regressor),
        ("base regressor", model.base_regressor),
    ]
    counts = [(label, operation_count(function)) for label, function in rows]
    if model.robot.name in PUBLISHED:
        counts.append(("inverse dynamics, published (Sousa 2014, Table 7.1)", PUBLISHED[model.robot.name]))
    return counts
