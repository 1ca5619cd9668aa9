"""Physically consistent parameters from data, under any constraint, with a certificate of how good they are."""

from casid.retrieval.certificate import Certificate, lower_bound
from casid.retrieval.check import FileCheck, LinkCheck, check_file, check_links
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
from casid.retrieval.elastic import InfeasibleError
from casid.retrieval.feasibility import (
    Feasibility,
    feasibility_test,
    nearest_consistent,
    nearest_correction,
    nearest_feasible,
)
from casid.retrieval.identify import Identification, Prediction, identify, load_model, predict
from casid.retrieval.load import load_constraints, load_problem, problem_names
from casid.retrieval.multistart import MultiStart, multistart
from casid.retrieval.objectives import LeastSquares, base_parameter_error, least_squares
from casid.retrieval.priors import Prior
from casid.retrieval.problem import Problem
from casid.retrieval.regression import FeasibleFit, RegressionProblem, extra_bounds, feasible_regression
from casid.retrieval.solution import LinkParameters, Solution
from casid.retrieval.solver import SolveOptions, solve
from casid.retrieval.starts import nominal_parameters, random_parameters
from casid.retrieval.variables import LinkVariables, LinkView, link_variables

__all__ = [
    "Certificate",
    "Constraint",
    "Feasibility",
    "FeasibleFit",
    "FileCheck",
    "Identification",
    "InfeasibleError",
    "LeastSquares",
    "LinkCheck",
    "LinkParameters",
    "LinkVariables",
    "LinkView",
    "MultiStart",
    "PhysicalConsistency",
    "Prediction",
    "Prior",
    "Problem",
    "RegressionProblem",
    "Solution",
    "SolveOptions",
    "base_parameter_error",
    "check_file",
    "check_links",
    "com_box",
    "extra_bounds",
    "feasibility_test",
    "feasible_regression",
    "gyration_bound",
    "identify",
    "inertia_bounds",
    "least_squares",
    "link_variables",
    "load_constraints",
    "load_model",
    "load_problem",
    "lower_bound",
    "mass_bounds",
    "multistart",
    "nearest_consistent",
    "nearest_correction",
    "nearest_feasible",
    "no_consistency",
    "nominal_parameters",
    "predict",
    "problem_names",
    "pseudo_inertia",
    "random_parameters",
    "robot_bounds",
    "sensible_bounds",
    "soften",
    "solve",
    "spatial_inertia",
    "total_mass",
    "triangle_inequality",
]
