"""Constraints that cannot be met together: which ones, and the smallest relaxation that would satisfy them.

Every hard row gets a slack, and the sum of the slacks, each in units of its bound, is minimised while the cones stay
hard. If the minimum is positive the constraints conflict; the rows with a multiplier are the proof (Farkas), those
with a slack the relaxation. With constraints that are not convex this is a local statement: the smallest relaxation
of a few starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from casid.errors import SolveError
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.program.nlp import LiftedProgram
from casid.retrieval.program.rows import LinearRows, NonlinearRows, Row, bound_text
from casid.retrieval.program.starts import random_parameters

if TYPE_CHECKING:
    from casid.retrieval.problem import Problem
    from casid.retrieval.solution import Solution
    from casid.retrieval.solver import Prepared

Array = NDArray[np.float64]
#: Slacks beyond this share of their bound, and multipliers beyond this share of their weight, are real.
_REAL = 1e-5
#: Random starts of the elastic problem where it is not convex.
_STARTS = 4


class InfeasibleError(SolveError):
    """The constraints of a problem cannot be met together.

    Attributes
    ----------
    conflicting : tuple of str
        The bounds that exclude each other, in words.
    relaxation : mapping of str to float
        Bound -> by how much to loosen it, in its own units (kg, m, kg.m^2, or the expression's).
    """

    def __init__(
        self, message: str, conflicting: tuple[str, ...], relaxation: dict[str, float], solution: object | None = None
    ) -> None:
        super().__init__(message, solution)
        self.conflicting = conflicting
        self.relaxation = relaxation

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.conflicting, self.relaxation, self.solution))


@dataclass(frozen=True)
class Conflict:
    """Bounds that exclude each other, and the smallest relaxation with units."""

    conflicting: tuple[str, ...]
    relaxation: dict[str, float]
    advice: tuple[str, ...]

    def error(self, problem: Problem, solution: Solution) -> InfeasibleError:
        """The exception that says so."""
        if len(self.conflicting) > 1:
            text = f"{self.conflicting[0]} conflicts with {', '.join(self.conflicting[1:])}"
        else:
            text = f"{', '.join(self.conflicting) or 'the constraints'} cannot be met by any physically consistent body"
        return InfeasibleError(
            f"problem '{problem.name}': {text}; the smallest relaxation that satisfies all: {', '.join(self.advice)}",
            self.conflicting,
            self.relaxation,
            solution,
        )


def find_conflict(prepared: Prepared) -> Conflict | None:
    """Conflict among the hard constraints of a prepared problem; ``None`` if they can be met."""
    linear, nonlinear = prepared.linear, prepared.nonlinear
    x0 = prepared.nominal
    elastic_linear = _elastic_linear(linear, x0)
    elastic_nonlinear = _elastic_nonlinear(nonlinear)
    size = len(x0)
    program = LiftedProgram(
        prepared.problem.variables.x,
        LeastSquares(np.zeros((0, size)), np.zeros(0)),
        elastic_linear,
        elastic_nonlinear,
        prepared.cones,
        x0,
        tuple(range(len(prepared.problem.cones))),
        1e8,
    )
    solver = program.solver({"tol": 1e-9, "max_iter": 500})
    starts = [x0]
    if nonlinear.size:  # several valleys: the smallest relaxation found from a few starts
        rng = np.random.default_rng(0)
        starts += [random_parameters(prepared.problem, rng) for _ in range(_STARTS)]
    outcomes = [program.solve(solver, program.start(start), 1.0, 1e-9) for start in starts]
    found = [o for o in outcomes if o.success and np.isfinite(o.point.w).all()]
    if not found:
        return None
    outcome = min(found, key=lambda o: program.objective_value(o.point.w))
    x = program.parameters(outcome.point.w)
    multipliers = np.concatenate(program.row_multipliers(outcome.point, 1.0))
    rows = (*elastic_linear.rows, *elastic_nonlinear.rows)
    lower = np.concatenate([elastic_linear.lower, elastic_nonlinear.lower])
    upper = np.concatenate([elastic_linear.upper, elastic_nonlinear.upper])
    value = np.concatenate([linear.matrix @ x, nonlinear.values(prepared.problem.variables.x, x)])
    hard = [row.weight is None for row in (*linear.rows, *nonlinear.rows)]
    conflicting: list[str] = []
    relaxation: dict[str, float] = {}
    advice: list[str] = []
    for k, row in enumerate(rows):
        if not hard[k]:
            continue
        assert row.weight is not None
        side = "upper" if multipliers[k] > 0 else "lower"
        excess = max(lower[k] - value[k], value[k] - upper[k], 0.0)
        text = _side_text(prepared.problem, row, side)
        if abs(multipliers[k]) > _REAL * row.weight:
            conflicting.append(text)
        if excess * row.weight > _REAL:
            amount, unit = _physical(prepared.problem, row, excess, x)
            relaxation[text] = float(amount)
            advice.append(f"{'raise' if side == 'upper' else 'lower'} the bound of {text} by {amount:.3g}{unit}")
    if not relaxation:
        return None
    ordered = sorted(conflicting, key=lambda text: text not in relaxation)
    return Conflict(tuple(ordered), relaxation, tuple(advice))


def _elastic_linear(linear: LinearRows, x0: Array) -> LinearRows:
    rows = []
    for k, row in enumerate(linear.rows):
        bounds = [abs(b) for b in (linear.lower[k], linear.upper[k]) if np.isfinite(b)]
        typical = max([*bounds, float(np.abs(linear.matrix[k]) @ np.abs(x0)), 1e-6])
        rows.append(replace(row, weight=1.0 / typical))
    return LinearRows(linear.matrix, linear.lower, linear.upper, tuple(rows))


def _elastic_nonlinear(nonlinear: NonlinearRows) -> NonlinearRows:
    rows = []
    for k, row in enumerate(nonlinear.rows):
        bounds = [abs(b) for b in (nonlinear.lower[k], nonlinear.upper[k]) if np.isfinite(b)]
        rows.append(replace(row, weight=1.0 / max([*bounds, 1e-3])))
    return NonlinearRows(nonlinear.expression, nonlinear.lower, nonlinear.upper, tuple(rows))


def _side_text(problem: Problem, row: Row, side: str) -> str:
    if row.constraint < 0:
        return row.text
    constraint = problem.constraints[row.constraint]
    if constraint.quantity in ("com", "inertia_com"):
        return row.text
    return bound_text(constraint, row.entry, side)


def _physical(problem: Problem, row: Row, excess: float, x: Array) -> tuple[float, str]:
    """Violation of a solver row in the units of its bound."""
    if row.constraint < 0:
        return excess, ""
    constraint = problem.constraints[row.constraint]
    if constraint.quantity in ("mass", "total_mass"):
        return excess, " kg"
    if constraint.quantity in ("com", "inertia_com"):
        return excess / x[10 * constraint.links[0] + 9], " m" if constraint.quantity == "com" else " kg.m^2"
    return excess, ""
