"""The functions of a robot that can be exported by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from casid.dynamics import (
    Model,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    operational_space,
)
from casid.errors import ExportError


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
    """A function by name: what it returns, in words, and how to build it."""

    words: str
    build: Callable[[Parametrised], ca.Function]


FUNCTIONS: dict[str, Exportable] = {
    "inverse_dynamics": Exportable(
        "Joint torques of a motion: tau = M(q) ddq + c(q, dq) + g(q) + joint terms.",
        lambda m: m.torques.inverse_dynamics,
    ),
    "gravity": Exportable("Gravity torques g(q).", lambda m: m.torques.gravity),
    "coriolis": Exportable("Coriolis and centrifugal torques c(q, dq).", lambda m: m.torques.coriolis),
    "coriolis_matrix": Exportable(
        "Matrix C with c = C dq, from the Christoffel symbols: dM/dt - 2 C is skew.",
        lambda m: m.torques.coriolis_matrix,
    ),
    "friction": Exportable("Torques of the joint terms that depend on velocity.", lambda m: m.torques.friction),
    "mass_matrix": Exportable("Joint-space mass matrix M(q), symmetric.", lambda m: m.torques.mass_matrix),
    "inverse_mass_matrix": Exportable(
        "Inverse of the joint-space mass matrix.", lambda m: inverse_mass_matrix(m.torques)
    ),
    "forward_dynamics": Exportable(
        "Joint accelerations: ddq = M^-1 (tau - c - g - joint terms).", lambda m: m.torques.forward_dynamics
    ),
    "inverse_dynamics_derivatives": Exportable(
        "Partial derivatives of the torques with respect to q, dq and ddq (the last is M).",
        lambda m: inverse_dynamics_derivatives(m.torques),
    ),
    "forward_dynamics_derivatives": Exportable(
        "Partial derivatives of the accelerations with respect to q, dq and tau (the last is M^-1).",
        lambda m: forward_dynamics_derivatives(m.torques),
    ),
    "operational_space": Exportable(
        "At the frame named above: Jacobian J, dJ/dt dq, and Lambda, mu, p of Lambda xdd + mu + p = F. Not in singular "
        "postures.",
        lambda m: operational_space(m.torques, m.frame, m.links),
    ),
    "regressor": Exportable("Regressor Y of the standard parameters: tau = Y pi.", lambda m: m.links.regressor),
    "base_regressor": Exportable("Regressor Y of the base parameters: tau = Y beta.", lambda m: m.links.base_regressor),
    "static_regressor": Exportable(
        "Regressor of [rows of the lower triangle of M; g] in the standard parameters.",
        lambda m: m.links.static_regressor,
    ),
    "joint_wrenches": Exportable(
        "Force [N] and moment [N.m] that the parent exerts on each link, one column a joint, in the joint's frame.",
        lambda m: m.links.joint_wrenches,
    ),
    "kinetic_energy": Exportable("Kinetic energy [J].", lambda m: m.links.kinetic_energy),
    "potential_energy": Exportable("Potential energy [J].", lambda m: m.links.potential_energy),
    "forward_kinematics": Exportable(
        "Placement (4 x 4) of every link frame in the base frame.", lambda m: m.links.forward_kinematics
    ),
    "jacobian": Exportable(
        "Geometric Jacobian (6 x n) of every link frame: linear velocity, then angular velocity, in base axes.",
        lambda m: m.links.jacobian,
    ),
}  # fmt: skip


def check_functions(names: Sequence[str]) -> None:
    """ExportError for an unknown name, or none at all."""
    for name in names:
        if name not in FUNCTIONS:
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise ExportError(f"unknown function '{name}'; {hint}known: {', '.join(FUNCTIONS)}")
    if not names:
        raise ExportError(f"no function to export; known: {', '.join(FUNCTIONS)}")


def build_functions(names: Sequence[str], models: Parametrised) -> dict[str, ca.Function]:
    """The named functions, each once."""
    check_functions(names)
    return {name: FUNCTIONS[name].build(models) for name in dict.fromkeys(names)}
