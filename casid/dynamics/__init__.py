"""The graphs: kinematics, Newton-Euler, mass matrix, energies, joint terms, base parameters, and `Model`."""

from casid.dynamics.base_parameters import BaseParameters, base_parameters, linear_form, regroup
from casid.dynamics.joint_terms import JOINT_TERMS, JointSignals, JointTerm, joint_terms
from casid.dynamics.model import Model
from casid.dynamics.reduced import reduced

__all__ = [
    "JOINT_TERMS",
    "BaseParameters",
    "JointSignals",
    "JointTerm",
    "Model",
    "base_parameters",
    "joint_terms",
    "linear_form",
    "reduced",
    "regroup",
]
