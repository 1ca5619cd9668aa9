"""Constraints that cannot be met together: which ones, and the smallest relaxation that would satisfy them.

Every hard row gets a slack, and the sum of the slacks, each in units of its bound, is minimised while the cones stay
hard. If the minimum is positive the constraints conflict; the rows with a multiplier are the reason, those with a slack
the relaxation. With constraints that are not convex this is a local statement: the smallest relaxation of a few starts.

**Proof (Farkas).** With the multipliers at that point, the dual bound of the *zero* function over the feasible points
(`casid.retrieval.bound.certificate`) is 0 if there is one. Where it is positive, there is none: whatever the
multipliers are, and whatever the nonlinear constraints are, since these enter by relaxations only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casid.retrieval.bound.certificate import Dual, Search, dual_bound
from casid.retrieval.bound.cuts import Cut, Relaxation
from casid.retrieval.bound.relaxation import relaxed_rows
from casid.retrieval.conflict import Conflict
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.program.cones import Cone
from casid.retrieval.program.nlp import LiftedProgram, Outcome
from casid.retrieval.program.starts import random_parameters
from casid.retrieval.rows import LinearRows, NonlinearRows, Row

Array = NDArray[np.float64]
#: Slacks beyond this share of their bound, and multipliers beyond this share of their weight, are real.
_REAL = 1e-5
#: Random starts of the elastic problem where it is not convex.
_STARTS = 4
#: The dual bound proves a conflict if it exceeds this share of the size of its terms.
_PROVEN = 1e-9
#: Rounds of cuts of the relaxation that may prove a conflict of nonconvex constraints.
_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Rows:
    """A problem's rows and cones, as its program has them."""

    linear: LinearRows
    nonlinear: NonlinearRows
    cones: tuple[Cone, ...]
    nominal: Array

    @property
    def every(self) -> tuple[Row, ...]:
        """Linear rows, then the others."""
        return (*self.linear.rows, *self.nonlinear.rows)


def find_conflict(problem: Problem, rows: Rows, relaxation: Relaxation, factor: float) -> Conflict | None:
    """Conflict among the hard constraints of a problem; ``None`` if they can be met.

    Parameters
    ----------
    problem, rows
    relaxation
        Of the problem's nonlinear constraints.
    factor
        Search region of links without bounds: the proof holds up to so many times their nominal body.
    """
    elastic = _elastic(rows)
    outcome, program = _least_relaxation(problem, elastic)
    if outcome is None:
        return None
    x = program.parameters(outcome.point.w)
    linear, curved = program.row_multipliers(outcome.point, 1.0)
    found = _read(problem, rows, elastic, np.concatenate([linear, curved]), x)
    if found is None:
        return None
    proven = _excluded(problem, rows, linear, curved, x, relaxation, factor)
    if not proven and rows.nonlinear.size:
        proven = _relaxation_is_empty(problem, rows, x, relaxation, factor)
    return replace(found, proven=proven)


def _least_relaxation(problem: Problem, elastic: Rows) -> tuple[Outcome | None, LiftedProgram]:
    size = len(elastic.nominal)
    program = LiftedProgram(
        problem.variables.x,
        LeastSquares(np.zeros((0, size)), np.zeros(0)),
        elastic.linear,
        elastic.nonlinear,
        elastic.cones,
        elastic.nominal,
        tuple(range(len(problem.cones))),
        1e8,
    )
    solver = program.solver({"tol": 1e-9, "max_iter": 500})
    starts = [elastic.nominal]
    if elastic.nonlinear.size:  # several valleys: the smallest relaxation found from a few starts
        rng = np.random.default_rng(0)
        starts += [random_parameters(problem, rng) for _ in range(_STARTS)]
    outcomes = [program.solve(solver, program.start(start), 1.0, 1e-9) for start in starts]
    found = [o for o in outcomes if o.success and np.isfinite(o.point.w).all()]
    return min(found, key=lambda o: program.objective_value(o.point.w), default=None), program


def _read(problem: Problem, rows: Rows, elastic: Rows, multipliers: Array, x: Array) -> Conflict | None:
    """Rows with a slack, and rows with a multiplier, in words."""
    lower = np.concatenate([rows.linear.lower, rows.nonlinear.lower])
    upper = np.concatenate([rows.linear.upper, rows.nonlinear.upper])
    value = np.concatenate([rows.linear.matrix @ x, rows.nonlinear.values(problem.variables.x, x)])
    conflicting: list[str] = []
    relaxation: dict[str, float] = {}
    advice: list[str] = []
    for k, (row, soft) in enumerate(zip(rows.every, elastic.every, strict=True)):
        if row.weight is not None:
            continue
        assert soft.weight is not None
        above = multipliers[k] > 0 or value[k] > upper[k]
        text = _text(problem, row, above)
        if abs(multipliers[k]) > _REAL * soft.weight:
            conflicting.append(text)
        excess = max(lower[k] - value[k], value[k] - upper[k], 0.0)
        if excess * soft.weight > _REAL:
            amount = float(excess / row.unit_size(x))
            unit = problem.constraints[row.constraint].entry_unit if row.constraint >= 0 else ""
            relaxation[text] = amount
            raised = row.side == "upper" or (row.side == "both" and above)
            advice.append(f"{'raise' if raised else 'lower'} the bound of {text} by {amount:.3g}{unit and ' ' + unit}")
    if not relaxation:
        return None
    ordered = sorted(conflicting, key=lambda text: text not in relaxation)
    return Conflict(tuple(ordered), relaxation, tuple(advice), proven=False)


def _text(problem: Problem, row: Row, above: bool) -> str:
    if row.constraint < 0 or row.side != "both":
        return row.text
    return str(problem.constraints[row.constraint].bound_text(row.entry, "upper" if above else "lower"))


def _excluded(
    problem: Problem, rows: Rows, linear: Array, curved: Array, x: Array, relaxation: Relaxation, factor: float
) -> bool:
    """Whether the multipliers prove that no point meets the hard rows."""
    hard = np.array([row.weight is None for row in rows.linear.rows], dtype=bool)
    dual = Dual.of(rows.linear, np.where(hard, linear, 0.0))
    if rows.nonlinear.size:
        dual = dual.and_relaxed(relaxed_rows(relaxation, rows.nonlinear, curved, x))
    found = dual_bound(problem, np.zeros(len(x)), dual, Search(rows.nominal, factor))
    return found.value > _PROVEN * (found.terms + found.leftover + 1.0)


def _relaxation_is_empty(problem: Problem, rows: Rows, x: Array, relaxation: Relaxation, factor: float) -> bool:
    """Whether the linear rows, with cuts that hold wherever the nonlinear constraints do, exclude each other."""
    cuts: list[Cut] = []
    for _ in range(_ROUNDS):
        sides = [cut for side in relaxation.sides for cut in relaxation.side_cuts(side, x)]
        new = [cut for cut in (*sides, *relaxation.set_cuts(x)) if cut.violated(x)]
        if not new:
            return False
        cuts += new
        sizes = [max(float(np.abs(cut.form).max()), 1e-12) for cut in cuts]
        linear = LinearRows(
            np.vstack([rows.linear.matrix, [cut.form / size for cut, size in zip(cuts, sizes, strict=True)]]),
            np.concatenate([rows.linear.lower, [cut.low / size for cut, size in zip(cuts, sizes, strict=True)]]),
            np.concatenate([rows.linear.upper, np.full(len(cuts), np.inf)]),
            (*rows.linear.rows, *(Row(-1, k, None, "cut") for k in range(len(cuts)))),
        )
        relaxed = Rows(linear, NonlinearRows.none(), rows.cones, rows.nominal)
        outcome, program = _least_relaxation(problem, _elastic(relaxed))
        if outcome is None:
            return False
        x = program.parameters(outcome.point.w)
        multipliers = program.row_multipliers(outcome.point, 1.0)[0]
        if _excluded(problem, relaxed, multipliers, np.zeros(0), x, relaxation, factor):
            return True
    return False


def _elastic(rows: Rows) -> Rows:
    """Every row with a slack whose price is one over the size of its bound."""
    x0 = rows.nominal
    linear, curved = rows.linear, rows.nonlinear
    sizes = [float(np.abs(form) @ np.abs(x0)) for form in linear.matrix]
    priced = [
        replace(row, weight=1.0 / _size(low, high, size, 1e-6))
        for row, low, high, size in zip(linear.rows, linear.lower, linear.upper, sizes, strict=True)
    ]
    bent = [
        replace(row, weight=1.0 / _size(low, high, 0.0, 1e-3))
        for row, low, high in zip(curved.rows, curved.lower, curved.upper, strict=True)
    ]
    return Rows(
        LinearRows(linear.matrix, linear.lower, linear.upper, tuple(priced)),
        NonlinearRows(curved.expression, curved.lower, curved.upper, tuple(bent)),
        rows.cones,
        x0,
    )


def _size(low: float, high: float, typical: float, least: float) -> float:
    return max([*(abs(b) for b in (low, high) if np.isfinite(b)), typical, least])
