"""Formulas of constraints, from convex to hostile: each makes a function of (functions, quantities), random but seeded.

A formula is written once and evaluated twice, as an expression of the library and in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.attack.quantities import Quantities

Formula = Callable[[Any, Quantities], Any]


@dataclass(frozen=True)
class Scene:
    """What formulas are scaled by: masses [kg] and lengths [m] of the links, and the true bodies."""

    mass: np.ndarray
    length: np.ndarray
    truth: Quantities


def _pick(rng: np.random.Generator, scene: Scene) -> tuple[int, float, float]:
    k = int(rng.integers(len(scene.mass)))
    return k, float(scene.mass[k]), float(scene.length[k])


def _axis(rng: np.random.Generator) -> int:
    return int(rng.integers(3))


def _sign(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]))


def _near(rng: np.random.Generator, value: Any, scale: float) -> float:
    """A threshold near a true value, now and then very near."""
    return float(value) + scale * float(rng.choice([-1, 1])) * float(rng.choice([1e-9, 1e-3, 0.1, 0.5]))


# ------------------------------------------------------------------ convex, or linear over a mass


def linear(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    a, u = rng.normal(size=3), _axis(rng)
    return lambda f, q: (
        a[0] * q.links[k].m / m + a[1] * q.links[k].l[u] / (m * s) + a[2] * q.links[k].L[u][u] / (m * s * s)
    )


def centre(rng: np.random.Generator, scene: Scene) -> Formula:
    k, _, s = _pick(rng, scene)
    a = rng.normal(size=3)
    return lambda f, q: sum(a[i] * q.links[k].c[i] for i in range(3)) / s


def ball(rng: np.random.Generator, scene: Scene) -> Formula:
    k, _, s = _pick(rng, scene)
    p, w = rng.normal(size=3), rng.choice([0.0, 0.3, 1.0], 3) + 0.01
    return lambda f, q: -sum(w[i] * (q.links[k].c[i] / s - p[i]) ** 2 for i in range(3))


def cone(rng: np.random.Generator, scene: Scene) -> Formula:
    k, _, s = _pick(rng, scene)
    h, t = rng.normal(), rng.uniform(0.2, 2.0)
    return lambda f, q: (h + t * q.links[k].c[2] / s) ** 2 - (q.links[k].c[0] / s) ** 2 - (q.links[k].c[1] / s) ** 2


def inertia(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    i, j, sign = _axis(rng), _axis(rng), _sign(rng)
    return lambda f, q: sign * q.links[k].I[i][j] / (m * s * s)


def extra(rng: np.random.Generator, scene: Scene) -> Formula:
    count = len(scene.truth.extras)
    if not count:
        return linear(rng, scene)
    e, a, (k, m, _) = int(rng.integers(count)), rng.normal(), _pick(rng, scene)
    return lambda f, q: q.extras[e] + a * q.links[k].m / m


# ------------------------------------------------------------------ polynomial and trigonometric


def product(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    i, j, sign = _axis(rng), _axis(rng), _sign(rng)
    return lambda f, q: sign * q.links[k].c[i] * q.links[k].c[j] / s**2 + 0.1 * q.links[k].m / m


def polynomial(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    o, mo, so = _pick(rng, scene)
    a, i, p = rng.normal(size=4), _axis(rng), int(rng.integers(2, 5))
    return lambda f, q: (
        a[0] * (q.links[k].c[i] / s) ** p
        + a[1] * (q.links[k].m / m) ** 2
        + a[2] * (q.links[o].l[i] / (mo * so)) * (q.links[k].l[0] / (m * s))
        + a[3] * q.links[k].I[i][i] / (m * s * s)
    )


def trigonometric(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    a, w, i = rng.normal(size=3), rng.uniform(1, 12, 2), _axis(rng)
    return lambda f, q: a[0] * f.sin(w[0] * q.links[k].c[i] / s) + a[1] * f.cos(w[1] * q.links[k].m / m + a[2])


def angle(rng: np.random.Generator, scene: Scene) -> Formula:
    k, _, _ = _pick(rng, scene)
    sign = _sign(rng)
    return lambda f, q: sign * f.atan2(q.links[k].c[1], q.links[k].c[0])


# ------------------------------------------------------------------ saturating: near linear or quadratic at most places


def saturating(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    i, sign, w = _axis(rng), _sign(rng), float(rng.choice([3.0, 30.0, 200.0]))
    kind = int(rng.integers(6))
    at = float(scene.truth.links[k].m) * rng.uniform(0.5, 1.5)

    def formula(f: Any, q: Quantities) -> Any:
        c, mass = q.links[k].c[i] / s, (q.links[k].m - at) / m
        bump = [
            lambda: f.tanh(w * mass),
            lambda: 1 / (1 + f.exp(-w * c)),
            lambda: f.erf(w * mass),
            lambda: f.exp(-((w * mass) ** 2)),
            lambda: f.sqrt(c**2 + 1e-12),
            lambda: f.tanh(w * q.links[k].l[i] / (m * s)),
        ][kind]()
        return sign * bump - q.links[k].c[(i + 1) % 3] / s

    return formula


# ------------------------------------------------------------------ piecewise


def rule(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    at, a, i = _near(rng, scene.truth.links[k].m, m), rng.normal(size=2), _axis(rng)
    return lambda f, q: f.if_else(q.links[k].m > at, a[0], a[1]) - q.links[k].l[i] / (m * s)


def twin_rules(rng: np.random.Generator, scene: Scene) -> Formula:
    k, _, s = _pick(rng, scene)
    at, a, i = _near(rng, scene.truth.links[k].c[0], s), rng.normal(size=4), _axis(rng)
    return lambda f, q: (
        f.if_else(q.links[k].c[0] < at, a[0], a[1] * q.links[k].c[i] / s)
        + f.if_else(q.links[k].c[0] < at + 1e-9 * s, a[2], a[3])
        - q.links[k].c[2] / s
    )


def number_rule(rng: np.random.Generator, scene: Scene) -> Formula:
    k, _, s = _pick(rng, scene)
    a = rng.normal(size=2)
    return lambda f, q: f.if_else(q.links[k].c[0], a[0], a[1]) - q.links[k].c[1] / s


def logic(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    i, kind = _axis(rng), int(rng.integers(4))
    mass, centre = _near(rng, scene.truth.links[k].m, m), _near(rng, scene.truth.links[k].c[i], s)

    def formula(f: Any, q: Quantities) -> Any:
        far, heavy = q.links[k].c[i] > centre, q.links[k].m > mass
        return [f.either(far, heavy), f.both(far, heavy), f.no(f.both(far, heavy)), f.either(far, f.no(heavy))][kind]

    return formula


def rounding(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    i, kind = _axis(rng), int(rng.integers(3))
    return lambda f, q: [
        f.floor(4 * q.links[k].c[i] / s),
        f.sign(q.links[k].c[i]) + f.floor(2 * q.links[k].m / m),
        f.fmod(3 * q.links[k].m / m, 1.0) - q.links[k].c[i] / s,
    ][kind]


def either_or(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    a, kind = rng.normal(size=3), int(rng.integers(5))
    i, j = _axis(rng), _axis(rng)

    def formula(f: Any, q: Quantities) -> Any:
        u, v, w = q.links[k].c[i] / s - a[0], a[1] - q.links[k].c[j] / s, q.links[k].m / m - a[2]
        return [
            f.fmax(u, v),
            f.fmin(f.fmax(u, v), w),
            f.fmax(f.fmin(u, v), w),
            f.fmin(u, 1.0),
            f.fabs(u) - f.fabs(v),
        ][kind]

    return formula


# ------------------------------------------------------------------ calls, and points without a value


def table(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    knots, values = np.sort(rng.normal(size=5)) + 0.05 * np.arange(5), rng.normal(size=5)
    i, kind, at = _axis(rng), int(rng.integers(3)), _near(rng, scene.truth.links[k].c[1], s)

    def formula(f: Any, q: Quantities) -> Any:
        own = f.table(knots, values, q.links[k].c[i] / s)
        return [
            own,
            f.if_else(q.links[k].c[1] > at, own, 0.0),
            f.if_else(own > 0.1, q.links[k].c[0] / s, q.links[k].m / m),
        ][kind]

    return formula


def called(rng: np.random.Generator, scene: Scene) -> Formula:
    k, m, s = _pick(rng, scene)
    i, how, kind = _axis(rng), str(rng.choice(["SX", "MX", "map"])), int(rng.integers(3))

    def formula(f: Any, q: Quantities) -> Any:
        own = f.called(q.links[k].c[i] / s, q.links[k].m / m, how)
        return [own, f.fmin(own, 0.5), f.if_else(own > 0, q.links[k].c[0] / s, own)][kind]

    return formula


def root(rng: np.random.Generator, scene: Scene) -> Formula:
    """A root, a logarithm or an arc sine whose NaN a condition, a minimum or a maximum hides."""
    k, _, s = _pick(rng, scene)
    kind, room = int(rng.integers(5)), float(rng.choice([1e-3, 0.1, 1.0]))
    reach = float(scene.truth.links[k].c[1] / s) ** 2 + room

    def formula(f: Any, q: Quantities) -> Any:
        a, b = q.links[k].c[0] / s, q.links[k].c[1] / s
        inside = reach - b**2
        value = [
            lambda: f.if_else(a < f.sqrt(inside), -1.0, 1.0) - a,
            lambda: f.fmin(f.sqrt(inside), 0.5) + a,
            lambda: f.fmax(f.log(inside), a),
            lambda: f.either(f.sqrt(inside) < 0.2, a > 0) + 0.0,
            lambda: f.if_else(a > 0, f.fmin(f.sqrt(inside), 1.0), a),
        ][kind]()
        return f.where([f.if_else(a > 0, inside, 1.0) if kind == 4 else inside], value)

    return formula


CALLS = (table, called)
DOMAINS = (root,)
CONVEX = (linear, centre, ball, inertia, extra)
SMOOTH = (cone, product, polynomial, trigonometric, angle, saturating)
PIECEWISE = (rule, twin_rules, number_rule, logic, rounding, either_or)
#: Formulas whose values jump, so that a bound is put between them.
STEPS = (logic, rounding)
