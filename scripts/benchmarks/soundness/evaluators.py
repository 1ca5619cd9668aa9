"""The reading of graphs against CasADi's own evaluation: a row of the table ``soundness``.

Random graphs over every scalar operation, inlined and opaque calls included, are evaluated by CasADi's Function, by
the walk in numpy's arithmetic and by interval arithmetic, at points of all sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from benchmarks.measure import Rows
from casid.expressions import NumpyFunction, as_function, enclose, rebuild
from casid.expressions._walk import BINARY, MATRIX, NAMES, UNARY, OperationError

row = Rows()

Array = np.ndarray[Any, np.dtype[np.float64]]
GRAPHS, POINTS = 2000, 500
#: Unknowns and operations of a graph; relative difference that is rounding.
_UNKNOWNS, _SIZE, _ROUNDING = 4, 12, 1e-9
_SCALAR = [*((code, 1) for code in sorted(UNARY)), *((code, 2) for code in sorted(BINARY))]


@dataclass
class Tally:
    """What many graphs came to; ``wrong`` holds the seed and the kind of each disagreement."""

    points: int = 0
    calls: int = 0
    undefined: int = 0
    jumps: int = 0
    used: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def _callee(rng: np.random.Generator) -> ca.Function:
    """A function of two scalars that a graph calls: one of scalars, or a table, which is opaque."""
    if rng.random() < 0.5:
        s = ca.SX.sym("s", 2)
        return ca.Function("own", [s], [ca.sin(s[0]) * s[1] + s[1]], {"never_inline": True})
    knots = [np.linspace(-2.0, 2.0, 5).tolist()] * 2
    return ca.interpolant("table", "linear", knots, rng.normal(size=25).tolist())


def graph(seed: int) -> tuple[ca.SX, ca.SX, set[int], int]:
    """A random expression, its unknowns, its operations and its number of calls."""
    rng = np.random.default_rng([25, seed])
    x = ca.SX.sym("x", _UNKNOWNS)
    nodes = [*(x[k] for k in range(_UNKNOWNS)), *(ca.SX(float(c)) for c in rng.choice([0.0, 1.0, -1.0, 0.5, 3.0], 2))]
    used, calls = set(), 0
    for k in range(_SIZE):
        code, count = (
            _SCALAR[(seed * _SIZE + k * 7) % len(_SCALAR)] if k % 2 else _SCALAR[int(rng.integers(len(_SCALAR)))]
        )
        operands = [nodes[int(rng.integers(max(0, len(nodes) - 8), len(nodes)))] for _ in range(count)]
        nodes.append(rebuild(code, operands))
        used.add(code)
        if rng.random() < 0.03:
            nodes.append(_callee(rng)(ca.vertcat(nodes[-1], nodes[int(rng.integers(len(nodes)))])))
            calls += 1
    return ca.vertcat(*nodes[-3:]), x, used, calls


def points(rng: np.random.Generator, count: int) -> Array:
    """Points of all sizes, shape (unknowns, count): zeros, ones, halves and equal entries among them."""
    x = rng.normal(size=(_UNKNOWNS, count)) * 10.0 ** rng.choice([-8.0, -1.0, 0.0, 0.0, 1.0, 4.0], (_UNKNOWNS, count))
    special = rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, np.pi], (_UNKNOWNS, count))
    x = np.where(rng.random(x.shape) < 0.2, special, x)
    same = rng.random(count) < 0.1
    x[1, same] = x[0, same]
    return np.asarray(x)


def attack(seed: int, count: int, tally: Tally) -> None:
    """One graph at so many points."""
    expression, x, used, calls = graph(seed)
    function, at = as_function(expression, x), points(np.random.default_rng([26, seed]), count)
    walked = NumpyFunction(expression, x)
    own, mine = np.array(function.map(count)(at)), np.array([walked.by_numpy(point) for point in at.T]).T
    ranges = enclose(function, at, at)
    low, high, undefined = (
        np.array([np.broadcast_to(getattr(r, name), count) for r in ranges]) for name in ("low", "high", "undefined")
    )
    with np.errstate(all="ignore"):
        same = (
            (np.abs(own - mine) <= _ROUNDING * (1.0 + np.abs(own))) | (own == mine) | (np.isnan(own) & np.isnan(mine))
        )
        inside = (low <= own) & (own <= high)
    # what CasADi loses in a comparison or a minimum: undefined by the rule, whose rows are the proof's (`_domains`)
    lost = np.isnan(mine) & ~np.isnan(own)
    # rounding at a jump, or at the edge of a domain: the interval holds both
    jump = ~same & ~lost & np.where(np.isnan(own), undefined, inside)
    tally.points += count
    tally.calls += calls
    tally.undefined += int(np.isnan(mine).sum())
    tally.jumps += int(jump.sum())
    tally.used |= used
    for what, wrong in (
        ("value of the walk", ~same & ~lost & ~jump),
        ("NaN outside the interval", np.isnan(own) & ~undefined),
        ("outside its interval", ~np.isnan(mine) & ~np.isnan(own) & ~inside),
    ):
        if wrong.any():
            k, i = np.argwhere(wrong)[0]
            tally.wrong.append(f"seed {seed}, {what} at {at[:, i].tolist()}: {own[k, i]!r}, {mine[k, i]!r}")


def unnamed() -> list[str]:
    """Operations of matrices that are not refused by their name."""
    left = []
    for code in sorted(MATRIX):
        try:
            rebuild(code, [ca.SX.sym("a")])
            left.append(NAMES[code])
        except OperationError as error:
            left += [] if NAMES[code] in str(error) else [NAMES[code]]
    return left


@row("CasADi's own Function against the walk, 1,000,000 points, every operation", "equal or refused by name",
     "calls gave 0", quick=(100,), left_out=f"{GRAPHS - 100} of {GRAPHS} graphs")  # fmt: skip
def evaluated(graphs: int = GRAPHS, count: int = POINTS, first: int = 0) -> tuple[str, bool]:
    """All graphs."""
    tally, left = Tally(), unnamed()
    for seed in range(first, first + graphs):
        attack(seed, count, tally)
    missing = [NAMES[code] for code, _ in _SCALAR if code not in tally.used]
    text = (
        f"{len(tally.wrong)} of {tally.points} points of {graphs} graphs, {len(tally.used)} operations, {tally.calls} "
        f"calls; {tally.undefined} values undefined, {tally.jumps} at jumps; {len(MATRIX)} operations of matrices, "
        f"{len(left)} not refused by name"
    )
    return "\n".join([text, *tally.wrong[:5], *missing, *left]), not (tally.wrong or missing or left)
