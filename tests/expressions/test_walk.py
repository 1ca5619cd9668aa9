"""Expression graphs, walked in any arithmetic; every operation is known or refused; ranges are rounded outward."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import (
    NumpyFunction,
    Walk,
    affine_rows,
    alternatives,
    as_function,
    conditions,
    enclose,
    polynomials,
    quadratic_form,
    rebuild,
    required_domains,
)
from casid.expressions._conditions import replace_conditions
from casid.expressions._intervals import BINARY as INTERVAL_BINARY
from casid.expressions._intervals import UNARY as INTERVAL_UNARY
from casid.expressions._walk import BINARY, CALL, MATRIX, NAMES, STRUCTURE, UNARY, OperationError, fold, operations

SCALAR = sorted((code, 1) for code in UNARY) + sorted((code, 2) for code in BINARY)


def readers(expression: ca.SX, x: ca.SX) -> None:
    """Every reader, one after another."""
    NumpyFunction(expression, x)(np.full(x.numel(), 0.3))
    enclose(as_function(expression, x), np.zeros(x.numel()), np.ones(x.numel()))
    affine_rows(expression, x)
    polynomials(expression, x)
    quadratic_form(expression, x, range(x.numel()), 0)
    conditions(expression, x)
    alternatives(expression, x)
    required_domains(expression, x)
    operations(as_function(expression, x))


@pytest.mark.claim("the catalogue holds every operation of CasADi, and each is known or refused by name")
def test_every_operation_of_casadi_is_in_one_class():
    every = {getattr(ca, name) for name in dir(ca) if name.startswith("OP_")}
    classes = [UNARY, BINARY, STRUCTURE, {CALL}, MATRIX]
    assert every == set(NAMES) == set().union(*classes)
    assert sum(len(c) for c in classes) == len(every) >= 101
    assert set(INTERVAL_UNARY) == set(UNARY)
    assert set(INTERVAL_BINARY) == set(BINARY)
    for code in MATRIX | STRUCTURE | {CALL}:
        for operands in (1, 2):
            with pytest.raises(OperationError, match=NAMES[code]):
                fold(code, [0.5] * operands)
            with pytest.raises(OperationError, match=NAMES[code]):
                rebuild(code, [ca.SX.sym("a")] * operands)
    for code, count in SCALAR:
        with pytest.raises(OperationError, match=NAMES[code]):
            rebuild(code, [ca.SX.sym("a")] * (3 - count))


@pytest.mark.parametrize(("code", "count"), SCALAR, ids=lambda v: NAMES.get(v, "") if v > 2 else str(v))
def test_every_scalar_operation_is_read_by_every_reader_as_casadi_computes_it(code, count):
    x = ca.SX.sym("x", 2)
    made = rebuild(code, [x[k] for k in range(count)])
    readers(made, x)
    readers(ca.if_else(made > 0.1, ca.fmin(made, 1), x[0]), x)
    exact, mine = ca.Function("exact", [x], [made]), NumpyFunction(made, x)
    again = ca.Function("again", [x], [replace_conditions(made, x, lambda condition: None)])
    rng = np.random.default_rng(code)
    for point in [*rng.normal(size=(200, 2)), *rng.integers(-2, 3, (30, 2)).astype(float)]:
        value, other = float(exact(point)), float(mine.by_numpy(point)[0])
        if np.isnan(value):
            assert np.isnan(other)
        elif not np.isnan(other):  # a pole has no value here
            assert other == pytest.approx(value, rel=1e-6 if code == ca.OP_ERFINV else 1e-13, abs=1e-300)
            assert float(mine(point)[0]) == value == float(again(point))
        (found,) = enclose(as_function(made, x), point, point)
        assert np.isnan(value) or float(found.low) <= value <= float(found.high)


def test_a_function_of_matrices_is_refused_by_the_operations_name():
    y = ca.MX.sym("y", 2)
    with pytest.raises(OperationError, match=r"OP_(TRANSPOSE|RESHAPE)"):
        list(Walk(ca.Function("m", [y], [ca.mtimes(y.T, y)])))
    x = ca.SX.sym("x", 2)
    table = ca.interpolant("lut", "linear", [[0, 1]], [0, 1])
    with pytest.raises(OperationError, match="'lut'"):
        list(Walk(as_function(table(x[0]), x), calls=False))


def called_functions():
    s, m = ca.SX.sym("s", 2), ca.MX.sym("m", 2)
    grid = [[-1.0, -0.3, 0.2, 0.9]]
    return {
        "linear": ca.interpolant("lin", "linear", grid, [0.3, -0.1, 0.4, 0.2]),
        "bspline": ca.interpolant("spl", "bspline", [np.linspace(-1, 1, 7)], [0.3, -0.1, 0.4, 0.2, 0.0, 1.0, 0.5]),
        "table of two": ca.interpolant("two", "linear", [[0, 1, 2], [0, 1]], [0, 0.3, 0.1, 0.2, 0.3, 0.4]),
        "SX": ca.Function("sx", [s], [s[0] * s[1], ca.sin(s)], {"never_inline": True}),
        "MX": ca.Function("mx", [m], [ca.mtimes(m.T, m), ca.exp(m)], {"never_inline": True}),
        "map": ca.Function("sx", [s], [s[0] * s[1]], {"never_inline": True}).map(2),
        "nested": ca.Function("outer", [s], [ca.interpolant("in", "linear", grid, [3, 1, 4, 1])(s[0]) * s[1]],
                              {"never_inline": True}),
    }  # fmt: skip


@pytest.mark.claim("a call has the value that CasADi gives it, in every reader")
@pytest.mark.parametrize("kind", called_functions())
def test_a_call_is_read_by_every_reader(kind):
    called, x = called_functions()[kind], ca.SX.sym("x", 4)
    shaped, first = [], 0
    for k in range(called.n_in()):
        shaped.append(ca.reshape(x[first : first + called.numel_in(k)], *called.size_in(k)))
        first += called.numel_in(k)
    outputs = called.call(shaped)
    column = ca.vertcat(*[ca.vec(o) for o in outputs])
    rule = ca.if_else(x[3] > 0, column, 0) + ca.sin(column)
    for k in range(rule.numel()):
        readers(rule[k], x)
    exact, mine = ca.Function("exact", [x], [rule]), NumpyFunction(rule, x)
    kept = ca.Function("kept", [x], [replace_conditions(rule, x, lambda condition: None)])
    rng = np.random.default_rng(3)
    for point in rng.normal(size=(60, 4)):
        values = np.array(exact(point)).ravel()
        assert mine(point) == pytest.approx(values, rel=1e-13, abs=1e-15)
        assert mine.by_numpy(point) == pytest.approx(values, rel=1e-13, abs=1e-15)
        assert np.array(kept(point)).ravel() == pytest.approx(values, rel=1e-13, abs=1e-15)
        low, high = point - rng.random(4), point + rng.random(4)
        inside = low[:, None] + rng.random((4, 30)) * (high - low)[:, None]
        several = np.array(exact.map(30)(inside)).reshape(-1, 30)
        for found, row in zip(enclose(as_function(rule, x), low, high), several, strict=True):
            assert (row >= float(found.low)).all()
            assert (row <= float(found.high)).all()
    assert affine_rows(column, x) == (None,) * column.numel()
    assert polynomials(column, x)[0] is None or kind in ("SX", "map")


def test_functions_of_scalars_are_inlined_with_what_they_hold():
    s, x = ca.SX.sym("s", 2), ca.SX.sym("x", 2)
    rule = ca.Function("rule", [s], [ca.if_else(s[0] < 1, s[1], 2 * s[0])], {"never_inline": True})
    assert [c.text for c in conditions(rule(x), x)] == ["(x_0<1)"]
    line = ca.Function("line", [s], [3 * s[0] - s[1] + 1], {"never_inline": True})
    (form,) = affine_rows(line(x), x)
    assert form is not None
    assert form.coefficients.tolist() == [3.0, -1.0]
    least = ca.Function("least", [s], [ca.fmin(s[0], s[1])], {"never_inline": True})
    assert alternatives(least(x), x)[0].numel() == 2


def test_two_tables_of_one_name_are_two_conditions():
    x = ca.SX.sym("x", 2)
    one, other = (ca.interpolant("lut", "linear", [[0, 1]], values) for values in ([0.0, 1.0], [0.0, 2.0]))
    twin = ca.interpolant("lut", "linear", [[0, 1]], [0.0, 1.0])
    rule = ca.vertcat(*[ca.if_else(f(x[0]) < 0.5, x[1], 0) for f in (one, other, twin)])
    first, second = conditions(rule, x)
    assert first.text == second.text
    assert first.key != second.key


KNOTS, VALUES = [0.0, 1.0, 3.0, 4.0], [1.0, -2.0, 5.0, 0.5]


N = 4


@pytest.mark.parametrize("code", sorted(UNARY))
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
