"""Searches where joints have play: derivatives of soft contacts, shaken starts."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from scipy.special import chdtri

from casid.arrays import Array
from casid.drives._law import DRIVE
from casid.drives._runs import FreeRuns, Point
from casid.drives._search import CONVERGED, MISFIT, Normal, Search
from casid.drives._servo import STIFF

#: Stiffnesses of the contacts whose derivatives lead on where the errors are those of hard contacts; iterations.
_SOFT, _DESCENT = (160.0, 640.0), 5
#: Most shaken starts, and how far they are drawn, in standard deviations of the parameters; they end after so many in
#: turn that do not lower the cost, which is that of independent errors of variance 1, by that much.
_SHAKES, _SHAKEN, _IDLE, _GAIN = 40, 6.0, 6, 1.0
#: One of so many minima counts as being as good as the best at least: of forty ten, whose
#: mean square gives a deviation to 22 % (one over the root of 2 N).
_QUARTER = 4


def held_stiffness(runs: FreeRuns, theta: Array) -> Array:
    """Stiffness of the servo, or of the drive's inertia at 1 Hz where that is larger [N.m/rad], shape (n,)."""
    value = runs.values(theta)
    return np.maximum(value["kp"], value["armature"] * (2 * np.pi) ** 2)


def has_play(runs: FreeRuns, theta: Array) -> bool:
    """Whether a joint has play."""
    return bool((runs.values(theta)["backlash"] > 0.0).any())


def softened(search: Search, point: Point, part: float = _SOFT[0]) -> Normal:
    """Normal equations of the errors of hard contacts and the derivatives of soft ones.

    The error of a free run with contacts is rough in the parameters: its derivative holds over a small part of an
    interval only. Contacts that are springs, damped critically with the drive's inertia, have the trend.
    """
    runs, theta = search.runs, point.theta
    value, held = runs.values(theta), part * held_stiffness(runs, theta)
    rigid = value["stiffness"] > STIFF
    runs = runs.holding("kj", rigid, held[rigid])
    runs = runs.holding("dj", rigid, 2.0 * np.sqrt(held * value["armature"])[rigid])
    soft = replace(search, runs=runs, budget=np.inf)
    made = soft.normal(point, search.runs.simulate(point))
    search.runs.rollouts += search.runs.cost
    return made


def restarted(search: Search, point: Point) -> Point:
    """Each piece from the initial state of least cost: as it is, as measured, or a joint at its play's other end.

    Where a joint is in its play no encoder shows, and the cost has a minimum on both sides.
    """
    runs, n = search.runs, search.runs.robot.n
    gap = runs.values(point.theta)["backlash"]
    first = np.array([piece.start[: 2 * n] for piece in runs.pieces])
    motion = first[:, :n], first[:, n:], np.zeros((len(first), n)), runs.robot.standard_parameters()
    still = runs.model.inverse_dynamics(*motion)
    side = np.where(still > 0.0, 1.0, -1.0) * (1.0 if runs.encoder == DRIVE else -1.0)
    best, starts = search.costs(point), point.starts
    for joint in (None, *np.flatnonzero(gap > 0.0).tolist()):
        tried = runs.point(point.theta)
        if joint is not None:
            for k, start in enumerate(tried.starts):
                start[:] = starts[k]
                start[2 * n + joint], start[3 * n + joint] = side[k, joint] * gap[joint], 0.0
        cost = search.costs(tried)
        starts = [new if a < b else old for old, new, a, b in zip(starts, tried.starts, cost, best, strict=True)]
        best = np.minimum(best, cost)
    return Point(point.theta, starts)


def led(search: Search, point: Point) -> tuple[Point, float]:
    """Steps by the derivatives of soft contacts that lower the cost of hard ones, and that cost."""
    value, damping = search.value(point), 1e-3
    for part in _SOFT:
        for _ in range(_DESCENT):
            normal, lower = softened(search, point, part), False
            for _ in range(6):
                candidate, expected = search.step(normal, point, damping)
                if expected < CONVERGED:
                    break
                cost = search.value(candidate)
                if lower := cost < value:
                    point, value, damping = candidate, cost, max(damping / 30.0, 1e-6)
                    break
                damping = 10.0 * max(damping, 1e-3)
            if not lower:
                break
    return point, value


def _drawn(search: Search, best: Point, normal: Normal, errors: Array, size: float, rng: np.random.Generator) -> Point:
    """A point drawn about the best with a multiple of the deviations that the smooth trend gives it.

    Initial states of pieces that fit badly are drawn within their spread.
    """
    D = search.scaling(normal, best.theta)
    w, V = np.linalg.eigh(normal.A / np.outer(D, D))
    spread = V / np.sqrt(np.maximum(w, 1e-9 * w[-1]))
    theta = np.clip(best.theta + size * spread @ rng.standard_normal(len(w)) / D, search.lower, search.upper)
    bad = errors > MISFIT**2 * np.median(errors)
    starts = [start + own * piece.spread * rng.standard_normal(len(start))
              for start, own, piece in zip(best.starts, bad, search.runs.pieces, strict=True)]  # fmt: skip
    return Point(theta, starts)


def _without(search: Search, best: Point, left: Sequence[int]) -> Point:
    """The best point led on without some pieces, whose initial states stay."""
    runs, kept = copy(search.runs), [k for k in range(len(best.starts)) if k not in left]
    runs.pieces = [search.runs.pieces[k] for k in kept]
    part = replace(search, runs=runs)
    made, _ = led(part, Point(best.theta, [best.starts[k] for k in kept]))
    search.runs.rollouts += (runs.rollouts - search.runs.rollouts) * len(kept) / len(best.starts)
    starts = list(best.starts)
    for k, start in zip(kept, made.starts, strict=True):
        starts[k] = start
    return Point(made.theta, starts)


def shaken(search: Search, point: Point) -> tuple[Point, Array]:
    """Best of searches from shaken starts, each by the derivatives of soft contacts, and the scatter of minima as good.

    The errors of hard contacts are a rough function of the parameters with many minima close together. Starts are drawn
    about the best one, or are minima of a part of the pieces, those that fit badly rather left out (iterated local
    search; Lourenco, Martin and Stuetzle 2003), until several in turn find nothing better. The cost that the best
    minimum has beyond that of the encoders' noise bounds how far it may be from the true one; others whose cost is not
    higher than its by more than that, and the bound of a joint region of 95 %, are as good, and at least a quarter of
    all: which of them is the best is chance.
    """
    runs, rng = search.runs, np.random.default_rng(0)
    search.rescale(point)
    noise = float(np.mean(runs.noise**2))
    best, value = led(search, restarted(search, point))
    found, idle = list[tuple[Array, float]](), 0
    for number in range(_SHAKES):
        errors = np.array([np.mean(error**2) for error in runs.missed(best)])
        normal = softened(search, best)
        if number % 2:
            share = (errors + noise) / (errors + noise).sum()
            changed = _without(search, best, rng.choice(len(errors), len(errors) // 3, False, share).tolist())
        else:
            changed = _drawn(search, best, normal, errors, _SHAKEN * max(1.0, normal.rms / np.sqrt(noise)), rng)
        tried, cost = led(search, restarted(search, changed))
        found.append((tried.theta, cost))
        idle = 0 if cost < value - _GAIN else idle + 1
        if cost < value:
            found.append((best.theta, value))
            best, value = tried, cost
        search.progress(f"contacts: {1e3 * normal.rms:.3g} mrad", number + 1, _SHAKES)
        if idle == _IDLE:
            break
    count = sum(piece.measured.size for piece in runs.pieces)
    excess = max(0.0, value - count * noise / (search.scale**2 * search.inflation))
    slack = excess + float(chdtri(len(best.theta), 0.05))
    found.sort(key=lambda one: one[1])
    least = max(value + slack, found[len(found) // _QUARTER][1])
    away = [theta - best.theta for theta, cost in found if cost <= least]
    search.rescale(best)
    return best, np.asarray(np.mean([np.outer(x, x) for x in away], axis=0))
