"""Constraints that cannot be met together: which ones, and the smallest relaxation that would satisfy them.

Every hard row gets a slack, and the sum of the slacks, each in units of its bound, is minimised while the cones stay
hard. If the minimum is positive the constraints conflict; the rows with a multiplier are the reason, those with a slack
the relaxation. With constraints that are not convex this is a local statement: the smallest relaxation of a few starts.

**Linear rows.** Whether these contradict each other is decided by one linear program: the same relaxation, over the box
that bounds every body. Its multipliers prove it, whatever they are, if what they make of the rows is positive all over
the box, in rational numbers.

**Proof (Farkas).** With the multipliers at that point, the dual bound of the *zero* function over the feasible points
(`casid.retrieval._bound`) is 0 if there is one. Where it is positive, there is none: whatever the
multipliers are, and whatever the nonlinear constraints are, since these enter by relaxations only.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from casid.arrays import ALIKE, ROUNDING, Array
from casid.inertia import mass_index
from casid.retrieval._bound import Cut, Dual, Relaxation, Search, dual_bound
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import LinearRows, NonlinearRows, Problem, Row, split_rows
from casid.retrieval._region import region_box
from casid.retrieval._solution import Conflict
from casid.retrieval.constraints._constraint import Side
from casid.retrieval.program._nlp import Cone, FeasibleSet, LiftedProgram, random_parameters

#: Slacks beyond this share of their bound, and multipliers beyond this share of their weight, are real.
_REAL = 1e-5
#: Random starts of the elastic problem where it is not convex.
_STARTS = 2
#: Share of its nominal mass that a link keeps while the smallest relaxation is sought.
LEAST_MASS = 0.02
#: Rounds of cuts of the relaxation that may prove a conflict of nonconvex constraints.
_ROUNDS = 6


def find_conflict(problem: Problem, cones: tuple[Cone, ...], nominal: Array, factor: float) -> Conflict | None:
    """Conflict among the hard constraints of a problem; ``None`` if they can be met, or if it is not understood.

    Parameters
    ----------
    problem, cones
    nominal
        Point that sets the scale, shape (N,).
    factor
        Search region of links without bounds: the proof holds up to so many times their nominal body.
    """
    problem = problem.below(*(c.label for c in problem.constraints if not c.hard))
    rows = FeasibleSet(*split_rows(problem), cones, nominal)
    proven = _proven_conflict(problem, rows, factor)
    if proven is not None or not rows.nonlinear.size:
        return proven
    rng, elastic = np.random.default_rng(0), _elastic(rows)
    starts = [nominal, *(random_parameters(problem, rng) for _ in range(_STARTS))]
    found = _least_relaxation(problem, elastic, starts)
    return None if found is None else _read(problem, elastic, found[1], found[0], proven=False)


def _proven_conflict(problem: Problem, rows: FeasibleSet, factor: float) -> Conflict | None:
    """The conflict of linear rows and cuts that hold wherever the nonlinear constraints do; None without a proof."""
    exact, relaxation = _linear_conflict(problem, rows), Relaxation(problem)
    cuts: list[Cut] = []
    for _ in range(_ROUNDS):
        relaxed = FeasibleSet(_with_cuts(problem, rows.linear, cuts), NonlinearRows.none(), rows.cones, rows.nominal)
        elastic = _elastic(relaxed)
        found = _least_relaxation(problem, elastic, [rows.nominal])
        if exact is not None:  # its relaxation knows no cones
            read = None if found is None else _read(problem, elastic, found[1], found[0], proven=True)
            return read or _read(problem, elastic, exact[1], exact[0], proven=True, real=ALIKE)
        if found is None:
            return None
        x, multipliers = found
        region = _excluded(problem, relaxed.linear, multipliers[: len(relaxed.linear.rows)], rows.nominal, factor)
        if region is not None:
            conflict = _read(problem, elastic, multipliers, x, proven=True)
            return None if conflict is None else replace(conflict, region=region)
        new = [cut for cut in relaxation.cuts(relaxation.sides, x) if cut.violated(x)]
        if not new:
            return None
        cuts += new
    return None


def _linear_conflict(problem: Problem, rows: FeasibleSet) -> tuple[Array, Array] | None:
    """Where linear rows contradict each other: their point of least relaxation, and multipliers that prove it."""
    from scipy.optimize import linprog  # imported late: it takes its time

    linear = rows.linear
    low, high, _ = region_box(problem.regions, tuple(problem.variables.extras.values()))
    floor = low.copy()
    for entry, region in zip(problem.cones, problem.regions, strict=True):
        mass = mass_index(entry.link)
        low[mass], high[mass] = region.mass
        if entry.cone.positive_mass:
            low[mass] = max(low[mass], entry.margin)
            floor[mass] = LEAST_MASS * rows.nominal[mass]
    lower, upper = np.flatnonzero(np.isfinite(linear.lower)), np.flatnonzero(np.isfinite(linear.upper))
    at, signs = np.concatenate([lower, upper]), np.repeat([1.0, -1.0], [len(lower), len(upper)])
    if not len(at):
        return None
    forms, bounds = signs[:, None] * linear.matrix[at], np.concatenate([linear.lower[lower], -linear.upper[upper]])
    prices = np.array([row.weight for row in _elastic(rows).linear.rows[: len(linear.rows)]], dtype=float)[at]
    sizes = np.maximum(np.abs(rows.nominal), 1e-6)  # of the unknowns: the program's numbers are near one
    box = np.column_stack([np.minimum(np.maximum(floor, low), high), high]) / sizes[:, None]
    found = linprog(
        np.repeat([0.0, 1.0], [len(sizes), len(at)]),
        -np.hstack([prices[:, None] * forms * sizes, np.eye(len(at))]),
        -prices * bounds,
        bounds=np.vstack([box, np.tile([0.0, np.inf], (len(at), 1))]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return None
    dual = np.maximum(-found.ineqlin.marginals, 0.0) * prices
    for digits in (10**6, 10**30):  # short fractions cancel where nothing bounds an unknown
        shares = [Fraction(d).limit_denominator(digits) for d in (dual / (dual.max() or 1.0)).tolist()]
        if _contradicts(forms, bounds, shares, low, high):
            multipliers = np.zeros(len(linear.rows))
            np.subtract.at(multipliers, at, signs * dual)
            return found.x[: len(sizes)] * sizes, multipliers
    return None


def _contradicts(forms: Array, bounds: Array, shares: list[Fraction], low: Array, high: Array) -> bool:
    """Whether no point of the box meets ``forms x >= bounds``: their sum by shares >= 0 stays below its bound in it."""
    used = [k for k, share in enumerate(shares) if share]
    needed = [shares[k] * Fraction(bounds[k]) for k in used]
    value, terms = sum(needed, Fraction(0)), sum(map(abs, needed), Fraction(0))
    for j in np.flatnonzero((forms[used] != 0.0).any(axis=0)):
        parts = [shares[k] * Fraction(forms[k, j]) for k in used]
        slope, size = sum(parts, Fraction(0)), sum(map(abs, parts), Fraction(0))
        end = high[j] if slope > 0 else low[j]
        farthest = abs(end) if abs(slope) > Fraction(ROUNDING) * size else max(abs(low[j]), abs(high[j]))
        if slope and not np.isfinite([end, farthest]).all():
            return False
        if slope:
            value -= slope * Fraction(end)
            terms += size * Fraction(farthest)
    return value > Fraction(ROUNDING) * terms


def _least_relaxation(problem: Problem, elastic: FeasibleSet, starts: list[Array]) -> tuple[Array, Array] | None:
    """Point of least relaxation, and the multipliers of the linear and nonlinear rows there."""
    size = len(elastic.nominal)
    program = LiftedProgram(
        problem.variables.x,
        LeastSquares(np.zeros((0, size)), np.zeros(0)),
        elastic,
        tuple(range(len(problem.cones))),
        1e8,
    )
    solver = program.solver({"tol": 1e-9, "max_iter": 500 if len(starts) == 1 else 150})
    outcomes = [program.solve(solver, program.start(start), 1.0, 1e-9) for start in starts]
    good = [outcome for outcome in outcomes if outcome.good]
    if not good:
        return None
    best = min(good, key=lambda outcome: program.objective_value(outcome.point.w))
    return program.parameters(best.point.w), np.concatenate(program.row_multipliers(best.point, 1.0))


def _read(
    problem: Problem, elastic: FeasibleSet, multipliers: Array, x: Array, proven: bool, real: float = _REAL
) -> Conflict | None:
    """Rows with a slack, and rows with a multiplier, in words."""
    lower, upper, value = elastic.lower, elastic.upper, elastic.values(problem.variables.x, x)
    conflicting: list[str] = []
    relaxation: dict[str, float] = {}
    advice: dict[str, str] = {}
    for k, row in enumerate(elastic.rows):
        if row.weight is None:
            continue
        above = multipliers[k] > 0 or value[k] > upper[k]
        text = _text(problem, row, above)
        if abs(multipliers[k]) > real * row.weight and text not in conflicting:
            conflicting.append(text)
        excess = max(lower[k] - value[k], value[k] - upper[k], 0.0)
        if excess * row.weight > real:
            missed = _missed(problem, row, x) if row.relaxed else float(excess / row.unit_size(x))
            amount = max(missed, relaxation.get(text, 0.0))
            relaxation[text] = amount
            unit = problem.constraints[row.constraint].unit_of(row.entry) if row.constraint >= 0 else ""
            raised = row.side == "upper" or (row.side == "both" and above)
            advice[text] = f"{'raise' if raised else 'lower'} the bound of {text} by {amount:.3g}{unit and ' ' + unit}"
    if not relaxation:
        return None
    ordered = sorted(conflicting, key=lambda text: text not in relaxation)
    return Conflict(tuple(ordered), relaxation, tuple(advice.values()), proven)


def _missed(problem: Problem, row: Row, x: Array) -> float:
    """By how much x misses the bound that a cut stands for, in the units of the expression."""
    constraint = problem.constraints[row.constraint]
    value = float(problem.values(x)[constraint.label][row.entry])
    return float(constraint.lower[row.entry] - value if row.side == "lower" else value - constraint.upper[row.entry])


def _text(problem: Problem, row: Row, above: bool) -> str:
    if row.constraint < 0 or row.side != "both":
        return row.text
    text: str = problem.constraints[row.constraint].bound_text(row.entry, "upper" if above else "lower")
    return text


def _excluded(
    problem: Problem, linear: LinearRows, multipliers: Array, nominal: Array, factor: float
) -> dict[str, str] | None:
    """The region in which the multipliers prove that no point meets the rows, in words; None where they do not."""
    found = dual_bound(problem, np.zeros(len(nominal)), Dual.of(linear, multipliers), Search(nominal, factor))
    if not found.value > ALIKE * (found.terms + found.leftover + 1.0):
        return None
    masses = {cone.name: float(nominal[mass_index(cone.link)]) for cone in problem.cones}
    return {
        name: f"up to {times:.0e} times a body of {masses[name]:.3g} kg" if name in masses else f"up to {times:.0e}"
        for name, times in found.search_region.items()
    }


def _with_cuts(problem: Problem, linear: LinearRows, cuts: list[Cut]) -> LinearRows:
    """Linear rows and cuts, each cut under the name of the bound that it stands for."""
    if not cuts:
        return linear
    scales = 1.0 / np.array([max(float(np.abs(cut.form).max()), 1e-12) for cut in cuts])
    sources = []
    for cut in cuts:
        side: Side = "lower" if cut.sign > 0 else "upper"
        sources.append(Row.of(cut.constraint, problem.constraints[cut.constraint], cut.entry, side, relaxed=True))
    forms, low = np.array([cut.form for cut in cuts]), np.array([cut.low for cut in cuts])
    own = LinearRows(forms * scales[:, None], low * scales, np.full(len(cuts), np.inf), tuple(sources))
    return LinearRows.joined(linear, own)


def _elastic(rows: FeasibleSet) -> FeasibleSet:
    """Every row with a slack whose price is one over the size of its bound.

    A row that is m times its bound costs nothing where the mass vanishes: the masses keep a share of the nominal ones.
    """
    x0, linear, curved = rows.nominal, rows.linear, rows.nonlinear

    def priced(part: LinearRows | NonlinearRows, typical: Array, least: float) -> tuple[Row, ...]:
        ends = zip(part.rows, part.lower, part.upper, typical, strict=True)
        return tuple(replace(row, weight=1.0 / _size(low, high, size, least)) for row, low, high, size in ends)

    places = [mass_index(cone.link) for cone in rows.cones if cone.notion.positive_mass]
    masses = tuple(Row(-1, k, None, "least mass") for k in range(len(places)))
    floors = LinearRows(np.eye(len(x0))[places], LEAST_MASS * x0[places], np.full(len(places), np.inf), masses)
    sizes = np.abs(linear.matrix) @ np.abs(x0)
    return FeasibleSet(
        LinearRows.joined(replace(linear, rows=priced(linear, sizes, 1e-6)), floors),
        replace(curved, rows=priced(curved, np.zeros(curved.size), 1e-3)),
        rows.cones,
        x0,
    )


def _size(low: float, high: float, typical: float, least: float) -> float:
    """Size of a row's bounds, or what is typical of the row where they are zero."""
    return max(min((abs(b) for b in (low, high) if np.isfinite(b) and b), default=typical), least)
