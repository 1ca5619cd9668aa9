"""Physically consistent parameters from data, under any constraint, with a certificate of how good they are."""

from casid.retrieval.bound.bounds import close_gap
from casid.retrieval.bound.certificate import Certificate, lower_bound
from casid.retrieval.branching.branches import Branch, branch_problems, taken
from casid.retrieval.branching.enumeration import BranchSolution, solve_branches, solve_globally, solve_smoothed
from casid.retrieval.branching.penalty import PenaltyRun, penalised, solve_by_penalty
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
from casid.retrieval.constraints import (
    Constraint,
    PhysicalConsistency,
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
from casid.retrieval.insight.elastic import InfeasibleError
from casid.retrieval.insight.explain import Explanation
from casid.retrieval.insight.intervals import Intervals, ParameterInterval, parameter_intervals
from casid.retrieval.insight.tolerance import indistinguishable
from casid.retrieval.insight.what_if import WhatIf, weigh_each_link, what_if
from casid.retrieval.load import load_constraints, load_problem, problem_names
from casid.retrieval.multistart import MultiStart, multistart, start_seeds
from casid.retrieval.objectives import LeastSquares, base_parameter_error, least_squares
from casid.retrieval.problem import Problem
from casid.retrieval.program.starts import nominal_parameters, random_parameters
from casid.retrieval.solution import LinkParameters, Solution
from casid.retrieval.solver import SolveOptions, solve
from casid.retrieval.study import Study, StudyResult, run_study
from casid.retrieval.variables import LinkVariables, LinkView, link_variables

__all__ = [
    "Branch",
    "BranchSolution",
    "Certificate",
    "Constraint",
    "Explanation",
    "InfeasibleError",
    "Intervals",
    "LeastSquares",
    "LinkParameters",
    "LinkVariables",
    "LinkView",
    "MultiStart",
    "ParameterInterval",
    "PenaltyRun",
    "PhysicalConsistency",
    "Prior",
    "Problem",
    "Solution",
    "SolveOptions",
    "Study",
    "StudyResult",
    "WhatIf",
    "axisymmetric_link",
    "base_parameter_error",
    "body_in_ellipsoid",
    "branch_problems",
    "close_gap",
    "com_box",
    "com_in_cone",
    "com_in_cylinder",
    "com_in_ellipsoid",
    "com_in_hull",
    "com_in_sphere",
    "either",
    "equal_links",
    "gyration_bound",
    "indistinguishable",
    "inertia_bounds",
    "least_squares",
    "link_variables",
    "load_constraints",
    "load_problem",
    "lower_bound",
    "mass_bounds",
    "multistart",
    "no_consistency",
    "nominal_parameters",
    "parameter_intervals",
    "penalised",
    "problem_names",
    "pseudo_inertia",
    "random_parameters",
    "read_stl",
    "robot_bounds",
    "run_study",
    "sensible_bounds",
    "soften",
    "solve",
    "solve_branches",
    "solve_by_penalty",
    "solve_globally",
    "solve_smoothed",
    "spatial_inertia",
    "start_seeds",
    "symmetric_link",
    "taken",
    "total_mass",
    "triangle_inequality",
    "weigh_each_link",
    "what_if",
    "with_cad_prior",
    "without_payload",
]
