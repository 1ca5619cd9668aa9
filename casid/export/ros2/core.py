"""The C core of the package: two functions that everything else is a call of."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model, reduced
from casid.errors import ExportError
from casid.export.robot import UNITS as ROBOT_UNITS

Array = NDArray[np.float64]

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
        With all its joint terms.
    values
        Its parameters, shape (N,).

    Raises
    ------
    ExportError
        If friction depends on more than velocities (the interface passes nothing else), or on the acceleration.
    """
    if model.friction.n_in() > 2:
        raise ExportError(
            f"robot '{model.robot.name}': friction depends on joint positions, which getFrictionVector(velocities) of "
            "the inverse_dynamics_solver interface does not pass; export without those terms"
        )
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
