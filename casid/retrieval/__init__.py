"""Physically consistent parameters from data, under any constraint, with a certificate of how good they are."""

# A problem, its unknowns and its objective
from casid.retrieval._problem import Problem as Problem
from casid.retrieval._variables import LinkVariables as LinkVariables
from casid.retrieval._variables import link_variables as link_variables
from casid.retrieval._objectives import base_parameter_error as base_parameter_error
from casid.retrieval._objectives import least_squares as least_squares
from casid.retrieval._objectives import Coefficients as Coefficients
from casid.retrieval._objectives import Prior as Prior
from casid.retrieval._problem_files import load_problem as load_problem
from casid.retrieval._problem_files import problem_names as problem_names

# Constraints on any expression, and bounds on quantities of links
from casid.retrieval.constraints._constraint import Constraint as Constraint
from casid.retrieval.constraints._constraint import soften as soften
from casid.retrieval.constraints._shapes import either as either
from casid.retrieval.constraints._constraint import total_mass as total_mass
from casid.retrieval.constraints._constraint import mass_bounds as mass_bounds
from casid.retrieval.constraints._constraint import com_box as com_box
from casid.retrieval.constraints._constraint import inertia_bounds as inertia_bounds
from casid.retrieval.constraints._constraint import robot_bounds as robot_bounds
from casid.retrieval.constraints._constraint import sensible_bounds as sensible_bounds

# Shapes that hold a link's centre of mass or its body, and known links.
from casid.retrieval.constraints._shapes import com_in_sphere as com_in_sphere
from casid.retrieval.constraints._shapes import com_in_cylinder as com_in_cylinder
from casid.retrieval.constraints._shapes import com_in_cone as com_in_cone
from casid.retrieval.constraints._shapes import com_in_ellipsoid as com_in_ellipsoid
from casid.retrieval.constraints._shapes import com_in_hull as com_in_hull
from casid.retrieval.constraints._shapes import body_in_ellipsoid as body_in_ellipsoid
from casid.retrieval.constraints._shapes import symmetric_link as symmetric_link
from casid.retrieval.constraints._shapes import axisymmetric_link as axisymmetric_link
from casid.retrieval.constraints._shapes import equal_links as equal_links

# Solving one problem, or from many starts
from casid.retrieval.methods._solve import solve as solve
from casid.retrieval._solution import Solution as Solution
from casid.retrieval._solver import SolveOptions as SolveOptions
from casid.retrieval.methods._branching import Global as Global
from casid.retrieval._solution import InfeasibleError as InfeasibleError
from casid.retrieval.study._study import multistart as multistart

# Active bounds and ranges of the parameters
from casid.retrieval.insight._explain import explain as explain
from casid.retrieval.insight._intervals import parameter_intervals as parameter_intervals

# between rooms
from casid.retrieval._objectives import LeastSquares as LeastSquares
from casid.retrieval._objectives import chi_square as chi_square
from casid.retrieval.constraints._constraint import Constraints as Constraints
from casid.retrieval._problem_files import ConstraintBuilder as ConstraintBuilder
from casid.retrieval._problem_files import load_constraints as load_constraints
from casid.retrieval._solution import ParameterResult as ParameterResult
from casid.retrieval._problem import LinearRows as LinearRows
from casid.retrieval._problem import split_rows as split_rows
from casid.retrieval._solver import PreparedProblem as PreparedProblem
