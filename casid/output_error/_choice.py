"""Terms of friction beyond the plain law, taken where motions that are held out prove them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.output_error._runs import FreeRuns, Parameter, Point
from casid.output_error._search import Normal, Search
from casid.output_error._servo import Unknown

Array = NDArray[np.float64]

#: Attributes of `Servo` that are tried, with first value and deviation of the weak prior about 0.
TERMS = {"load_friction": (0.01, 0.5)}
#: A term that lowers the cost, or the mean square error held out, by less than this share is not taken.
_SHARE = 0.05
#: Iterations of the search with a term.
_ITERATIONS = 4


def folds_of(runs: FreeRuns, folds: int) -> list[int]:
    """Group of each piece that is held out together: motions in turn, or stretches of one; empty: none."""
    motions = list(dict.fromkeys(piece.recording.motion for piece in runs.pieces))
    if len(motions) >= 2:
        group = [motions.index(piece.recording.motion) % max(folds, 2) for piece in runs.pieces]
    else:
        group = list(np.minimum(np.arange(len(runs.pieces)) * max(folds, 2) // len(runs.pieces), folds - 1))
    return group if folds >= 2 and len(set(group)) >= 2 else []


def held_out(search: Search, point: Point, normal: Normal, group: Sequence[int]) -> Array:
    """Sum of squares of each piece's free run under a fit that did not see its group, shape (pieces,).

    That fit is one Gauss-Newton step from the whole's.
    """
    runs, squares = search.runs, np.zeros(len(search.runs.pieces))
    for fold in sorted(set(group)):
        kept = [k for k, g in enumerate(group) if g != fold]
        left = [k for k, g in enumerate(group) if g == fold]
        part = search.reduced(normal, kept, point.theta)
        theta = search.step(part, Point(point.theta, []), 1e-3)[0].theta
        for k, q in zip(left, runs.simulate(runs.point(theta), left), strict=True):
            squares[k] = float(((runs.pieces[k].measured - q) ** 2).sum())
    return squares


def with_terms(
    search: Search, point: Point, normal: Normal, folds: int, terms: Sequence[str]
) -> tuple[Search, Point, Normal, Array]:
    """The search with those terms (attributes of `TERMS`) that prove themselves on motions held out.

    Each lowers the mean square error held out by more than one standard error, and noticeably.

    The standard error is that of the difference between motions, or between pieces of fewer than four motions
    (Breiman et al. 1984, Sec. 3.4.3: the plainest model within one standard error of the best).

    Returns
    -------
    search, point, normal
    weak : ndarray
        Deviations of the weak priors of the terms that were added.
    """
    added: list[float] = []
    group = folds_of(search.runs, folds)
    for attribute in terms:
        first, sd = TERMS[attribute]
        if not group or any(value != 0.0 for value in search.runs.servo.of(attribute, search.runs.robot.n)):
            continue
        wide, before = _extended(search, attribute, sd), search.runs.rollouts
        count = len(wide.runs.parameters) - len(point.theta)
        start = Point(np.append(point.theta, np.full(count, first)), [x.copy() for x in point.starts])
        made = wide.normal(start)
        worth = wide.step(made, start, 1e-3)[1] > _SHARE * made.cost
        if worth:
            tried, reached = wide.run(start, _ITERATIONS)
            plain, rich = held_out(search, point, normal, group), held_out(wide, tried, reached, group)
        total = search.runs.rollouts + wide.runs.rollouts - before
        search.runs.rollouts = wide.runs.rollouts = total
        if worth and _better(search.runs, plain, rich):
            search, point, normal = wide, tried, reached
            added += count * [sd]
    return search, point, normal, np.array(added)


def _extended(search: Search, attribute: str, sd: float) -> Search:
    """A search over one more attribute of all joints, on the same scale."""
    runs = copy(search.runs)
    unknown = Unknown(0.0, sd)
    changed: dict[str, Any] = {attribute: unknown}
    runs.servo = replace(runs.servo, **changed)
    names = [joint.name for joint in runs.robot.coordinates]
    runs.parameters = (
        *runs.parameters, *(Parameter(attribute, k, f"{attribute} {name}", unknown) for k, name in enumerate(names))
    )  # fmt: skip
    made = replace(search, runs=runs, history=[])
    made.budget += runs.cost * (_ITERATIONS + 2)
    return made


def _better(runs: FreeRuns, plain: Array, rich: Array) -> bool:
    """Whether the mean square error falls by more than one standard error of its differences."""
    motions = [piece.recording.motion for piece in runs.pieces]
    names = list(dict.fromkeys(motions))
    unit = [names.index(m) for m in motions] if len(names) >= 4 else list(range(len(motions)))
    size = np.bincount(unit, [float(piece.measured.size) for piece in runs.pieces])
    gain = np.bincount(unit, plain - rich)
    mean = gain.sum() / size.sum()
    spread = np.sqrt(np.sum((gain - mean * size) ** 2) * len(gain) / max(len(gain) - 1, 1)) / size.sum()
    return bool(mean > max(spread, _SHARE * plain.sum() / size.sum()))
