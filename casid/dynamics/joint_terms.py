"""Joint-side effects that are linear in one parameter a joint: friction and rotor inertia.

Each adds a column a joint to the regressor, behind the link's ten (Gaz et al. 2019, eq. 24; Sousa 2014, eq. 4.9-4.11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from casid.errors import RobotError


@dataclass(frozen=True)
class JointTerm:
    """A torque ``parameter * column(dq, ddq)`` at every joint.

    Attributes
    ----------
    name : str
        What a user writes.
    symbol : str
        Prefix of the parameter's name: ``fv`` gives ``fv1 ... fv<n>``.
    unit : str
        Unit of the parameter at a revolute joint.
    column : callable
        ``(dq_k, ddq_k) -> SX``.
    """

    name: str
    symbol: str
    unit: str
    column: Callable[[ca.SX, ca.SX], ca.SX]


#: The known terms, in the order in which their parameters follow a link's ten.
JOINT_TERMS: dict[str, JointTerm] = {
    term.name: term
    for term in (
        JointTerm("viscous", "fv", "N.m.s/rad", lambda dq, ddq: dq),
        JointTerm("coulomb", "fc", "N.m", lambda dq, ddq: ca.sign(dq)),
        JointTerm("offset", "fo", "N.m", lambda dq, ddq: ca.SX(1)),
        JointTerm("rotor", "Ia", "kg.m^2", lambda dq, ddq: ddq),
    )
}


def joint_terms(names: Sequence[str]) -> tuple[JointTerm, ...]:
    """The named terms, in the declared order of `JOINT_TERMS`; RobotError for an unknown name."""
    for name in names:
        if name not in JOINT_TERMS:
            raise RobotError(f"unknown joint term '{name}'; known: {', '.join(JOINT_TERMS)}")
    return tuple(term for name, term in JOINT_TERMS.items() if name in names)
