"""Feasible points of an attacked problem, found without the library: SLSQP, differential evolution, sampling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import differential_evolution, minimize

from tests.attack.problems import Attack
from tests.attack.quantities import pseudo_inertias, spatial_inertias

#: Violation up to which a point counts as feasible: rounding of the numbers it is checked with.
EXACT = 1e-13
Goal = Callable[[np.ndarray], np.ndarray]


def feasible_points(attack: Attack, rng: np.random.Generator, effort: float = 1.0) -> np.ndarray:
    """Points that meet every hard constraint, as good as this finds them; shape (N, K), the truth first."""
    found = [attack.truth]
    walked = walk(attack, attack.truth, attack.totals, rng, int(40 * effort))
    found.append(walked)
    if len(attack.truth) <= 33:
        for start in (attack.truth, walked):
            found.append(drawn_back(attack, slsqp(attack, start, int(30 * effort)), start))
    if attack.links == 1 and attack.round % 4 == 0:
        evolved = evolve(attack, rng, int(20 * effort))
        if evolved is not None:
            found.append(evolved)
    found.append(
        walk(attack, min(found, key=lambda x: attack.totals(x[:, None])[0]), attack.totals, rng, int(40 * effort))
    )
    points = np.array(found).T
    return points[:, attack.violations(points) <= EXACT]


def walk(attack: Attack, start: np.ndarray, goal: Goal, rng: np.random.Generator, rounds: int) -> np.ndarray:
    """The best of many random steps from a feasible point: of all sizes, in all directions, along the descent."""
    x, best = start.copy(), float(goal(start[:, None])[0])
    objective, n, step = attack.problem.objective, 64, 0.3
    for _ in range(rounds):
        directions = rng.normal(size=(len(x), n)) * attack.scale[:, None]
        directions *= (rng.random((len(x), n)) < rng.choice([0.1, 0.3, 1.0], n)) * 1.0
        slope = objective.matrix.T @ (objective.matrix @ x - objective.target) * attack.scale**2
        size = np.linalg.norm(slope / attack.scale) or 1.0
        directions[:, : n // 4] -= 2 * slope[:, None] / size * np.sqrt(len(x))
        sizes = step * 10.0 ** rng.uniform(-5, 0.5, n)
        trial = x[:, None] + directions * sizes
        keep = trial[:, (attack.violations(trial) <= EXACT)]
        if keep.shape[1]:
            values = goal(keep)
            k = int(np.argmin(values))
            if values[k] < best:
                x, best = keep[:, k], float(values[k])
                step = min(step * 1.5, 3.0)
                continue
        step = max(step / 1.5, 1e-6)
    return x


def slsqp(attack: Attack, start: np.ndarray, iterations: int) -> np.ndarray:
    """SLSQP in scaled parameters; smallest eigenvalues as constraints, derivatives by differences."""
    scale = attack.scale
    reference = abs(float(attack.totals(start[:, None])[0])) or 1.0
    step = 1e-7

    def batch(y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[:, None], y[:, None] + step * np.eye(len(y))], axis=1) * scale[:, None]

    def derivative(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        def slope(y: np.ndarray) -> np.ndarray:
            values = np.atleast_2d(function(batch(y)))
            return np.nan_to_num((values[:, 1:] - values[:, :1]) / step)

        return slope

    def total(x: np.ndarray) -> np.ndarray:
        return attack.totals(x) / reference

    def room(x: np.ndarray) -> np.ndarray:
        return slack(attack, x)

    result = minimize(
        lambda y: float(np.nan_to_num(total(y[:, None] * scale[:, None])[0], nan=1e10, posinf=1e10)),
        start / scale,
        jac=lambda y: derivative(total)(y)[0],
        constraints=[
            {
                "type": "ineq",
                "fun": lambda y: np.nan_to_num(room(y[:, None] * scale[:, None])[:, 0]),
                "jac": derivative(room),
            }
        ],
        method="SLSQP",
        options={"maxiter": iterations, "ftol": 1e-12},
    )
    return np.asarray(result.x) * scale


def slack(attack: Attack, x: np.ndarray) -> np.ndarray:
    """What every hard bound and cone has left at points x, shape (N, B) -> (rows, B); negative where it is broken."""
    values, rows = attack.values(x), []
    for b in attack.bounds:
        if b.weight is None:
            rows += [values[b.label] - b.lower] if np.isfinite(b.lower) else []
            rows += [b.upper - values[b.label]] if np.isfinite(b.upper) else []
    rows += [_cone_slack(attack, x, k) for k, kind in enumerate(attack.cones) if kind != "none"]
    own = x[10 * attack.links :]
    for value, (low, high) in zip(own, attack.extras, strict=True):
        rows += [value - low] if np.isfinite(low) else []
        rows += [high - value] if np.isfinite(high) else []
    return np.array(rows) if rows else np.ones((1, x.shape[1]))


def _cone_slack(attack: Attack, x: np.ndarray, link: int) -> np.ndarray:
    matrices = (pseudo_inertias if attack.cones[link] == "full" else spatial_inertias)(x, link)
    unit = float(np.linalg.norm(pseudo_inertias(attack.truth[:, None], link)))
    return (np.linalg.eigvalsh(np.nan_to_num(matrices))[:, 0] - attack.margin) / unit


def drawn_back(attack: Attack, point: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The point, or the nearest to it on the way from a feasible one that is feasible to rounding."""
    if not np.isfinite(point).all():
        return inside
    shares = np.concatenate([[0.0], 10.0 ** np.linspace(-13, 0, 60)])
    trial = point[:, None] + shares * (inside - point)[:, None]
    good = np.flatnonzero(attack.violations(trial) <= EXACT)
    values = attack.totals(trial)
    return trial[:, good[np.argmin(values[good])]] if len(good) else inside


def evolve(attack: Attack, rng: np.random.Generator, generations: int) -> np.ndarray | None:
    """Differential evolution over everything near, with violations as a penalty: finds other islands of the set."""
    reach = 3 * np.maximum(np.abs(attack.truth), attack.scale)
    price = 1e3 * (abs(float(attack.totals(attack.truth[:, None])[0])) + 1.0)

    def worth(x: np.ndarray) -> np.ndarray:
        x = x if x.ndim == 2 else x[:, None]
        rows = slack(attack, x)
        broken = np.nan_to_num(np.maximum(-rows, 0.0), nan=1e3, posinf=1e3).sum(axis=0)
        return np.nan_to_num(attack.totals(x), posinf=1e12) + price * broken

    result = differential_evolution(
        worth, list(zip(-reach, reach, strict=True)), maxiter=generations, popsize=6, vectorized=True,
        updating="deferred", polish=False, x0=attack.truth, seed=int(rng.integers(2**31)), tol=0.0,
    )  # fmt: skip
    x = np.asarray(result.x)
    return x if attack.violations(x[:, None])[0] <= EXACT else None
