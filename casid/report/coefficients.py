"""The coefficients a solution was fitted to, as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.dynamics._base_parameters import linear_form
from casid.retrieval._objectives import Coefficients
from casid.retrieval._solution import Solution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedCoefficients:
    """Linear forms of the parameters with their given and their fitted values.

    Attributes
    ----------
    expressions : tuple of str
        Each written out, e.g. ``Lzz1 + Lyy2``.
    given, fitted : ndarray, shape (r,)
    sd : ndarray, shape (r,), or None
        Standard deviations of the given values.
    used : ndarray of bool, shape (r,)
        Which ones the objective contains.
    """

    expressions: tuple[str, ...]
    given: Array
    fitted: Array
    sd: Array | None
    used: NDArray[np.bool_]


def coefficients(solution: Solution) -> FittedCoefficients | None:
    """Coefficients of a solution's problem; None where it was fitted to compressed samples, which mean nothing each.

    A problem may describe them (`casid.retrieval.Coefficients`); otherwise the rows of the objective are taken.
    """
    problem = solution.problem
    given = problem.coefficients
    if given is None:
        matrix, target = problem.objective.matrix, problem.objective.target
        if matrix.shape[0] >= matrix.shape[1] or len(matrix) == 0:
            return None
        given = Coefficients(matrix, target)
    forms = np.pad(given.forms, ((0, 0), (0, problem.variables.size - given.forms.shape[1])))
    names = problem.variables.names
    expressions = tuple(linear_form(row, names) for row in forms)
    return FittedCoefficients(expressions, given.values, forms @ solution.x, given.sd, given.used)
