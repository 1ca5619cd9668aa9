"""Programs, their simplification, C sources, compilation and its cache, batched evaluation."""

from __future__ import annotations

import ctypes
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from casid import codegen
from casid.codegen import CFunction, Function, batch_source, cache_directory, cache_entries, clear_cache, compile_shared
from tests.codegen.conftest import agree
from tests.helpers import needs_compiler


def everything() -> Function:
    """Every kind of operation that C code is written for; matrices, sparse inputs and outputs, nested angles."""
    x, M = ca.SX.sym("x", 3), ca.SX.sym("M", ca.Sparsity.lower(3))
    a, b, c = x[0], x[1], x[2]
    v = ca.vertcat(
        ca.sin(ca.cos(a) + b), ca.tan(a), ca.asin(a / 4), ca.atan2(a, b), ca.exp(a), ca.log(b * b + 1), ca.sqrt(c * c +
        1), ca.fabs(a), ca.sign(b), ca.sign(-c), ca.fmin(a, b), ca.fmax(a, -b), ca.if_else(a < b, a, c), a / (b * b +
        2), 1 / (c * c + 3), ca.floor(3 * a), ca.tanh(c), ca.power(b * b + 1, 1.7), ca.if_else(ca.logic_and(a > 0, b >
        0), 1.0, c), ca.if_else(ca.logic_or(a > 0, ca.logic_not(b > 0)), b, -c), ca.hypot(a, b), ca.fmod(a, 0.7),
        ca.copysign(a, b), -a, ca.SX(2.5), ca.SX(0),
    )  # fmt: skip
    outputs = [v, ca.mtimes(M, M.T) * a, ca.triu(ca.mtimes(M.T, M))]
    return Function(ca.Function("everything", [x, M], outputs, ["x", "M"], ["v", "A", "B"]))


@needs_compiler
def test_vector_code_equals_mapped_graph_for_every_operation() -> None:
    rng = np.random.default_rng(3)
    for count in (1, 7, 8, 9, 64, 2050):
        x = rng.uniform(-1.5, 1.5, (count, 3))
        M = rng.normal(size=(count, 3, 3))
        compiled = everything()(x, M, compiled=True)
        mapped = everything()(x, M, compiled=False)
        for value, expected, shape in zip(compiled, mapped, ((26,), (3, 3), (3, 3)), strict=True):
            assert value.shape == (count, *shape)
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)


@needs_compiler
def test_sines_and_cosines_of_any_angle() -> None:
    x = ca.SX.sym("x", 2)
    f = Function(ca.Function("f", [x], [ca.vertcat(ca.sin(x), ca.cos(x))]))
    rng = np.random.default_rng(0)
    multiples = np.arange(-2000, 2001)[:, None] * np.array([np.pi / 2, np.pi / 4])
    angles = np.vstack([rng.uniform(-4, 4, (4000, 2)), rng.uniform(-3e5, 3e5, (4000, 2)), multiples, [[1e9, -1e300]]])
    angles = np.vstack([angles, np.nextafter(multiples, 10.0), [[0.0, -0.0], [1e-320, -1e-9]]])
    value = f(angles, compiled=True)
    expected = np.hstack([np.sin(angles), np.cos(angles)])
    # Two units in the last place of the result, except within 1e-20 of the zeros.
    assert (np.abs(value - expected) <= 2.0 * np.spacing(np.abs(expected)) + 1e-20).all()
    odd = f(np.array([[np.nan, np.inf], [1.0, 2.0]]), compiled=True)
    assert np.isnan(odd[0]).all()
    np.testing.assert_allclose(odd[1], [np.sin(1), np.sin(2), np.cos(1), np.cos(2)], rtol=1e-15)


@needs_compiler
@pytest.mark.parametrize("count", [8, 21])
def test_entries_that_are_always_zero(count: int) -> None:
    """A block leaves them alone, whether structural or found to be zero; a batch writes each entry of each sample."""
    x = ca.SX.sym("x", 2)
    dense = ca.vertcat(ca.SX.zeros(9), x[0] * x[1], x[0] - x[0], ca.sin(x[0]), ca.SX.zeros(20), x[1])
    sparse = ca.vertcat(x[0], ca.SX(17, 1), x[1])
    function = ca.Function("f", [x], [dense, sparse], ["x"], ["dense", "sparse"])
    built = CFunction(function, "f")
    assert built.zeros == (frozenset({*range(9), 10, *range(12, 32)}), frozenset(range(1, 18)))
    library = ctypes.CDLL(str(compile_shared(batch_source([built], "p"), "zeros")))
    values = np.random.default_rng(7).normal(size=(count, 2))
    expected = [np.array(function.map(count)(values.T)[o]).T for o in range(2)]

    def call(name: str, x: np.ndarray, outputs: list[np.ndarray]) -> None:
        arguments = [ctypes.c_long(count), ctypes.c_void_p(x.ctypes.data), ctypes.c_long(2)]
        chosen = arguments if name == "f_batch" else arguments[1:2]
        library[name](*chosen, *(ctypes.c_void_p(y.ctypes.data) for y in outputs))

    outputs = [np.full((count, size), np.nan) for size in (33, 19)]
    call("f_batch", values, outputs)
    agree(outputs, expected, 1e-14)
    outputs = [np.full((size, 8), np.nan) for size in (33, 19)]
    call("f_block", np.ascontiguousarray(values[:8].T), outputs)
    for value, right, zeros in zip(outputs, expected, built.zeros, strict=True):
        others = [k for k in range(len(value)) if k not in zeros]
        np.testing.assert_allclose(value[others].T, right[:8, others], rtol=1e-14)
        assert np.isnan(value[sorted(zeros)]).all()


@needs_compiler
def test_second_run_compiles_nothing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, M = np.ones((3, 3)), np.eye(3)
    first = everything()(x, M, compiled=True)
    entry = cache_entries()[-1]
    assert entry.parent == own_cache == cache_directory()

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(codegen._compiler, "compile_shared", forbidden)
    second = everything()(x, M, compiled=True)
    agree(first, second)
    assert clear_cache() >= 1
    assert cache_entries() == []


@pytest.mark.claim("empty inputs of a function that CasADi evaluates never stop it")
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_compiler)])
def test_empty_inputs(compiled: bool) -> None:
    x, none, y = ca.SX.sym("x", 2), ca.SX.sym("none", 0), ca.SX.sym("y", 2)
    function = Function(ca.Function("f", [x, none, y], [x + y], ["x", "none", "y"], ["z"]))
    for lead in ((), (3,)):
        values = function(np.ones((*lead, 2)), np.ones((*lead, 0)), np.ones(2), compiled=compiled)
        np.testing.assert_array_equal(values, np.full((*lead, 2), 2.0))
