"""Terms of the drives beyond the plain law, taken where motions that are held out prove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from casid.arrays import Array
from casid.drives._contacts import held_stiffness, led, restarted, softened
from casid.drives._runs import FreeRuns, Parameter, Point
from casid.drives._search import Normal, Search
from casid.drives._servo import KINDS, QUANTITIES, Servo, Unknown
from casid.evidence import NOTICEABLE, PARTS, compared

#: Iterations of the search with a term: where it is screened, and where it is judged (contacts: four times as many).
_SCREENED, _ITERATIONS = 4, 4
#: Friction of which terms are sized is taken for at least this share of what drives a joint; what is sized
#: by it is a start or a weak prior, which data overrule.
_SMALL = 0.02


#: What `SimulationOptions.terms` names -> attributes of `Servo` that the term makes unknown at every joint.
TERMS: Mapping[str, tuple[str, ...]] = {
    "load_friction": ("load_friction",),
    "warm_up": ("warm_up", "warm_time"),
    "stiffness": ("stiffness", "joint_damping"),
    "backlash": ("backlash",),
    "presliding": ("bristle_stiffness", "bristle_damping"),
    "asymmetry": ("viscous_asymmetry", "offset"),
    "drift": ("offset_drift", "offset"),
}
#: Tried by default where no servo holds the joints, so that what friction differs by, and what drifts, adds up.
DRIVEN = ("asymmetry", "drift")


def _starts(name: str, runs: FreeRuns, theta: Array) -> Sequence[Mapping[str, Array]]:
    """First values of a term, or sizes of values of either sign, shape (n,) each, one mapping a start.

    Time constants are parts of what the clocks show; stiffnesses multiples of the servo's, before sliding, or of what
    the drive's inertia and the sampling can show; play is a multiple of the encoders' noise, up to several degrees;
    differences between directions, and the drift over the recordings, are parts of the friction.
    """
    gain, inertia, same = held_stiffness(runs, theta), runs.values(theta)["armature"], np.ones(runs.robot.n)
    (viscous, dry), span = friction_sizes(runs, theta), max(float(data.t[-1]) for data in runs.recordings)
    return {
        "load_friction": [{"load_friction": 0.01 * same}],
        "warm_up": [{"warm_up": 0.05 * same, "warm_time": max(part * span, 1.0) * same} for part in (0.1, 0.4)],
        "stiffness": [{"stiffness": k * gain, "joint_damping": 0.01 * k * gain} for k in (2.0, 8.0, 30.0)],
        "backlash": [{"backlash": np.maximum(size, 4.0 * runs.noise)} for size in (0.01, 0.04)],
        "presliding": [
            {"bristle_stiffness": k * gain, "bristle_damping": 0.2 * np.sqrt(k * gain * inertia)} for k in (1.0, 5.0)
        ],
        "asymmetry": [{"viscous_asymmetry": 0.1 * viscous, "offset": 0.1 * dry}],
        "drift": [{"offset_drift": 0.1 * dry / span, "offset": 0.1 * dry}],
    }[name]


def friction_sizes(runs: FreeRuns, theta: Array) -> tuple[Array, Array]:
    """Sizes of viscous and dry friction: as found so far, or a small part of what drives a joint if that is more."""
    value = runs.values(theta)
    kp, viscous, dry = (value[name] for name in ("kp", "viscous", "coulomb"))
    pull = np.mean([_rms(kp * (data.q_des - data.q) + (0.0 if data.torque is None else data.torque))
                    for data in runs.recordings], axis=0)  # fmt: skip
    speed = np.mean([_rms(np.diff(data.q, axis=0) / data.period) for data in runs.recordings], axis=0)
    return np.maximum(viscous, _SMALL * pull / np.maximum(speed, 1e-9)), np.maximum(dry, _SMALL * pull)


def _rms(x: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(x), axis=0)))


def usual_terms(runs: FreeRuns) -> tuple[str, ...]:
    """Terms that are tried by default."""
    return tuple(term for term in TERMS if term not in DRIVEN or _driven(runs))


def _driven(runs: FreeRuns) -> bool:
    """Whether known torques alone drive the joints, and no servo holds them."""
    return not np.any(runs.known[:, KINDS.index("kp")]) and not any(p.kind == "kp" for p in runs.parameters)


def _added(runs: FreeRuns, name: str) -> tuple[str, ...]:
    """Attributes that a term makes unknown: those that neither the user nor a term that was taken says something of."""
    n, plain = runs.robot.n, Servo()
    return tuple(a for a in TERMS[name] if runs.servo.of(a, n) == plain.of(a, n))


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
        left = [k for k, g in enumerate(group) if g == fold]
        theta = search.without(normal, point.theta, left)
        for k, q in zip(left, runs.simulate(runs.point(theta), left), strict=True):
            squares[k] = float(((runs.pieces[k].measured - q) ** 2).sum())
    return squares


def with_terms(
    search: Search, point: Point, normal: Normal, folds: int, terms: Sequence[str], contact: float
) -> tuple[Search, Point, Normal, Array]:
    """The search with those terms (of `TERMS`) that prove themselves on motions held out.

    Terms are screened on a part of the data, each from its starts. The one with the largest expected decrease is then
    searched on all, with steps not longer than ``contact`` [s] where joints have play, and taken if it lowers the mean
    square error held out by more than one standard error, and noticeably. The others follow in their order, screened
    again beside what was taken (forward selection); play comes last, as its rough errors make what is expected of it
    the least certain. Where one that follows does as well without the one before, that is given up: it stood for it.

    Returns
    -------
    search, point, normal
    weak : ndarray
        Deviations of the weak priors of the terms that were added.
    """
    added, last = list[float](), 0
    group = folds_of(search.runs, folds)
    names = [name for name in terms if group and TERMS[name][0] in _added(search.runs, name)]
    screen = _Screen(search, point) if names else None
    ranked = [screen.trial(name) for name in names if screen is not None]
    # where no servo holds a joint, errors of its friction add up and look like anything else: they come first
    first = DRIVEN if _driven(search.runs) else ()
    before: tuple[Search, Point, Normal] | None = None
    for ranked_one in sorted(ranked, key=lambda one: (one.name not in first, one.name == "backlash", -one.share)):
        one = ranked_one
        if one.share <= NOTICEABLE - 1.0:
            continue
        if added:  # beside what was taken
            one = _Screen(search, point).trial(one.name, one)
            if one.share <= NOTICEABLE - 1.0:
                continue
        plain, rich = _searched(search, point, normal, one, contact)
        errors, weak = held_out(*rich, group), [*added, *one.weak.tolist()]
        if not _better(search.runs, held_out(*plain, group), errors):
            point, normal = plain[1:] if plain[0] is search else search.run(plain[1], 1)
            continue
        if before is not None and one.attributes == ranked_one.attributes:  # was the last one taken for this one?
            before[0].runs.rollouts = rich[0].runs.rollouts
            alone = _searched(*before, one, contact)[1]
            rich[0].runs.rollouts = alone[0].runs.rollouts
            if not _better(search.runs, held_out(*alone, group), errors):
                rich, weak = alone, [*added[:-last], *one.weak.tolist()]
        before, last, (search, point, normal), added = (search, point, normal), len(one.weak), rich, weak
    return search, point, normal, np.array(added)


def _searched(
    search: Search, point: Point, normal: Normal, one: _Screened, contact: float
) -> tuple[tuple[Search, Point, Normal], tuple[Search, Point, Normal]]:
    """The search without a term, where joints have play with steps not longer than ``contact`` [s], and with it."""
    before, plainly, play = search.runs.rollouts, search, "backlash" in TERMS[one.name]
    if play and contact < search.runs.step:  # contact: of first order in it
        plainly = replace(search, runs=search.runs.stepped(contact), budget=before + search.runs.cost * _ITERATIONS)
        point, normal = plainly.run(point, 2)
    wide = _extended(plainly, one)
    # what the plain law misses has changed its own parameters too: as they are, or as the term was screened with
    plains = [plain for plain in (point.theta, one.plain) if plain.shape == point.theta.shape]
    starts = [np.append(plain, one.first) for plain in plains]
    start = min((Point(theta, [x.copy() for x in point.starts]) for theta in starts), key=wide.value)
    if play:
        tried, _ = led(wide, restarted(wide, start))
        reached = softened(wide, tried)
    else:
        wanted = (2.0 - NOTICEABLE) * normal.cost
        tried, reached = wide.descended(start, wide.normal(start), _ITERATIONS, wanted=wanted)
    search.runs.rollouts = wide.runs.rollouts = plainly.runs.rollouts + wide.runs.rollouts - before
    return (plainly, point, normal), (wide, tried, reached)


class _Screened(NamedTuple):
    """A term's best start: share of the cost it takes away, values of the plain law and of the term, weak priors."""

    name: str
    share: float
    attributes: tuple[str, ...]
    plain: Array
    first: Array
    weak: Array


class _Screen:
    """One piece of every `PARTS`: what decrease a step is expected to give there, without a term and with it."""

    def __init__(self, whole: Search, point: Point) -> None:
        self.whole, runs = whole, copy(whole.runs)
        every = 1 if _driven(runs) else PARTS  # what drifts shows between pieces
        runs.pieces, runs.rollouts = runs.pieces[every // 2 :: every] or runs.pieces[:1], 0.0
        self.search, self.point = replace(whole, runs=runs, budget=np.inf), runs.point(point.theta)
        normal = self.search.normal(self.point)
        self.promised = normal.cost - self.search.step(normal, self.point, 1e-3)[1]
        self._count(runs)

    def _count(self, runs: FreeRuns) -> None:
        """Runs of the part as shares of runs through everything."""
        self.whole.runs.rollouts += runs.rollouts * len(runs.pieces) / len(self.whole.runs.pieces)
        runs.rollouts = 0.0

    def trial(self, name: str, known: _Screened | None = None) -> _Screened:
        """A term from its starts, or from known values: the decrease expected of a Gauss-Newton step.

        Attributes that other terms made unknown are left out. Of several starts the best is searched
        shortly.
        """
        runs, theta, tried = self.search.runs, self.point.theta, []
        new = _added(runs, name)
        if known is not None:
            rows = np.repeat([a in new for a in known.attributes], runs.robot.n)
            tried.append(_Screened(name, 0.0, new, theta, known.first[rows], known.weak[rows]))
        for values in [] if known else _starts(name, runs, theta):
            first, weak = (np.concatenate([value(a, values[a]) for a in new]) for value in (_first, _weak))
            tried.append(_Screened(name, 0.0, new, theta, first, weak))
        reached = []
        for one in tried:
            wide = _extended(self.search, one)
            start = Point(np.append(theta, one.first), [x.copy() for x in self.point.starts])
            normal = wide.normal(start)
            # from a guess, or from none, where the plain law's step is as far
            cost = normal.cost - wide.step(normal, start, 1e-2 if np.any(one.first) else 1e-3)[1]
            self._count(wide.runs)
            reached.append((cost, wide, start, normal, one))
        cost, wide, start, normal, one = min(reached, key=lambda made: made[0])
        least = (2.0 - NOTICEABLE) * self.promised
        if len(tried) > 1 and cost < least:
            start, normal = wide.descended(start, normal, _SCREENED, 1e-2, least)
            cost = normal.cost
            self._count(wide.runs)
        elif known is None and "backlash" in new and cost < self.promised:  # rough: a step alone does not tell
            start, cost = led(wide, restarted(wide, start))
            self._count(wide.runs)
        share = 1.0 - cost / max(self.promised, 1e-300)
        plain, first = np.split(start.theta, [len(theta)])
        return _Screened(name, share, new, plain, first, one.weak)


def _weak(attribute: str, size: Array) -> Array:
    """Deviation of the weak prior of a term's values."""
    quantity = QUANTITIES[attribute]
    return np.full(len(size), quantity.weak) if quantity.weak else 10.0 * size


def _first(attribute: str, size: Array) -> Array:
    """First values: 0 where values of either sign are as likely and their effect is linear."""
    return 0.0 * size if QUANTITIES[attribute].signed else size


def _extended(search: Search, term: _Screened) -> Search:
    """A search over a term's attributes at all joints too, on the same scale."""
    runs, attributes = copy(search.runs), term.attributes
    n, names = runs.robot.n, [joint.name for joint in runs.robot.coordinates]
    unknowns = [
        # a weak prior's mean is the start, or 0 where that is no term at all
        Unknown(0.0 if (kind := QUANTITIES[attributes[i // n]]).weak or kind.signed else float(x), float(sd))
        for i, (x, sd) in enumerate(zip(term.first, term.weak, strict=True))
    ]
    changed: dict[str, Any] = {a: unknowns[i * n : (i + 1) * n] for i, a in enumerate(attributes)}
    runs.servo = replace(runs.servo, **changed)
    more = (Parameter(a, (k,), f"{a} {name}", changed[a][k]) for a in attributes for k, name in enumerate(names))
    runs.parameters = (*runs.parameters, *more)
    return replace(search, runs=runs)


def _better(runs: FreeRuns, plain: Array, rich: Array) -> bool:
    """Whether the mean square error of motions, or of the pieces of fewer than four motions, falls noticeably.

    By more than one standard error of the paired differences: with a handful of motions a term that takes away most of
    the error fails the level of the one comparison, and the plainest model within one standard error of the best is
    what cross-validation asks for (Breiman et al. 1984, Sec. 3.4.3).
    """
    motions = [piece.recording.motion for piece in runs.pieces]
    names = list(dict.fromkeys(motions))
    unit = [names.index(m) for m in motions] if len(names) >= 4 else list(range(len(motions)))
    size = np.bincount(unit, [float(piece.measured.size) for piece in runs.pieces])
    one = compared(np.bincount(unit, plain) / size, np.bincount(unit, rich) / size)
    return one.gain > 1.0 and one.before - one.after > (NOTICEABLE - 1.0) * one.before
