"""Intervals that enclose every value of an expression."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import as_function, enclose, may_hide, required_domains
from casid.expressions._walk import BINARY, UNARY

N = 4


UNARY_CODES, BINARY_CODES = sorted(UNARY), sorted(BINARY - {ca.OP_PRINTME})


def random_graph(rng: np.random.Generator, x: ca.SX, size: int) -> ca.SX:
    """A random graph of every operation, whose inputs and constants are often small integers, where rules break."""
    pool = [x[k] for k in range(x.numel())]
    for _ in range(size):
        if rng.random() < 0.2:
            pool.append(ca.SX(rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, rng.normal()])))
        elif rng.random() < 0.5:
            pool.append(ca.SX.unary(int(rng.choice(UNARY_CODES)), pool[rng.integers(len(pool))]))
        else:
            a, b = (pool[k] for k in rng.integers(len(pool), size=2))
            pool.append(ca.SX.binary(int(rng.choice(BINARY_CODES)), a, b))
    return ca.vertcat(*pool[-size:])


def check_enclosure(seed: int) -> int:
    """Every value of a random graph at random points of random boxes is enclosed; returns how many were compared."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", N)
    function = as_function(random_graph(rng, x, 25), x)
    boxes, points = 3, 40
    ends = rng.choice([-3.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0, 1e3, 1e-3, rng.normal()], size=(2, N, boxes))
    low, high = ends.min(axis=0), ends.max(axis=0)
    ranges = enclose(function, low, high)
    share = rng.random((N, boxes, points))
    share[:, :, :8] = rng.integers(2, size=(N, boxes, 8))  # corners
    inside = np.clip(low[:, :, None] + share * (high - low)[:, :, None], low[:, :, None], high[:, :, None])
    values = np.array(function.map(boxes * points)(inside.reshape(N, -1))).reshape(-1, boxes, points)
    for entry, (value, interval) in enumerate(zip(values, ranges, strict=True)):
        bottom, top = (np.broadcast_to(b, boxes)[:, None] for b in (interval.low, interval.high))
        undefined = np.broadcast_to(interval.undefined, boxes)[:, None]
        missed = np.where(np.isnan(value), ~undefined, (value < bottom) | (value > top))
        assert not missed.any(), f"seed {seed}, entry {entry}: {value[missed]} outside {interval}"
    return values.size


@pytest.mark.claim("interval arithmetic encloses every operation, numeric conditions included")
def test_interval_arithmetic_encloses_random_graphs():
    assert sum(check_enclosure(seed) for seed in range(120)) > 100_000


def test_a_known_quotient_takes_its_range(x):
    function = as_function(ca.vertcat(x[0] / x[3], x[1] / x[3] + x[1]), x)
    free = np.full(N, np.inf)
    com, other = enclose(function, -free, free, {(0, 3): np.array([-0.1, 0.2])})
    assert (com.low, com.high, com.entries, com.quotients) == (-0.1, 0.2, frozenset(), frozenset({(0, 3)}))
    assert other.entries == {1, 3}
    assert np.isinf(other.high)


def rows_at(expression: ca.SX, x: ca.SX, point: list[float]) -> np.ndarray:
    rows = required_domains(expression, x)
    return np.array(ca.Function("rows", [x], [ca.vertcat(*rows)])(point)).ravel()


def test_a_root_inside_a_comparison_demands_its_argument(x):
    expression = ca.if_else(ca.sqrt(x[0]) < 2.0, x[1], x[2])
    np.testing.assert_allclose(rows_at(expression, x, [-3.0, 0.0, 0.0, 0.0]), [-3.0])


def test_both_sides_of_an_arc_sine_inside_a_maximum(x):
    expression = ca.fmax(ca.asin(x[0]), x[1])
    np.testing.assert_allclose(sorted(rows_at(expression, x, [1.5, 0.0, 0.0, 0.0])), [-0.5, 2.5])


def test_a_branch_demands_nothing_where_it_is_not_taken(x):
    expression = ca.if_else(x[1] > 0, ca.fmin(ca.log(x[0]), 1.0), 0.0)
    assert rows_at(expression, x, [-4.0, 1.0, 0.0, 0.0]).min() == -4.0
    assert rows_at(expression, x, [-4.0, -1.0, 0.0, 0.0]).min() == 0.0


def test_what_shows_itself_or_holds_everywhere_gives_no_row(x):
    assert required_domains(ca.sqrt(x[0]), x) == ()  # NaN is its own sign
    assert required_domains(ca.fmax(ca.sqrt(1 + x[0] ** 2), x[1]), x) == ()
    assert not may_hide(as_function(ca.sqrt(x[0]), x)) and may_hide(as_function(ca.fmax(ca.log(x[0]), 0), x))
