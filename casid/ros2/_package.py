"""A colcon package: templates with their values, the C core of two functions, the robot as URDF."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import identifier
from casid.description import Robot, write_robot
from casid.dynamics import Model, reduced
from casid.errors import CasidWarning, ExportError
from casid.export import UNITS as ROBOT_UNITS
from casid.export import export_c, model_of, notes_of, rest, warn_if_infeasible, with_payload
from casid.files import check_target, filled, listed, read_text, template, write_directory
from casid.inertia import Parameters
from casid.version import __version__

#: What the core's functions return.
WORDS = {
    "rigid_torques": "Torques of the links and rotors: tau = M(q) ddq + c(q, dq) + gravity * g(q).",
    "friction": "Torques of the joint terms that depend on velocity.",
}
#: Meaning and unit of their arguments.
UNITS = {**ROBOT_UNITS, "gravity": "factor of the gravity torques: 1, or 0 without them"}


def core_functions(model: Model, values: Array) -> dict[str, ca.Function]:
    """``rigid_torques(q, dq, ddq, gravity) -> tau`` and ``friction(dq) -> tau``, parameters folded in.

    ``gravity`` is a factor, 1 or 0, so that one function gives every part of the equation of motion: gravity torques at
    rest; Coriolis torques without gravity and acceleration; column k of the mass matrix for the unit acceleration k
    (Walker and Orin 1982, method 1); and, with friction added, inverse dynamics. That is a third of the source of a
    function each, for a mass matrix that takes n calls.

    Parameters
    ----------
    model
        With joint terms that depend on no position.
    values
        Its parameters, shape (N,).

    Raises
    ------
    ExportError
        If a term depends on the acceleration.
    """
    rotors = tuple(term for term in model.terms if term.inertial)
    others = Model(model.robot, [term for term in model.terms if not term.inertial])
    symbols = others.symbols()
    if ca.depends_on(symbols.term_torque(symbols.ddq), symbols.ddq):
        raise ExportError(
            f"robot '{model.robot.name}': a joint term depends on the acceleration, which neither the mass matrix nor "
            "getFrictionVector(velocities) of the inverse_dynamics_solver interface can hold; export without it"
        )
    rigid = Model(model.robot, rotors, model.gravity_vector)
    columns = [model.parameter_names.index(name) for name in rigid.parameter_names]
    return {
        "rigid_torques": _rigid_torques(reduced(rigid, values[columns])),
        "friction": model.with_parameters(values).friction,
    }


def _rigid_torques(model: Model) -> ca.Function:
    """A model's inverse dynamics with its gravity times a factor.

    What regrouped parameters leave unchanged they leave unchanged for every factor: torques are affine in gravity.
    """
    given = model.gravity_vector
    if given is None:
        raise ExportError(f"robot '{model.robot.name}': a ROS 2 package takes gravity as three numbers")
    symbols = model.symbols()
    symbols.gravity = ca.SX.sym("gravity", 3)
    names = ["q", "dq", "ddq", "gravity"]
    function = symbols.function("rigid_torques", names, {"tau": symbols.torque()})
    q, dq, ddq = (ca.SX.sym(name, model.n) for name in names[:3])
    factor = ca.SX.sym("gravity")
    torque = function(q, dq, ddq, factor * ca.SX(ca.DM(given)))
    return ca.Function("rigid_torques", [q, dq, ddq, factor], [torque], names, ["tau"], {"cse": True})


#: Template -> its place in the package; the first folder of headers is named like the package.
_PLACES = {
    "CMakeLists.txt": "CMakeLists.txt",
    "README.md": "README.md",
    "package.xml": "package.xml",
    "solver_plugin.xml": "solver_plugin.xml",
    "controller_plugin.xml": "controller_plugin.xml",
    "solver.hpp": "include/@package@/solver.hpp",
    "dynamics.hpp": "src/dynamics.hpp",
    "solver.cpp": "src/solver.cpp",
    "controller.hpp": "include/@package@/computed_torque_controller.hpp",
    "controller.cpp": "src/computed_torque_controller.cpp",
    "test_solver.cpp": "test/test_solver.cpp",
    "controllers.yaml": "config/controllers.yaml",
    "controller.launch.py.in": "launch/controller.launch.py",
}
#: Random states that the package's own test compares at: as many as that of the C core.
_CASES = 4


@dataclass(frozen=True)
class ExportedPackage:
    """What an export wrote.

    Attributes
    ----------
    path : Path
        The package's folder, to be placed in the ``src`` of a workspace.
    name : str
        Name of the package.
    files : tuple of str
        Its files.
    """

    path: Path
    name: str
    files: tuple[str, ...]


def export_ros2(
    robot: Robot | Model,
    out: str | Path,
    *,
    parameters: Parameters | ArrayLike | None = None,
    payload: ArrayLike | None = None,
    frame: str | None = None,
    package: str | None = None,
    overwrite: bool = False,
) -> ExportedPackage:
    """Write a ROS 2 package with a robot's dynamics.

    It holds a plugin of ``inverse_dynamics_solver::InverseDynamicsSolver`` (mass matrix, Coriolis, gravity, friction
    and torques), a computed-torque controller of ros2_control, a launch file with the robot as URDF, and tests that
    compare the compiled values with `casid.Model`.

    Parameters
    ----------
    robot, parameters, payload, frame
        As for `casid.export.export_robot`; gravity is folded in.
    out
        Folder to make.
    package
        Name of the package; default: the folder's name.
    overwrite
        Replace files of an earlier export in the same folder.

    Raises
    ------
    ExportError
        If the package's name is none that ROS 2 allows, a term depends on the acceleration, or the folder exists or
        cannot be written.
    DatasetError
        If the parameters do not belong to the robot.

    Warns
    -----
    CasidWarning
        If there is no friction term: ``getFrictionVector`` then returns zeros; of terms that depend on positions, such
        as friction by load, which are left out, since the interface passes none.

    References
    ----------
    V. Petrone, E. Ferrentino, P. Chiacchio, "A ROS2-based software library for inverse dynamics computation", 2025.
    """
    target = Path(out)
    package = _package_name(target.name if package is None else package)
    check_target(target, overwrite)
    model = model_of(robot)
    robot = model.robot
    values = model.parameters(robot.standard_parameters() if parameters is None else parameters)
    if payload is not None:
        values = with_payload(model, values, payload, frame or robot.flange.name)
    model, values = _without_positions(model, values)
    functions = core_functions(model, values)
    _warn(model, values)
    core, notes = identifier(robot.name), notes_of(model, values, "none", frame or robot.flange.name, payload)
    contents = _core_files(model, values, functions, core, notes)
    slots = _slots(robot, model, package, core) | _test_values(model, values)
    contents |= {filled(spot, slots): template(__package__, name, slots) for name, spot in _PLACES.items()}
    write_directory(target, contents, overwrite=overwrite)
    return ExportedPackage(target, package, tuple(contents))


def _without_positions(model: Model, values: Array) -> tuple[Model, Array]:
    """The model and its parameters without the terms that ``getFrictionVector(velocities)`` cannot hold."""
    if model.friction.n_in() <= 2:
        return model, values
    terms = [term for term in model.terms if Model(model.robot, [term]).friction.n_in() <= 2]
    kept = Model(model.robot, terms, model.gravity_vector)
    left = [name for name in model.parameter_names if name not in kept.parameter_names]
    warnings.warn(
        f"robot '{model.robot.name}': {listed(left)} left out of the package: they depend on joint positions, which "
        "getFrictionVector(velocities) of the inverse_dynamics_solver interface does not pass; the C code that "
        "`casid export` writes without --ros2 keeps them",
        CasidWarning,
        stacklevel=3,
    )
    return kept, values[[model.parameter_names.index(name) for name in kept.parameter_names]]


def _warn(model: Model, values: Array) -> None:
    """Warnings of infeasible parameters and of missing friction."""
    warn_if_infeasible(model, values)
    if not any(term.dissipative for term in model.terms):
        warnings.warn(
            f"robot '{model.robot.name}' is exported without friction: getFrictionVector returns "
            f"{'the offsets alone' if model.terms else 'zeros'}; give a Model with friction terms and parameters of it",
            CasidWarning,
            stacklevel=3,
        )


def _core_files(
    model: Model, values: Array, functions: Mapping[str, ca.Function], core: str, notes: Sequence[str]
) -> dict[str, bytes | str]:
    """The C core with its self-test, and the robot as URDF."""
    robot = model.robot
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        export_c(functions, place / "core", core, words=WORDS, units=UNITS, notes=notes, robot=robot)
        write_robot(robot.with_parameters(model.named(values)), place / f"{core}.urdf")
        urdf = read_text(place / f"{core}.urdf", "robot", ExportError)
        return {
            f"src/{core}.c": read_text(place / "core" / f"{core}.c", "source", ExportError),
            f"src/{core}.h": read_text(place / "core" / f"{core}.h", "header", ExportError),
            "test/self_test.c": read_text(place / "core" / "self_test.c", "source", ExportError),
            f"urdf/{core}.urdf": _with_control(urdf, robot),
            **{name: read_text(place / "core" / name, name, ExportError) for name in ("LICENSE", "FRAMES.md")},
        }


def _package_name(name: str) -> str:
    if not re.fullmatch(r"[a-z](?:_?[a-z0-9])+", name):
        raise ExportError(
            f"'{name}' is no name of a ROS 2 package (lower-case letters, digits and single underscores, a letter "
            "first); choose another folder or give the package's name"
        )
    return name


def _slots(robot: Robot, model: Model, package: str, core: str) -> dict[str, str]:
    names = [joint.name for joint in robot.coordinates]
    return {
        "version": __version__,
        "package": package,
        "core": core,
        "robot": _plain(robot.name),
        "robot_xml": escape(robot.name),
        "licence_xml": escape(str(robot.source.get("licence", "Proprietary"))),
        "n": str(robot.n),
        "joint_list": _plain(", ".join(names)),
        "joint_strings": ", ".join(json.dumps(name) for name in names),
        "efforts": ", ".join(repr(float(e)) if np.isfinite(e) else "0.0" for e in robot.limits.effort),
        "terms": ", ".join(term.name for term in model.terms) or "none",
        "cases": str(_CASES),
    }


def _plain(text: str) -> str:
    """A text that may stand in a comment."""
    return " ".join(text.replace("*/", "* /").replace("\\", "/").split())


def _test_values(model: Model, pi: Array) -> dict[str, str]:
    """States and the values of the graph there, as rows of C initialisers."""
    rng = np.random.default_rng(20190704)
    q, dq, ddq = rng.uniform(-1.5, 1.5, (3, _CASES, model.n))

    def rows(*columns: ArrayLike) -> str:
        return "".join(
            "  {" + ", ".join(repr(float(v)) for v in np.ravel(np.array(row, dtype=float))) + "},\n" for row in columns
        )

    states = list(zip(q, dq, ddq, strict=True))
    return {
        "positions": rows(*q),
        "velocities": rows(*dq),
        "accelerations": rows(*ddq),
        "inertia": rows(*(model.mass_matrix(a, pi) for a, _, _ in states)),
        "coriolis": rows(*(model.coriolis(a, b, pi) for a, b, _ in states)),
        "gravity": rows(*(model.gravity(a, pi) for a, _, _ in states)),
        "friction": rows(*(model.friction(b, pi) for _, b, _ in states)),
        "torques": rows(*(model.inverse_dynamics(a, b, c, pi) for a, b, c in states)),
    }


def _with_control(urdf: str, robot: Robot) -> str:
    """The robot's URDF with a ros2_control block of mock hardware: effort in, position and velocity out."""
    joints = "".join(
        f'    <joint name="{escape(joint.name)}">\n      <command_interface name="effort"/>\n'
        f'      <state_interface name="position"><param name="initial_value">{q:.9g}</param></state_interface>\n'
        '      <state_interface name="velocity"/>\n    </joint>\n'
        for joint, q in zip(robot.coordinates, rest(robot), strict=True)
    )
    head, close, tail = urdf.rpartition("</robot>")
    return f"{head}{template(__package__, 'ros2_control.xml', {'joints': joints})}{close}{tail}"
