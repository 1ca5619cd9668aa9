"""Physically consistent parameters from data, under any constraint, with a certificate of how good they are."""

from casid.inertia._cones import ConsistencyCone, Free, Full, Semi
from casid.retrieval.bound.certificate import Certificate, Search, lower_bound
from casid.retrieval.branches import Branch, branch_problems, branches_at
from casid.retrieval.builders.known_links import (
    axisymmetric_link,
    body_in_ellipsoid,
    equal_links,
    symmetric_link,
    with_cad_prior,
    without_payload,
)
from casid.retrieval.builders.mesh import read_stl
from casid.retrieval.builders.priors import Prior
from casid.retrieval.builders.shapes import (
    com_in_cone,
    com_in_cylinder,
    com_in_ellipsoid,
    com_in_hull,
    com_in_sphere,
    either,
)
from casid.retrieval.coefficients import Coefficients
from casid.retrieval.conflict import Conflict, InfeasibleError
from casid.retrieval.constraints import (
    ComBox,
    Constraint,
    Facts,
    GyrationBound,
    InertiaBounds,
    MassBounds,
    PhysicalConsistency,
    ScalarRow,
    Setting,
    TotalMass,
    com_box,
    gyration_bound,
    inertia_bounds,
    mass_bounds,
    no_consistency,
    pseudo_inertia,
    robot_bounds,
    sensible_bounds,
    soften,
    spatial_inertia,
    total_mass,
    triangle_inequality,
)
from casid.retrieval.gap import relative_gap
from casid.retrieval.insight.explain import Explanation, explain
from casid.retrieval.insight.intervals import Intervals, ParameterInterval, parameter_intervals
from casid.retrieval.insight.tolerance import indistinguishable
from casid.retrieval.insight.what_if import WhatIf, weigh_each_link, what_if
from casid.retrieval.load import load_constraints, load_problem, problem_names
from casid.retrieval.methods.annealing import SimulatedAnnealing
from casid.retrieval.methods.branches import Branches, BranchSolution
from casid.retrieval.methods.closing import close_gap
from casid.retrieval.methods.direct import Direct, prepare
from casid.retrieval.methods.globally import Global
from casid.retrieval.methods.method import Method, Start
from casid.retrieval.methods.penalty import Penalty, PenaltyStep, penalised
from casid.retrieval.methods.registry import METHODS, method_of
from casid.retrieval.methods.smoothed import Smoothed
from casid.retrieval.methods.solve import solve
from casid.retrieval.objectives import LeastSquares, base_parameter_error, least_squares
from casid.retrieval.problem import Problem
from casid.retrieval.program.starts import nominal_parameters, random_parameters
from casid.retrieval.quadrics import Quadric
from casid.retrieval.solution import Solution, Tolerances, assess
from casid.retrieval.solver.options import SolveOptions
from casid.retrieval.solver.prepared import Prepared
from casid.retrieval.study.study import Study, StudyResult, multistart, run_study, start_seeds
from casid.retrieval.variables import LinkVariables, LinkView, link_variables

__all__ = [
    "METHODS",
    "Branch",
    "BranchSolution",
    "Branches",
    "Certificate",
    "Coefficients",
    "ComBox",
    "Conflict",
    "ConsistencyCone",
    "Constraint",
    "Direct",
    "Explanation",
    "Facts",
    "Free",
    "Full",
    "Global",
    "GyrationBound",
    "InertiaBounds",
    "InfeasibleError",
    "Intervals",
    "LeastSquares",
    "LinkVariables",
    "LinkView",
    "MassBounds",
    "Method",
    "ParameterInterval",
    "Penalty",
    "PenaltyStep",
    "PhysicalConsistency",
    "Prepared",
    "Prior",
    "Problem",
    "Quadric",
    "ScalarRow",
    "Search",
    "Semi",
    "Setting",
    "SimulatedAnnealing",
    "Smoothed",
    "Solution",
    "SolveOptions",
    "Start",
    "Study",
    "StudyResult",
    "Tolerances",
    "TotalMass",
    "WhatIf",
    "assess",
    "axisymmetric_link",
    "base_parameter_error",
    "body_in_ellipsoid",
    "branch_problems",
    "branches_at",
    "close_gap",
    "com_box",
    "com_in_cone",
    "com_in_cylinder",
    "com_in_ellipsoid",
    "com_in_hull",
    "com_in_sphere",
    "either",
    "equal_links",
    "explain",
    "gyration_bound",
    "indistinguishable",
    "inertia_bounds",
    "least_squares",
    "link_variables",
    "load_constraints",
    "load_problem",
    "lower_bound",
    "mass_bounds",
    "method_of",
    "multistart",
    "no_consistency",
    "nominal_parameters",
    "parameter_intervals",
    "penalised",
    "prepare",
    "problem_names",
    "pseudo_inertia",
    "random_parameters",
    "read_stl",
    "relative_gap",
    "robot_bounds",
    "run_study",
    "sensible_bounds",
    "soften",
    "solve",
    "spatial_inertia",
    "start_seeds",
    "symmetric_link",
    "total_mass",
    "triangle_inequality",
    "weigh_each_link",
    "what_if",
    "with_cad_prior",
    "without_payload",
]
