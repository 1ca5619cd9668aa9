"""The coefficients a solution was fitted to, as a report shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import linear_form
from casid.errors import ProblemError
from casid.retrieval import Problem, Solution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coefficients:
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


def coefficients(solution: Solution) -> Coefficients | None:
    """Coefficients of a solution's problem; None where it was fitted to compressed samples, which mean nothing each.

    A problem may describe them in ``notes["coefficients"]``, a mapping with ``K`` (r x N) and ``values`` (r), and
    optionally ``sd`` (r) and ``used`` (r, boolean). Otherwise the rows of the objective are taken.

    Raises
    ------
    ProblemError
        If that note is malformed.
    """
    problem = solution.problem
    note = problem.notes.get("coefficients")
    if note is None:
        matrix, target = problem.objective.matrix, problem.objective.target
        if matrix.shape[0] >= matrix.shape[1] or len(matrix) == 0:
            return None
        note = {"K": matrix, "values": target}
    forms, given, sd, used = _checked(problem, note)
    names = problem.variables.names
    expressions = tuple(linear_form(row, names) for row in forms)
    return Coefficients(expressions, given, forms @ solution.standard_parameters, sd, used)


def _checked(problem: Problem, note: Any) -> tuple[Array, Array, Array | None, NDArray[np.bool_]]:
    where = f"problem '{problem.name}': notes['coefficients']"
    if not isinstance(note, Mapping) or not {"K", "values"} <= set(note):
        raise ProblemError(f"{where} must be a mapping with 'K' and 'values'")
    forms, values = np.asarray(note["K"], dtype=float), np.asarray(note["values"], dtype=float)
    size = problem.variables.size
    if values.ndim != 1 or forms.ndim != 2 or len(forms) != len(values) or forms.shape[1] > size:
        raise ProblemError(f"{where}: expected K (r, {size}) and values (r,), got {forms.shape} and {values.shape}")
    forms = np.pad(forms, ((0, 0), (0, size - forms.shape[1])))
    sd = None if note.get("sd") is None else np.asarray(note["sd"], dtype=float)
    used = np.asarray(note.get("used", np.ones(len(values))), dtype=bool)
    for name, array in (("sd", sd), ("used", used)):
        if array is not None and array.shape != values.shape:
            raise ProblemError(f"{where}: expected {len(values)} entries of '{name}', got shape {array.shape}")
    return forms, values, sd, used
