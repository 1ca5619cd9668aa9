"""The graphs: kinematics, Newton-Euler, mass matrix, energies, joint terms, base parameters, and `Model`."""

from casid.dynamics.base_parameters import BaseParameters, base_parameters, linear_form, regroup
from casid.dynamics.equation_of_motion import dry_friction_directions, dry_friction_places, equation_of_motion
from casid.dynamics.joint_terms import JOINT_TERMS, JointSignals, JointTerm, joint_terms, terms_of
from casid.dynamics.memory import Memory
from casid.dynamics.model import Model
from casid.dynamics.observer import momentum_observer
from casid.dynamics.reduced import reduced

__all__ = [
    "JOINT_TERMS",
    "BaseParameters",
    "JointSignals",
    "JointTerm",
    "Memory",
    "Model",
    "base_parameters",
    "dry_friction_directions",
    "dry_friction_places",
    "equation_of_motion",
    "joint_terms",
    "linear_form",
    "momentum_observer",
    "reduced",
    "regroup",
    "terms_of",
]
