"""Constraints on link quantities: one file a kind, and any CasADi expression with bounds (`Constraint`)."""

from casid.retrieval.constraints.bounds import robot_bounds, sensible_bounds
from casid.retrieval.constraints.com_box import ComBox, com_box
from casid.retrieval.constraints.consistency import (
    DEFAULT_MARGIN,
    ConsistencyKind,
    PhysicalConsistency,
    consistency_cone,
    no_consistency,
    pseudo_inertia,
    spatial_inertia,
    triangle_inequality,
)
from casid.retrieval.constraints.constraint import Constraint, ScalarRow, Setting
from casid.retrieval.constraints.facts import Facts
from casid.retrieval.constraints.gyration import GyrationBound, gyration_bound
from casid.retrieval.constraints.inertia_bounds import InertiaBounds, inertia_bounds
from casid.retrieval.constraints.mass import MassBounds, TotalMass, mass_bounds, total_mass
from casid.retrieval.constraints.soften import soften

__all__ = [
    "DEFAULT_MARGIN",
    "ComBox",
    "ConsistencyKind",
    "Constraint",
    "Facts",
    "GyrationBound",
    "InertiaBounds",
    "MassBounds",
    "PhysicalConsistency",
    "ScalarRow",
    "Setting",
    "TotalMass",
    "com_box",
    "consistency_cone",
    "gyration_bound",
    "inertia_bounds",
    "mass_bounds",
    "no_consistency",
    "pseudo_inertia",
    "robot_bounds",
    "sensible_bounds",
    "soften",
    "spatial_inertia",
    "total_mass",
    "triangle_inequality",
]
