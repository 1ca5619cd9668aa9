"""What is known of each parameter: intervals, the partner it is confused with, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from casid.arrays import Array
from casid.drives._rollout import Branch
from casid.drives._runs import Parameter, Point, quantum_of
from casid.drives._search import MISFIT, Block, Normal, Search, correlation
from casid.drives._servo import QUANTITIES

#: Fewest pieces whose scores give a variance of their own: Student's quantile is then 15 % above the normal one.
_PIECES = 10
#: Directions with less than this share of a piece's information, a deviation a thousand times that of the best one, are
#: left out where pieces are compared.
_RANK = 1e-6
#: Harmonics of the error of an encoder's steps: 91 % of its variance, ``6 / pi^2 sum 1 / k^2``.
_HARMONICS = 6
#: Parameters of a drive, which all carry its scale.
SCALED = ("kp", "kd", "armature", "viscous", "coulomb", "offset", "limit", "stiffness", "joint_damping",
           "bristle_stiffness", "bristle_damping", "viscous_asymmetry", "offset_drift", "ki")  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """A parameter and its interval.

    Attributes
    ----------
    name, attribute, unit : str
    joints : tuple of int
        Coordinates that have this value.
    value, sd : float
    low, high : float
        Interval of 95 %; the bounds where the data do not determine it.
    determined : bool
        Whether the data, not a bound or the weak prior, give the value.
    partner : str
        The parameter that gives most of its variance, by the square of their correlation; empty: none does.
    correlation : float
        With that partner.
    words : str
        What to know of it.
    """

    name: str
    attribute: str
    unit: str
    joints: tuple[int, ...]
    value: float
    sd: float
    low: float
    high: float
    determined: bool
    partner: str
    correlation: float
    words: str

    @property
    def common(self) -> bool:
        """Whether it is a value of the whole robot, such as one delay, not of named joints."""
        return self.name == self.attribute

    @property
    def half(self) -> float:
        """Half width of the interval, the larger side of it."""
        return max(self.high - self.value, self.value - self.low)

    @property
    def bounded_above_only(self) -> bool:
        """Whether the data give an upper bound of a value that cannot be negative, and no more."""
        return self.determined and self.low <= QUANTITIES[self.attribute].lower


def covariance(search: Search, point: Point, normal: Normal) -> tuple[Array, Array]:
    """Covariance of the parameters by data, priors of the user and weak priors, and degrees of freedom of each.

    Fisher information of errors whose correlation counts (each joint's own inflation), or, where that is larger, the
    variance of scores that the encoders' steps cause (`_steps`), or that of the pieces' scores (White 1982); and
    where the model misses what the encoders show, the variance between motions (`_between`).
    """
    runs = search.runs
    shown = runs.simulate(point)
    errors = runs.missed(point, shown)
    inflation = correlation(errors)
    inverse = search.inverse(normal, point.theta)
    factor = float((normal.squares * inflation).sum() / (normal.count * len(inflation)))
    factor /= search.scale**2 * search.inflation
    C = inverse * max(factor, 1e-300)
    C = _widened(C, inverse @ _steps(search, point, normal, shown) @ inverse)
    count = sum(len(e) / inflation for e in errors)
    freedom, m = max(1.0, float(np.sum(count)) - len(point.theta)), len(normal.blocks)
    if m < _PIECES:
        C = C * max(1.0, _heterogeneity(normal, point, factor))
    else:
        scores = np.array([_score(made, len(point.theta)) for made in normal.blocks])
        scores = scores - scores.mean(axis=0)
        C, freedom = _widened(C, inverse @ (scores.T @ scores * m / (m - 1)) @ inverse), min(freedom, m - 1.0)
    if search.scatter is not None:
        C = C + search.scatter
    each = np.full(len(C), freedom)
    if normal.rms <= MISFIT * float(np.sqrt(np.mean(runs.noise**2))):
        return C, each
    between, groups = _between(search, point, normal)
    wider = np.diag(between) > np.diag(C)
    return _widened(C, between), np.where(wider, np.minimum(each, groups - 1.0), each)


def _between(search: Search, point: Point, normal: Normal) -> tuple[Array, int]:
    """Covariance of the parameters by how far they move where one motion is left out, and the number of motions.

    The jackknife, ``C = (m - 1) / m sum_k (theta_k - mean) (theta_k - mean)'`` (Efron and Tibshirani 1993, ch. 11),
    theta_k being the fit without motion k by one Gauss-Newton step. Errors of the model are neither independent between
    samples nor between repetitions of one motion: what they do to the parameters shows between motions only. Fewer than
    three motions: between pieces; fewer pieces than three: zero.
    """
    motions = [piece.recording.motion for piece in search.runs.pieces]
    group = motions if len(set(motions)) >= 3 else [str(k) for k in range(len(motions))]
    names, size = list(dict.fromkeys(group)), len(point.theta)
    if len(names) < 3:
        return np.zeros((size, size)), len(names)
    pieces = [[k for k, other in enumerate(group) if other == name] for name in names]
    left = [search.without(normal, point.theta, own) for own in pieces]
    away = np.array(left) - np.mean(left, axis=0)
    return np.asarray((len(names) - 1) / len(names) * away.T @ away), len(names)


def _heterogeneity(normal: Normal, point: Point, factor: float) -> float:
    """How much farther the estimates of the pieces are apart than their covariances let expect.

    ``Q / dof`` with Cochran's ``Q = sum_m (theta_m - theta)' A_m (theta_m - theta)`` in units of the errors' variance
    (Cochran 1954; as a factor of variances: Birge 1932): one number of all parameters, for pieces too few to give each
    parameter a variance of its own.
    """
    size, total, rank = len(point.theta), 0.0, 0
    least = 1e-12 * np.maximum(np.diag(normal.A), 0.0)
    for made in normal.blocks:
        A, s = np.zeros((size, size)), _score(made, size)
        for block in made:
            A[np.ix_(block.places, block.places)] += block.eliminated(block.A[:, : len(block.places)])
        known = np.flatnonzero(np.diag(A) > least)
        D = np.sqrt(np.diag(A)[known])
        scaled = A[np.ix_(known, known)] / np.outer(D, D)
        if not (len(known) and np.isfinite(scaled).all() and np.isfinite(s).all()):
            continue
        w, V = np.linalg.eigh(scaled)
        kept = w > _RANK * w[-1]
        total += float((((V.T @ (s[known] / D))[kept]) ** 2 / w[kept]).sum())
        rank += int(kept.sum())
    return total / max(rank - size, 1) / max(factor, 1e-300)


def _widened(C: Array, other: Array) -> Array:
    """A covariance with the larger of both variances."""
    grow = np.sqrt(np.maximum(np.diag(other), 1e-300) / np.maximum(np.diag(C), 1e-300))
    grow = np.maximum(grow, 1.0)
    return np.asarray(C * np.outer(grow, grow))


def _score(made: Sequence[Block], size: int) -> Array:
    """Gradient of one piece in the parameters, its initial state eliminated."""
    g = np.zeros(size)
    for block in made:
        g[block.places] += block.eliminated(block.g)
    return g


def _steps(search: Search, point: Point, normal: Normal, shown: Sequence[Array]) -> Array:
    """Covariance of the score where encoders have steps: their error is a function of the position.

    Rounding to steps D errs by a sawtooth of the position x; with its phase unknown, the errors' covariance is

        E e(x) e(y) = (D^2 / 12) sum_k a_k cos(2 pi k (x - y) / D),   a_k = (6 / (pi k)^2) exp(-(2 pi k s / D)^2),

    dithered by other errors of variance s^2 (Widrow and Kollar 2008, ch. 9), so that samples of a joint at rest or at
    its turning points repeat one error. Other errors count as independent here.
    """
    runs, size = search.runs, len(point.theta)
    quantum = quantum_of([data.q for data in runs.recordings])
    variance = normal.squares / normal.count
    quantum = np.where(np.isfinite(quantum), np.minimum(quantum, np.sqrt(12.0 * variance)), 1e-9)
    rest = np.maximum(variance - quantum**2 / 12.0, 0.0)
    k = np.arange(1, _HARMONICS + 1)
    shares = 6 / (np.pi * k) ** 2 * np.exp(-((2 * np.pi * k * np.sqrt(rest)[:, None] / quantum[:, None]) ** 2))

    def use(index: int, branch: Branch, places: list[int], start: Array, q: Array, S: Array) -> Array:
        block = next(b for b in normal.blocks[index] if b.places == places)
        made = np.zeros((size, size))
        for place, j in enumerate(branch.joints):
            r = runs.pieces[index].measured[:, j] - shown[index][:, j]
            phase = 2 * np.pi * np.outer(shown[index][:, j], k) / quantum[j]
            waves = np.hstack([np.cos(phase), np.sin(phase)]) * np.tile(np.sqrt(shares[j]), 2) * quantum[j] / 12**0.5
            g = block.eliminated((S[:, place] * search.rho(r)[1][:, None]).T @ waves)
            made[np.ix_(places, places)] += g @ g.T
        return made

    total = sum(sum(made) for made in runs.linearised(point, use))
    others = float(np.mean(variance - quantum**2 / 12.0 * shares.sum(axis=1))) / (search.scale**2 * search.inflation)
    return np.asarray(total + max(others, 0.0) * normal.A)


def estimates(
    search: Search, point: Point, normal: Normal, weak: Array, ratios: Sequence[int]
) -> tuple[tuple[Estimate, ...], Array]:
    """All parameters, and their covariance.

    Parameters
    ----------
    weak
        Standard deviations of the weak priors; infinite where the user gave a prior.
    ratios
        Joints whose gain nothing known fixes.
    """
    C, freedom = covariance(search, point, normal)
    sd = np.sqrt(np.maximum(np.diag(C), 0.0))
    unit = np.where(sd > 0, sd, np.inf)
    rho = C / unit / unit[:, None]
    width = stdtrit(freedom, 0.975)
    parameters, made = search.runs.parameters, []
    for i, p in enumerate(parameters):
        others = np.abs(rho[i]).copy()
        others[i] = 0.0
        best = int(others.argmax()) if len(others) > 1 else i
        partner = parameters[best].name if others[best] ** 2 > 1.0 - others[best] ** 2 else ""
        value = float(point.theta[i])
        low, high = max(value - width[i] * sd[i], p.lower), min(value + width[i] * sd[i], p.upper)
        ratio = p.joints[0] in ratios and p.attribute in SCALED
        opened = bool(sd[i] > weak[i] - sd[i]) or ratio  # the greater part of the weak prior's deviation is left
        if opened:
            low, high = p.lower, p.upper
        words = _words(p, value, low, high, opened, partner, float(rho[i, best]), ratio)
        made.append(
            Estimate(p.name, p.attribute, p.unit, p.joints, value, float(sd[i]), low, high, not opened, partner,
                     float(rho[i, best]) if partner else 0.0, words)
        )  # fmt: skip
    return tuple(made), C


def _words(
    p: Parameter, value: float, low: float, high: float, opened: bool, partner: str, rho: float, ratio: bool
) -> str:
    near = f", traded with {partner}" if partner else ""
    if ratio:
        assumed = "no known torque fixes the gain: assumed; only ratios to kp are found"
        return assumed if p.attribute == "kp" else "ratio to kp is found, the value carries the assumed kp"
    if opened:
        return f"not determined{near}"
    if low <= p.lower == 0.0:
        return f"at most {high:.3g}{near}"
    if value <= p.lower or value >= p.upper:
        return f"at its bound{near}"
    return f"traded with {partner} ({rho:+.2f})" if near else ""


def gain_ratios(
    parameters: Sequence[Parameter], theta: Array, C: Array, width: float
) -> dict[str, tuple[float, float]]:
    """Ratios of a drive's parameters to its kp with half widths of 95 %, by name."""
    place = {(p.attribute, k): i for i, p in enumerate(parameters) for k in p.joints}
    found = {}
    for i, p in enumerate(parameters):
        g = place.get(("kp", p.joints[0]))
        if p.attribute not in SCALED[1:] or g is None:
            continue
        ratio = theta[i] / theta[g]
        slope = np.array([1.0 / theta[g], -ratio / theta[g]])
        spread = float(np.sqrt(max(slope @ C[np.ix_([i, g], [i, g])] @ slope, 0.0)))
        found[f"{p.name} / kp"] = (float(ratio), width * spread)
    return found
