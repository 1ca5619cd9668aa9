"""Links' physical quantities, twice: as the library's expressions, and in numpy for many points at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

_PLACE = {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 1): 3, (1, 2): 4, (2, 2): 5}


class NumpyFunctions:
    """The functions that formulas use, on arrays of points."""

    sin, cos, tanh, exp, log = np.sin, np.cos, np.tanh, np.exp, np.log
    sqrt, fabs, floor, sign = np.sqrt, np.abs, np.floor, np.sign
    fmin, fmax, fmod, atan2 = np.fmin, np.fmax, np.fmod, np.arctan2

    @staticmethod
    def erf(a: Any) -> Any:
        return np.vectorize(math.erf, otypes=[float])(a)

    @staticmethod
    def if_else(test: Any, a: Any, b: Any) -> Any:
        return np.where(np.asarray(test) != 0, a, b)

    @staticmethod
    def table(knots: Any, values: Any, a: Any) -> Any:
        knots, values, a = np.asarray(knots), np.asarray(values), np.asarray(a, dtype=float)
        piece = np.clip(np.searchsorted(knots, a, side="right") - 1, 0, len(knots) - 2)
        share = (a - knots[piece]) / (knots[piece + 1] - knots[piece])
        return values[piece] + share * (values[piece + 1] - values[piece])

    @staticmethod
    def called(a: Any, b: Any, kind: str) -> Any:
        return a * b + np.sin(a)

    @staticmethod
    def where(arguments: Any, value: Any) -> Any:
        """The value where all arguments are >= 0, by the stated rule; NaN elsewhere."""
        held = np.all([np.asarray(a) >= 0 for a in arguments], axis=0)
        return np.where(held, value, np.nan)

    @staticmethod
    def both(a: Any, b: Any) -> Any:
        return ((np.asarray(a) != 0) & (np.asarray(b) != 0)) * 1.0

    @staticmethod
    def either(a: Any, b: Any) -> Any:
        return ((np.asarray(a) != 0) | (np.asarray(b) != 0)) * 1.0

    @staticmethod
    def no(a: Any) -> Any:
        return (np.asarray(a) == 0) * 1.0


class CasadiFunctions:
    """The same, as expressions."""

    sin, cos, tanh, exp, log = ca.sin, ca.cos, ca.tanh, ca.exp, ca.log
    sqrt, fabs, floor, sign = ca.sqrt, ca.fabs, ca.floor, ca.sign
    fmin, fmax, fmod, atan2, erf = ca.fmin, ca.fmax, ca.fmod, ca.atan2, ca.erf
    if_else, both, either, no = ca.if_else, ca.logic_and, ca.logic_or, ca.logic_not

    @staticmethod
    def table(knots: Any, values: Any, a: Any) -> Any:
        return ca.interpolant("table", "linear", [list(map(float, knots))], list(map(float, values)))(a)

    @staticmethod
    def called(a: Any, b: Any, kind: str) -> Any:
        s = (ca.SX if kind == "SX" else ca.MX).sym("s", 2)
        own = ca.Function("own", [s], [s[0] * s[1] + ca.sin(s[0])], {"never_inline": True})
        if kind == "map":
            return own.map(2)(ca.horzcat(ca.vertcat(a, b), ca.vertcat(a, b)))[0]
        return own(ca.vertcat(a, b))

    @staticmethod
    def where(arguments: Any, value: Any) -> Any:
        return value


@dataclass(frozen=True, eq=False)
class Body:
    """One link: mass, first moment, centre of mass, inertia about the frame's origin and about the centre of mass."""

    m: Any
    l: Any  # noqa: E741
    c: Any
    L: Any
    I: Any  # noqa: E741


@dataclass(frozen=True, eq=False)
class Quantities:
    """What a formula may use."""

    links: Sequence[Body]
    extras: Sequence[Any]


def in_numpy(x: np.ndarray, links: int) -> Quantities:
    """Quantities of points x, shape (N,) or (N, B), by textbook formulas."""
    bodies = []
    with np.errstate(all="ignore"):
        for k in range(links):
            ten = x[10 * k : 10 * k + 10]
            m, moment = ten[9], ten[6:9]
            c = moment / m
            L = [[ten[_PLACE[min(i, j), max(i, j)]] for j in range(3)] for i in range(3)]
            size = m * (c[0] ** 2 + c[1] ** 2 + c[2] ** 2)
            about = [[L[i][j] - (size if i == j else 0.0) + m * c[i] * c[j] for j in range(3)] for i in range(3)]
            bodies.append(Body(m, moment, c, L, about))
    return Quantities(bodies, x[10 * links :])


def in_casadi(variables: Any) -> Quantities:
    """Quantities as a user of the library writes them."""
    bodies = []
    for link in variables.links:
        com, moment, about, L = link.com, link.first_moment, link.inertia_com, link.inertia
        matrix = [[[source[i, j] for j in range(3)] for i in range(3)] for source in (L, about)]
        bodies.append(Body(link.mass, [moment[k] for k in range(3)], [com[k] for k in range(3)], matrix[0], matrix[1]))
    return Quantities(bodies, [variables.extra(name) for name in variables.extras])


def pseudo_inertias(x: np.ndarray, link: int) -> np.ndarray:
    """``[[tr(L)/2 1 - L, l], [l', m]]`` of points x, shape (N, B); result (B, 4, 4)."""
    xx, xy, xz, yy, yz, zz, lx, ly, lz, m = x[10 * link : 10 * link + 10]
    half = (xx + yy + zz) / 2
    rows = [[half - xx, -xy, -xz, lx], [-xy, half - yy, -yz, ly], [-xz, -yz, half - zz, lz], [lx, ly, lz, m]]
    return np.moveaxis(np.array(rows), -1, 0)


def spatial_inertias(x: np.ndarray, link: int) -> np.ndarray:
    """``[[L, S(l)], [S(l)', m 1]]`` of points x, shape (N, B); result (B, 6, 6)."""
    xx, xy, xz, yy, yz, zz, lx, ly, lz, m = x[10 * link : 10 * link + 10]
    o = np.zeros_like(m)
    S = [[o, -lz, ly], [lz, o, -lx], [-ly, lx, o]]
    L = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    upper = [[*L[i], *S[i]] for i in range(3)]
    lower = [[*(S[j][i] for j in range(3)), *(m if i == j else o for j in range(3))] for i in range(3)]
    return np.moveaxis(np.array(upper + lower), -1, 0)
