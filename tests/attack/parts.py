"""The parts of a proof, each held against many feasible points: regions, solver rows, cuts, bounds of any multipliers.

No solve is needed, so that this reaches problems by the thousand.
"""

from __future__ import annotations

import numpy as np

from casid.retrieval import Problem
from casid.retrieval._bound import Dual, Relaxation, Search, lower_bound
from casid.retrieval._problem import split_rows
from casid.retrieval.program._nlp import nominal_parameters
from tests.attack.points import EXACT, feasible_points, walk
from tests.attack.problems import Attack
from tests.attack.quantities import in_numpy, pseudo_inertias

#: Relative rounding that a row may show.
_ROUNDING = 1e-9


def many_points(attack: Attack, rng: np.random.Generator) -> np.ndarray:
    """Feasible points far apart, shape (N, K): the best, the extreme in some parameters, and random ones around."""
    points = feasible_points(attack, rng, 0.5)
    if not points.shape[1]:
        return points
    found = [points]
    for k in rng.choice(len(attack.truth), min(3, len(attack.truth)), replace=False):
        sign = float(rng.choice([-1.0, 1.0]))
        found.append(walk(attack, attack.truth, lambda x, k=k, s=sign: s * x[k], rng, 15)[:, None])
    for _ in range(6):
        centre = found[int(rng.integers(len(found)))][:, :1]
        steps = rng.normal(size=(len(attack.truth), 64)) * attack.scale[:, None] * 10.0 ** rng.uniform(-4, 1, 64)
        trial = centre + steps * (rng.random(steps.shape) < rng.choice([0.1, 1.0], 64))
        keep = attack.violations(trial) <= EXACT
        found += [trial[:, keep]] if keep.any() else []
    return np.column_stack(found)


def false_parts(attack: Attack, rng: np.random.Generator) -> list[str]:
    """Errors in the parts of a problem's proof; empty where all hold."""
    points = many_points(attack, rng)
    if not points.shape[1]:
        return []
    near = np.column_stack([points, points[:, :1] + attack.scale[:, None] * rng.normal(size=(len(attack.truth), 20))])
    return [
        *_regions(attack.problem, points),
        *_rows(attack, points, near),
        *_cuts(attack, points, near),
        *_bounds(attack, points, near, rng),
    ]


def _regions(problem: Problem, points: np.ndarray) -> list[str]:
    wrong = []
    for k, (region, body) in enumerate(zip(problem.regions, in_numpy(points, len(problem.regions)).links, strict=True)):
        own = np.abs(points[10 * k : 10 * k + 10])
        trace = np.trace(pseudo_inertias(points, k), axis1=1, axis2=2)
        if (own > region.box[:, None] * (1 + _ROUNDING) + 1e-300).any():
            wrong.append(f"region: box of link {k}")
        if (trace > region.trace * (1 + _ROUNDING)).any():
            wrong.append(f"region: trace of link {k}")
        slack = _ROUNDING * np.abs(own[9])
        if (body.m < region.mass[0] - slack).any() or (body.m > region.mass[1] + slack).any():
            wrong.append(f"region: mass of link {k}")
        for axis in range(3):
            c, (low, high) = body.c[axis], region.com[axis]
            slack = _ROUNDING * (np.abs(c) + np.ptp(c))
            if (c < low - slack).any() or (c > high + slack).any():
                wrong.append(f"region: centre of mass of link {k}")
    return wrong


def _rows(attack: Attack, points: np.ndarray, near: np.ndarray) -> list[str]:
    """Hard rows hold at feasible points, and where all of them hold by some room, no constraint is broken."""
    linear, curved = split_rows(attack.problem)
    rows = [*linear.rows, *curved.rows]
    low, high = np.concatenate([linear.lower, curved.lower]), np.concatenate([linear.upper, curved.upper])
    hard = np.array([row.weight is None for row in rows], dtype=bool)

    def missed(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = np.array([curved.values(attack.problem.variables.x, p) for p in x.T]).reshape(x.shape[1], -1).T
        values = np.vstack([linear.matrix @ x, own])
        sizes = np.vstack([np.abs(linear.matrix) @ np.abs(x), np.abs(own)])
        ends = np.minimum(np.abs(low), np.abs(high))
        sizes = sizes + np.where(np.isfinite(ends), ends, 0.0)[:, None]
        return np.maximum(low[:, None] - values, values - high[:, None])[hard], sizes[hard]

    wrong = []
    broken, sizes = missed(points)
    for k in np.flatnonzero(
        (broken > _ROUNDING * sizes + 1e-12 * max(1.0, float(np.abs(attack.truth).max()))).any(axis=1)
    ):
        text = [row for row, keep in zip(rows, hard, strict=True) if keep][k].text
        wrong.append(f"row '{text}' is broken by {broken[k].max():.3g} at a feasible point")
    left, sizes = missed(near)
    held = (left <= 0).all(axis=0) if len(left) else np.ones(near.shape[1], dtype=bool)
    amounts = attack.violations(near)
    cones = _cones_hold(attack, near)
    false = held & cones & (amounts > 1e-6 * max(1.0, float(np.abs(attack.truth).max())))
    if false.any():
        wrong.append(f"all rows hold where a constraint is broken by {amounts[false].max():.3g}")
    return wrong


def _cones_hold(attack: Attack, x: np.ndarray) -> np.ndarray:
    bare = Attack(**{**vars(attack), "bounds": ()})
    return bare.violations(x) <= 0


def _cuts(attack: Attack, points: np.ndarray, near: np.ndarray) -> list[str]:
    whole, sizes = Relaxation(attack.problem), np.abs(points)
    smallest = whole.contracted()
    if smallest is None:
        return ["a set of centres of mass that holds a feasible point is called empty"]
    wrong = [f"smallest box: {text}" for text in _regions(smallest.problem, points)]
    for relaxation in (whole, smallest):
        for x in (attack.truth, *near[:, -4:].T):
            for cut in relaxation.cuts(relaxation.sides, x):
                amount = cut.low - cut.form @ points
                if (amount > _ROUNDING * (np.abs(cut.form) @ sizes + abs(cut.low))).any():
                    wrong.append(f"a cut removes a feasible point by {amount.max():.3g}")
    return wrong


def _bounds(attack: Attack, points: np.ndarray, near: np.ndarray, rng: np.random.Generator) -> list[str]:
    problem = attack.problem
    linear, curved = split_rows(problem)
    relaxation, nominal = Relaxation(problem), nominal_parameters(problem)
    values, wrong = attack.totals(points), []
    least = float(values.min())
    best = points[:, int(np.argmin(values))]
    for x in (best, attack.truth, near[:, -1]):
        for _ in range(4):
            size = 10.0 ** rng.uniform(-4, 2) * (abs(least) + 1e-9)
            scale = np.abs(linear.matrix) @ np.abs(attack.truth) + 1e-12
            multipliers = size * rng.normal(size=len(linear.rows)) * (rng.random(len(linear.rows)) < 0.5) / scale
            bent = size * rng.normal(size=curved.size) * (rng.random(curved.size) < 0.5)
            dual = Dual.of(linear, multipliers).with_cuts(relaxation, curved, bent, x)
            found = lower_bound(problem, x, dual, Search(nominal, 1e12))
            if found.lower_bound > least + _ROUNDING * abs(least) + 10 * attack.rounding:
                wrong.append(f"bound {found.lower_bound!r} of arbitrary multipliers, feasible {least!r}")
    return wrong
