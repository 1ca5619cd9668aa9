"""Retrieval problems with a known feasible point that is their optimum by construction, and a judge of what is claimed.

Nothing of casid is used: values are rational numbers (every float is one, so that nothing is rounded), feasibility is
plain numpy. A sum of squares ``|(W x - tau) / sd|^2 + light'x`` is given the optimum x by its residual
``r = W (W'W)^-1 (g - light) / 2 + noise``, g the gradient that the active bounds can carry: a mass at its bound, and
``M^*(z z')`` of a body at the margin of consistency with ``(J - margin 1) z = 0``. What the data do not determine is
held by the light part alone, against a bound.

Parameters of a link: ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m``, inertia about the link frame's origin;
``J = [[tr(L)/2 1 - L, l], [l', m]]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray
#: Bounds of every link: mass [kg], each coordinate of the centre of mass [m], least eigenvalue of J.
MASS, COM, MARGIN = (0.5, 8.0), (-0.3, 0.3), 1e-6
#: Largest violation, and relative gap, of what is called feasible and optimal; and what a proven bound may exceed.
FEASIBLE, GAP, ROUNDING = 1e-8, 1e-6, 1e-9


@dataclass(frozen=True)
class Operations:
    """What a constraint's expression is written with: numbers here, symbols elsewhere."""

    if_else: Callable[[Any, Any, Any], Any]
    fmin: Callable[[Any, Any], Any]
    fmax: Callable[[Any, Any], Any]


NUMBERS = Operations(lambda test, a, b: a if test else b, min, max)
#: ``lower <= expression(operations, mass, centre of mass) <= upper`` of the first link.
Expression = Callable[[Operations, Any, Sequence[Any]], Any]


@dataclass(frozen=True)
class Case:
    """A problem as numbers.

    Attributes
    ----------
    form : str
        How its objective is to be written: ``residual`` (squares of weighted residuals), ``data`` (from W and tau, the
        light part added), ``expanded`` (``x'H x + b'x + c``), ``linear``.
    planted : ndarray, shape (10 n,)
        A feasible point.
    """

    name: str
    form: str
    planted: Array
    light: Array
    W: Array = field(default_factory=lambda: np.zeros((0, 0)))
    tau: Array = field(default_factory=lambda: np.zeros(0))
    sd: float = 1.0
    expression: Expression | None = None
    lower: float = -np.inf
    upper: float = np.inf
    method: str = "direct"

    @property
    def links(self) -> int:
        """Number of links."""
        return len(self.planted) // 10

    @property
    def expanded(self) -> tuple[Array, Array, float]:
        """H, b and c of ``x'H x + b'x + c``, rounded."""
        W, tau = self.W / self.sd, self.tau / self.sd
        H = W.T @ W
        return (H + H.T) / 2, -2 * W.T @ tau + self.light, float(tau @ tau)

    def value(self, x: Array) -> Fraction:
        """The objective at x, not rounded."""
        at = [Fraction(float(v)) for v in x]
        if self.form == "expanded":
            H, b, c = self.expanded
            curved = sum((_dot(row, at) * v for row, v in zip(H, at, strict=True)), Fraction(0))
            return curved + _dot(b, at) + Fraction(c)
        sd = Fraction(self.sd)
        rows = zip(self.W, self.tau, strict=True)
        squares = sum((((_dot(row, at) - Fraction(float(t))) / sd) ** 2 for row, t in rows), Fraction(0))
        return squares + _dot(self.light, at)

    def violation(self, x: Array) -> float:
        """By how much x misses a bound, in its own units."""
        missed = [0.0]
        for ten in np.asarray(x).reshape(-1, 10):
            mass, com = ten[9], ten[6:9] / ten[9]
            missed += [MASS[0] - mass, mass - MASS[1], *(COM[0] - com), *(com - COM[1])]
            missed.append(MARGIN - float(np.linalg.eigvalsh(pseudo_inertia(ten))[0]))
        if self.expression is not None:
            value = self.expression(NUMBERS, float(x[9]), (x[6:9] / x[9]).tolist())
            missed += [self.lower - value, value - self.upper]
        return max(missed)


@dataclass(frozen=True)
class Claim:
    """What was said of a case: status, the objective, the proven bound, the point; None where it was refused."""

    status: str
    objective: float
    lower_bound: float
    x: Array | None


def falsehood(case: Case, claim: Claim) -> str:
    """What is false in a claim, in words; empty if nothing is."""
    attained = case.value(case.planted)
    assert case.violation(case.planted) <= FEASIBLE / 10, case.name
    if claim.status == "infeasible":
        return "infeasible, but a point is feasible"
    zero = _scale(case) * Fraction(2) ** -80  # a square of rounding
    if np.isfinite(claim.lower_bound) and Fraction(claim.lower_bound) - attained > ROUNDING * abs(attained) + zero:
        return f"bound {claim.lower_bound:.12g}, attained {float(attained):.12g}"
    if claim.x is None or claim.status not in ("optimal", "feasible"):
        return ""
    if case.violation(claim.x) > FEASIBLE:
        return f"{claim.status}, but a bound is missed by {case.violation(claim.x):.3g}"
    own = case.value(claim.x)
    if abs(own - Fraction(claim.objective)) > GAP * abs(own) + zero:
        return f"objective {claim.objective:.12g}, its point has {float(own):.12g}"
    if claim.status == "optimal" and own - attained > GAP * abs(attained) + zero:
        return f"optimal at {float(own):.12g}, attained {float(attained):.12g}"
    return ""


def cases(count: int, seed: int = 0) -> list[Case]:
    """So many cases; each is drawn from its own number."""
    kinds = (_fit, _fit, _fit, _linear, _rounded)
    return [kinds[k % len(kinds)](np.random.default_rng([seed, k]), k) for k in range(count)]


def _dot(row: Array, at: Sequence[Fraction]) -> Fraction:
    return sum((Fraction(float(a)) * v for a, v in zip(row, at, strict=True) if a), Fraction(0))


def _scale(case: Case) -> Fraction:
    """Size of the terms that the objective is made of."""
    x = np.abs(case.planted)
    terms = (np.abs(case.W) @ x + np.abs(case.tau)) / case.sd if len(case.tau) else np.zeros(1)
    return Fraction(float(terms @ terms)) + Fraction(float(np.abs(case.light) @ x)) + Fraction(1)


def pseudo_inertia(ten: Array) -> Array:
    """J of ten parameters, shape (4, 4)."""
    xx, xy, xz, yy, yz, zz, *moment, mass = ten
    L = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    J = np.zeros((4, 4))
    J[:3, :3] = np.trace(L) / 2 * np.eye(3) - L
    J[:3, 3] = J[3, :3] = moment
    J[3, 3] = mass
    return J


def _ten(J: Array) -> Array:
    L = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.array([L[0, 0], L[0, 1], L[0, 2], L[1, 1], L[1, 2], L[2, 2], *J[:3, 3], J[3, 3]])


def _body(rng: np.random.Generator, mass: float, flat: bool) -> tuple[Array, Array]:
    """A body, and the gradient that its cone can carry: zero unless it is flat to the margin."""
    com, axes = rng.uniform([0.01, -0.2, -0.2], 0.2), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    second = rng.uniform(0.03, 0.15, 3) ** 2 * mass
    J = np.zeros((4, 4))
    J[:3, :3] = axes @ np.diag(second) @ axes.T + mass * np.outer(com, com)
    J[:3, 3] = J[3, :3] = mass * com
    J[3, 3] = mass
    if not flat:
        return _ten(J), np.zeros(10)
    z = np.append(axes[:, 0], -axes[:, 0] @ com)  # across the plane through the centre of mass
    J[:3, :3] -= second[0] * np.outer(axes[:, 0], axes[:, 0])
    J += 1.0000001 * MARGIN * np.eye(4)
    unit = np.eye(10)
    return _ten(J), np.array([z @ pseudo_inertia(unit[k]) @ z for k in range(10)])


def _fit(rng: np.random.Generator, number: int) -> Case:
    """Data of any signal over noise, and a part of the objective of any weight."""
    n = int(rng.integers(1, 4))
    form = ("residual", "data", "expanded")[number % 3]
    n = min(n, 2) if form == "expanded" else n
    decades = rng.uniform(0, 3 if form == "expanded" else 9)
    free = n > 1 and rng.random() < 0.5  # the last link is not in the data
    x, carried, known = np.zeros(10 * n), np.zeros(10 * n), np.ones(10 * n, dtype=bool)
    light, weight = np.zeros(10 * n), 10 ** rng.uniform(-12, 0)
    rows = 10 * n + int(rng.integers(1, 15))
    for k in range(n):
        ten = slice(10 * k, 10 * k + 10)
        last = free and k == n - 1
        up = bool(rng.random() < 0.5)
        mass = MASS[int(up)] if last else float(rng.uniform(1.0, 4.0))
        x[ten], wall = _body(rng, mass, flat=not last and rng.random() < 0.3)
        carried[ten] = rng.uniform(0, 1) * wall
        if last:
            known[ten] = False
            x[10 * k + 9] = mass
        light[10 * k + 9] = weight * rows / mass * ((-1 if up else 1) if last else rng.normal())
        if last:
            carried[10 * k + 9] = light[10 * k + 9]
    W = np.zeros((rows, 10 * n))
    size = 10**decades * 10 ** rng.uniform(-2, 0, 10 * n) / np.maximum(np.abs(x), 1e-3)
    W[:, known] = rng.normal(size=(rows, int(known.sum()))) * size[known]
    basis, R = np.linalg.qr(W[:, known])
    noise = rng.normal(size=rows)
    noise -= basis @ (basis.T @ noise)
    residual = basis @ np.linalg.solve(R.T, (carried - light)[known] / 2) + noise
    sd = float(10 ** rng.uniform(-3, 1))
    case = f"{number}: {form}, {n} links, signal 1e{decades:.1f}, light {weight:.0e}{', one link free' * free}"
    return Case(case, form, x, light, W * sd, (W @ x - residual) * sd, sd)


def _linear(rng: np.random.Generator, number: int) -> Case:
    """The least or largest sum of masses, of any weight."""
    n = int(rng.integers(1, 4))
    weights = 10 ** (rng.uniform(-12, 12) + rng.uniform(-6, 0, n)) * rng.choice([-1.0, 1.0], n)
    if number % 50 == 3:
        weights = np.full(n, 1e300)
    x, light = np.zeros(10 * n), np.zeros(10 * n)
    for k, weight in enumerate(weights):
        x[10 * k : 10 * k + 10], _ = _body(rng, MASS[int(weight < 0)], flat=False)
        light[10 * k + 9] = weight
    return Case(f"{number}: linear, {weights}", "linear", x, light)


def _rounded(rng: np.random.Generator, number: int) -> Case:
    """A constant of a branch or an alternative that is one rounding off its bound; the point needs just that branch."""
    while True:
        a, b = rng.integers(1, 99, 2) / rng.choice([10, 100, 1000])
        least, most = sorted((float(a + b), float(np.round(a + b, 3))))
        if least < most:
            break
    x, _ = _body(rng, float(rng.uniform(2.0, 4.0)), flat=False)
    below = float(x[9]) - 1.0
    kinds: list[tuple[str, Expression, float, float]] = [
        ("if-else <=", lambda o, m, c: o.if_else(c[0] > 0, most, m + most), -np.inf, least),
        ("if-else >=", lambda o, m, c: o.if_else(c[0] > 0, least, most - 1 - m), most, np.inf),
        ("either <=", lambda o, m, c: o.fmin(most - least, m - below), -np.inf, 0.0),
        ("either >=", lambda o, m, c: o.fmax(least - most, below - m), 0.0, np.inf),
        ("both <=", lambda o, m, c: o.fmax(most, m - 100.0), -np.inf, least),
        ("nested", lambda o, m, c: o.fmin(o.fmax(most - least, m - 90.0), m - below), -np.inf, 0.0),
        ("of the centre", lambda o, m, c: o.if_else(c[0] > 0, least - most, -1.0 - c[1] * c[1]), 0.0, np.inf),
        ("range", lambda o, m, c: o.if_else(c[0] > 0, most, m + 50.0), least - 1, least),
    ]
    word, expression, lower, upper = kinds[int(rng.integers(len(kinds)))]
    method = ("direct", "branches")[int(rng.integers(2))]
    W = np.zeros((1, 10))
    W[0, 9] = 1.0
    name = f"{number}: {word}, {least!r} and {most!r}, {method}"
    return Case(name, "residual", x, np.zeros(10), W, x[9:].copy(), 1.0, expression, lower, upper, method)
