"""Reading graphs: structure instead of samples, intervals that enclose, conditions told apart exactly."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import affine_rows, conditions, enclose, polynomials
from casid.expressions._affine import is_affine
from casid.expressions._conditions import alternatives, choose, decided
from casid.expressions._interval_rules import BINARY, UNARY
from casid.expressions._polynomial import quadratic_form
from casid.expressions._smoothing import smooth
from casid.expressions._walk import as_function

N = 4
PIECEWISE = {
    "if_else": lambda a, b: ca.if_else(a > 4, 0.5, 0.1) - b,
    "logic_or": lambda a, b: ca.logic_or(a > 0.2, b > 3),
    "logic_and": lambda a, b: ca.logic_and(a, b),
    "not": lambda a, b: ca.logic_not(a),
    "floor": lambda a, b: ca.floor(4 * a) + b,
    "ceil": lambda a, b: ca.ceil(a),
    "sign": lambda a, b: ca.sign(a) * 2 + b,
    "comparison": lambda a, b: (a < b) + a,
    "equal": lambda a, b: a == b,
    "numeric condition": lambda a, b: ca.if_else(a, 1, 2) + b,
}
SATURATING = {
    "tanh": lambda a, m: ca.tanh(50 * (a / m)),
    "logistic": lambda a, m: 1 / (1 + ca.exp(-a)),
    "erf": lambda a, m: ca.erf(a / m),
    "gaussian": lambda a, m: 0.05 + 0.25 * ca.exp(-((2 * (m - 5)) ** 2)) - a / m,
    "smoothed absolute value": lambda a, m: ca.sqrt((a / m) ** 2 + 1e-12),
    "fabs": lambda a, m: ca.fabs(a) * m,
    "tiny exponential": lambda a, m: a * m + 1e-14 * ca.exp(a),
}


@pytest.fixture(scope="module")
def x():
    return ca.SX.sym("x", N)


@pytest.mark.claim("a piecewise-constant term is not affine")
@pytest.mark.parametrize("name", PIECEWISE)
def test_piecewise_terms_are_neither_affine_nor_polynomial(x, name):
    expression = PIECEWISE[name](x[0], x[1])
    assert affine_rows(expression, x) == (None,)
    assert polynomials(expression, x) == (None,)


@pytest.mark.claim("saturating functions are not quadratic forms")
@pytest.mark.parametrize("name", SATURATING)
def test_saturating_functions_are_not_quadratic_forms(x, name):
    expression = SATURATING[name](x[0], x[3])
    assert quadratic_form(expression, x, range(N), 3) is None
    assert not is_affine(expression, x)


def test_affine_rows_are_what_evaluation_says(x):
    rows = ca.vertcat(3 * x[0] - x[1] / 3 + 2, -(x[2] + x[2]) * 0.5, (x[0] - 1) / -4, ca.SX(7), x[0] - ca.sin(2.0))
    at = ca.Function("rows", [x], [rows])
    for row, forms in zip(range(rows.numel()), affine_rows(rows, x), strict=True):
        assert forms is not None
        for point in np.random.default_rng(row).normal(size=(5, N)):
            assert forms.coefficients @ point + forms.offset == pytest.approx(float(at(point)[row]), rel=1e-14)


@pytest.mark.parametrize("make", [lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a**2, lambda a, b: a / 0 + b])
def test_curved_rows_and_infinite_ones_are_not_affine(x, make):
    assert affine_rows(make(x[0], x[1]), x) == (None,)


def test_polynomials_are_exact_where_terms_cancel(x):
    curved = (x[0] + 0.1 * x[1]) ** 3 - x[0] ** 3 - 3 * x[0] ** 2 * (0.1 * x[1]) - 3 * x[0] * (0.1 * x[1]) ** 2
    (found,) = polynomials(curved - (0.1 * x[1]) ** 3 + x[0] * x[1], x)
    assert found is not None
    assert found.terms == {((0, 1), (1, 1)): 1}


def test_division_is_only_by_the_named_entries(x):
    assert polynomials(x[0] / x[3], x) == (None,)
    (found,) = polynomials(x[0] ** 2 / x[3] - 2 * x[3] ** -1, x, denominators=[3])
    assert found is not None
    assert found.terms == {((0, 2), (3, -1)): 1, ((3, -1),): -2}
    assert polynomials(x[0] / (x[3] + 1), x, denominators=[3]) == (None,)


def test_quadratic_form_is_what_evaluation_says(x):
    m, rng = x[3], np.random.default_rng(2)
    for power, expression in (
        (2, 0.01 - (x[0] / m - 0.1) ** 2 - (x[1] / m) ** 2 * 3),
        (1, x[0] - (x[1] * x[2]) / m),
        (0, x[0] * m - x[1] ** 2),
    ):
        form, at = quadratic_form(expression, x, range(N), 3), ca.Function("g", [x], [expression])
        assert form is not None
        assert form.power == power
        for point in rng.uniform(0.5, 2.0, (5, N)):
            value = point[3] ** power * float(at(point))
            assert point @ form.matrix @ point == pytest.approx(value, rel=1e-12, abs=1e-14)


UNARY_CODES, BINARY_CODES = sorted(UNARY), sorted({*BINARY} - {ca.OP_PRINTME})


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


@pytest.mark.parametrize("code", UNARY_CODES)
def test_every_unary_operation_is_enclosed_and_none_is_forgotten(x, code):
    rng = np.random.default_rng(code)
    function = as_function(ca.SX.unary(code, x[0]), x)
    ends = np.sort(rng.choice([*rng.normal(0, 3, 40), 0, 1, -1, np.pi, np.pi / 2, -np.pi, 400, 1e7], (2, 300)), axis=0)
    (found,) = enclose(function, np.tile(ends[0], (N, 1)), np.tile(ends[1], (N, 1)))
    shares = rng.random((300, 30))
    points = np.clip(ends[0][:, None] + shares * np.ptp(ends, axis=0)[:, None], ends[0][:, None], ends[1][:, None])
    values = np.array(function.map(points.size)(np.tile(points.reshape(-1), (N, 1)))).reshape(points.shape)
    nan = np.isnan(values)
    assert (nan <= np.broadcast_to(found.undefined, 300)[:, None]).all()
    assert (nan | ((values >= found.low[:, None]) & (values <= found.high[:, None]))).all()
    if code != ca.OP_ERFINV:
        assert (np.isfinite(found.low) & np.isfinite(found.high)).any()


def test_a_known_quotient_takes_its_range(x):
    function = as_function(ca.vertcat(x[0] / x[3], x[1] / x[3] + x[1]), x)
    free = np.full(N, np.inf)
    com, other = enclose(function, -free, free, {(0, 3): np.array([-0.1, 0.2])})
    assert (com.low, com.high, com.entries, com.quotients) == (-0.1, 0.2, frozenset(), frozenset({(0, 3)}))
    assert other.entries == {1, 3}
    assert np.isinf(other.high)


@pytest.mark.claim("thresholds that print alike are two conditions")
def test_conditions_are_told_apart_by_exact_constants(x):
    rule = ca.vertcat(ca.if_else(x[0] < 0.012345670, x[1], x[2]), ca.if_else(x[0] < 0.012345671, 1.0, x[1]))
    first, second = conditions(rule, x)
    assert first.text != second.text
    point = np.array([0.5, 3.0, 4.0, 1.0])
    chosen = ca.Function("g", [x], [choose(rule, x, {first.key: True, second.key: False})])
    assert np.array(chosen(point)).ravel() == pytest.approx([3.0, 3.0])


def test_one_condition_used_and_built_twice_is_one(x):
    rule = ca.vertcat(ca.if_else(x[0] + x[1] < 1, x[1], x[2]), ca.if_else(x[1] + x[0] < 1, 1.0, x[1]))
    assert len(conditions(rule, x)) == 1


def test_conditions_of_logic_and_of_numbers_are_found_decided_and_kept(x):
    rng = np.random.default_rng(4)
    rule = ca.if_else(ca.logic_and(x[0] < 0.1, ca.logic_not(x[1] <= x[2])), x[3], ca.if_else(x[2], x[1], -x[1]))
    found = conditions(rule, x)
    assert [c.code for c in found] == [ca.OP_LT, ca.OP_LE, ca.OP_NE]
    exact, margins = ca.Function("g", [x], [rule]), ca.Function("m", [x], [ca.vertcat(*[c.margin for c in found])])
    for point in [*rng.normal(size=(30, N)), np.zeros(N)]:
        values = np.array(margins(point)).ravel()
        choices = {c.key: bool(c.holds(v)) for c, v in zip(found, values, strict=True)}
        decided_rule = choose(rule, x, choices)
        assert not conditions(decided_rule, x)
        assert float(ca.Function("d", [x], [decided_rule])(point)) == float(exact(point))
        assert float(ca.Function("k", [x], [choose(rule, x, {})])(point)) == float(exact(point))


def test_a_box_decides_conditions_only_where_all_of_it_agrees(x):
    found = conditions(ca.vertcat(*[ca.if_else(test, x[1], 0) for test in (x[0] < 1, x[0] <= 1, x[0] < 2, x[0])]), x)
    low, high = np.zeros(N), np.ones(N)
    text = {c.key: c.text for c in found}
    one, other = decided(found, x, low, high), decided(found, x, low + 1.5, high + 1.5)
    assert {text[k]: v for k, v in one.items()} == {"(x_0<=1)": True, "(x_0<2)": True}
    assert {text[k]: v for k, v in other.items()} == {"(x_0<1)": False, "(x_0<=1)": False, "x_0!=0": True}
    undefined = conditions(ca.if_else(ca.sqrt(x[0]) < 100, x[1], 0), x)
    assert decided(undefined, x, low - 1, high) == {}


def test_smooth_expressions_approach_the_exact_ones(x):
    rule = ca.if_else(ca.logic_or(x[0] < 0.1, x[1] <= x[2]), x[3] ** 2, ca.fmax(x[1], ca.fabs(x[0]))) + ca.sign(x[3])
    exact = ca.Function("g", [x], [rule])
    for point in np.random.default_rng(6).normal(size=(10, N)):
        errors = [
            abs(float(ca.Function("s", [x], [smooth(rule, x, width)])(point)) - float(exact(point)))
            for width in (1e-2, 1e-4, 1e-6)
        ]
        assert errors[2] <= 1e-6
        assert errors[2] <= errors[0]
    curvature = ca.Function("s", [x], [ca.hessian(smooth(rule, x, 0.1), x)[0]])
    assert np.isfinite(np.array(curvature(np.zeros(N)))).all()


def test_alternatives_cover_nested_minima_and_maxima_with_constants(x):
    expression = ca.fmax(ca.fmin(x[0], 1.0), ca.fmin(x[1], ca.fmax(x[2], x[3])))
    options = alternatives(expression, x)
    assert len(options) == 3
    below = [ca.Function("o", [x], [o]) for o in alternatives(expression, x, upper=True)]
    at = ca.Function("g", [x], [expression])
    each = [ca.Function("o", [x], [o]) for o in options]
    for point in np.random.default_rng(7).normal(size=(40, N)):
        assert (float(at(point)) >= 0) == any((np.array(o(point)) >= 0).all() for o in each)
        assert (float(at(point)) <= 0.3) == any((np.array(o(point)) <= 0.3).all() for o in below)
    assert alternatives(expression, x, most=2)[0].numel() == 1
