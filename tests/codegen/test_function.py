"""One function, four faces: graphs, arrays, JAX, compiled code for other graphs."""

from __future__ import annotations

import copy
import ctypes
import mmap
import pickle
import sys
import sysconfig
import warnings
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import casid
from casid.codegen import Function, _compiler, jacobian_rows
from casid.codegen._source import _LANES_HEAD
from casid.errors import CasidWarning, DatasetError, ExportError
from tests.codegen.conftest import agree
from tests.helpers import needs_compiler

RNG = np.random.default_rng(8)


def made() -> Function:
    """A vector, a matrix and a number of a vector, a matrix and a number."""
    x, M, s = ca.SX.sym("x", 3), ca.SX.sym("M", 3, 2), ca.SX.sym("s")
    outputs = [ca.sin(s) * x + M @ M.T @ x, ca.densify(s * M.T @ ca.diag(x) @ M), ca.sumsqr(x) * s]
    return Function(ca.Function("made", [x, M, s], outputs, ["x", "M", "s"], ["v", "A", "e"]), axes=(1, 2, 0))


def expected(x: np.ndarray, M: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
    v = np.sin(s)[..., None] * x + np.einsum("...ij,...kj,...k->...i", M, M, x)
    A = s[..., None, None] * np.einsum("...ij,...i,...ik->...jk", M, x, M)
    return v, A, np.sum(x * x, axis=-1) * s


@needs_compiler
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "leads",
    [((), (), ()), ((5,), (5,), (5,)), ((4, 9), (9,), ()), ((3, 1), (), (1, 7)), ((0,), (), ()), ((1,), (), ())],
)
def test_leading_axes_are_samples(leads: tuple[tuple[int, ...], ...], compiled: bool) -> None:
    x, M, s = (RNG.normal(size=(*lead, *own)) for lead, own in zip(leads, ((3,), (3, 2), ()), strict=True))
    values = made()(x, M, s, compiled=compiled)
    lead = np.broadcast_shapes(*leads)
    assert [np.shape(value) for value in values] == [(*lead, 3), (*lead, 2, 2), lead]
    agree(values, expected(x, M, np.asarray(s)), 1e-13, 1e-13)


@needs_compiler
def test_results_go_where_they_are_asked_for() -> None:
    function, n = made(), 2051
    x, M, s = RNG.normal(size=(n, 3)), RNG.normal(size=(n, 3, 2)), RNG.normal(size=n)
    plain = function(x, M, s, compiled=True)
    places = tuple(np.full_like(value, np.nan) for value in plain)
    for options in ({}, {"threads": 3}, {"compiled": False}):
        for place in places:
            place[...] = np.nan
        assert function(x, M, s, out=places, **options)[1] is places[1]
        agree(places, plain, 1e-13, 1e-13)
    with pytest.raises(DatasetError, match=r"made: out: expected contiguous arrays of doubles of shapes \[\(2051, 3\)"):
        function(x, M, s, out=(places[0][:-1], *places[1:]))
    with pytest.raises(DatasetError, match="out: expected contiguous"):
        function(x, M, s, out=tuple(place.astype(np.float32) for place in places))


@needs_compiler
@pytest.mark.claim("the fast way of a call and the way through Python give the same for every kind of argument")
def test_the_fast_way_gives_the_same() -> None:
    """Arrays of any layout, type and order; lists and numbers."""
    function = made()
    x, M, s = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3, 2)), 0.4
    right = function(x, M, s, compiled=True)
    function(x[0], M[0], s, compiled=True)
    wide, turned = np.zeros((6, 6)), np.asfortranarray(M)
    wide[:, ::2] = x
    for given in ((x, M, s), (wide[:, ::2], turned, np.float64(s)), (x.tolist(), M.tolist(), np.array([s]))):
        agree(function(*given), right)
        one = function(given[0][2], given[1][2], given[2])
        agree(one, [want[2] for want in right], 1e-14, 1e-14)
        assert isinstance(one[2], float)
    whole = function(np.array([1, 2, 3]), np.ones((3, 2), dtype=np.float32), 1)
    np.testing.assert_allclose(whole[0], np.sin(1) * np.arange(1, 4) + 12, rtol=1e-14)
    named = function(s=s, M=M, x=x)
    assert list(named) == ["v", "A", "e"]
    np.testing.assert_array_equal(named["A"], right[1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (np.zeros((4, 2)), np.zeros((3, 2)), 0),
            r"made: x has shape \(4, 2\); expected x \(3,\), M \(3, 2\), s \(1,\)",
        ),
        ((np.zeros((3, 5)), np.zeros((3, 2)), 0), "it is transposed, give x.T"),
        ((np.zeros((4, 3)), np.zeros((5, 3, 2)), 0), r"different numbers of samples: \(4,\) of 'x', \(5,\) of 'M'"),
        ((np.zeros(3), np.zeros((3, 2))), "s missing; expected"),
        ((np.zeros(3), np.zeros((3, 2)), 0, 0), "no input number 4"),
        (("x", np.zeros((3, 2)), 0), "x is no array of numbers but str"),
    ],
)
def test_wrong_inputs_are_named(arguments: tuple, words: str) -> None:
    with pytest.raises(DatasetError, match=words):
        made()(*arguments)


@needs_compiler
def test_it_stays_a_casadi_function() -> None:
    function = made()
    x, M, s = RNG.normal(size=3), RNG.normal(size=(3, 2)), 0.3
    assert isinstance(function(ca.DM(x), M, s)[0], ca.DM)
    y = ca.MX.sym("y", 3)
    graph = ca.Function("g", [y], [function(y, M, s)[0]])
    np.testing.assert_allclose(graph(x).full()[:, 0], function(x, M, s)[0], rtol=1e-14)
    for again in (pickle.loads(pickle.dumps(function)), copy.copy(function), copy.deepcopy(function)):
        assert again.digest == function.digest
        assert again.axes == function.axes
        np.testing.assert_array_equal(again(x, M, s)[1], function(x, M, s)[1])
    assert casid.compile(function) is function


@needs_compiler
@pytest.mark.claim("a batch that is called again and again is compiled once its calls together pay for it")
def test_work_of_all_calls_counts(own_cache: Path) -> None:
    function = made()
    x, M = RNG.normal(size=(40_000, 3)), RNG.normal(size=(3, 2))
    calls = 0
    while function._compiled is None and calls < 100:
        first = function(x, M, 0.3)
        calls += 1
    assert 1 < calls < 100
    np.testing.assert_allclose(function(x, M, 0.3)[1], first[1], rtol=1e-13)
    fresh = made()
    fresh(x, M, 0.3)
    assert fresh._compiled is not None  # found in the cache by the first call that takes longer than a search


#: Largest error of single precision over the largest value: a hundred roundings of 6e-8.
SINGLE = 6e-6


def is_single(values: tuple, given: tuple, function: Function) -> bool:
    """float32, beside double precision at the same inputs."""
    right = function(*(np.asarray(value, dtype=float) for value in given), compiled=False)
    near = [np.abs(v - r).max() <= SINGLE * np.abs(r).max() for v, r in zip(values, right, strict=True)]
    return all(near) and all(
        v.dtype == np.float32 and v.shape == np.shape(r) for v, r in zip(values, right, strict=True)
    )


@needs_compiler
@pytest.mark.claim("float32 arrays give float32 results in single precision; one array of doubles makes all double")
def test_single_precision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path) -> None:

    x, M, s = (RNG.normal(size=(37, *own)).astype(np.float32) for own in ((3,), (3, 2), ()))
    for headers in (True, False):
        if not headers:
            _compiler.bridge.cache_clear()
            monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path))
            warnings.simplefilter("ignore")
        function = made()
        one = (M[0], s[0])
        for many in ((x, M, s), (x[:, None], M[:2], s[:, None, None]), (x, *one), (x[0], *one), (x[:0], *one)):
            for options in ({"compiled": False}, {}, {"compiled": True}, {}, {"threads": 3}):
                if many[0].size:
                    assert is_single(function(*many, **options), many, function)
                else:
                    assert [value.shape for value in function(*many, **options)] == [(0, 3), (0, 2, 2), (0,)]
        places = tuple(np.empty_like(value) for value in function(x, M, s))
        assert function(x, M, s, out=places)[1] is places[1] and is_single(places, (x, M, s), function)
        with pytest.raises(DatasetError, match="out: expected contiguous arrays of float32"):
            function(x, M, s, out=tuple(place.astype(float) for place in places))
        assert all(v.dtype == np.float64 for v in function(x, M.astype(float), s))
        assert all(v.dtype == np.float64 for v in function(x.astype(float), M, s))
        assert function(x, M, 0.5)[0].dtype == np.float32  # numbers have no precision of their own
    _compiler.bridge.cache_clear()
    with monkeypatch.context() as without:
        without.setenv("CASID_CC", "/no/such/compiler")
        assert is_single(made()(x, M, s), (x, M, s), made())


def before_a_wall(shape: tuple[int, ...], real: type) -> np.ndarray:
    """An array whose end is followed by memory that nobody may read."""
    size, page = int(np.prod(shape)) * np.dtype(real).itemsize, mmap.PAGESIZE
    pages = -(-size // page)
    whole = mmap.mmap(-1, (pages + 1) * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(whole))
    assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + pages * page), ctypes.c_size_t(page), 0)
    return np.frombuffer(whole, real, int(np.prod(shape)), pages * page - size).reshape(shape)


@needs_compiler
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect")
@pytest.mark.claim("batches read and write nothing beyond the arrays they are given")
@pytest.mark.parametrize("size", [3, 7, 9, 16])
def test_batches_end_where_arrays_end(size: int) -> None:
    x = ca.SX.sym("x", size)
    function = Function(ca.Function(f"wall{size}", [x], [2 * x + ca.sum1(x)]))
    for real in (np.float32, np.float64):
        for count in (1, 7, 8, 15, 16, 24, 33):
            given, made = (before_a_wall((count, size), real) for _ in range(2))
            given[...] = RNG.normal(size=(count, size))
            function(given, out=made, compiled=True)
            np.testing.assert_allclose(made, 2 * given + given.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-4)


@needs_compiler
def test_operations_in_single_precision() -> None:
    """Those with masks; sines and cosines of all angles; the model's own parameters."""
    x = ca.SX.sym("x", 2)
    a, b = x[0], x[1]
    chosen = [ca.if_else(a < b, a, -b), ca.logic_or(a == 0, b > 1)]
    outputs = [ca.fabs(a), ca.sign(b), *chosen, ca.fmax(a, b), ca.exp(-a * a)]
    function = Function(ca.Function("f", [x], outputs))
    given = RNG.normal(size=(50, 2)).astype(np.float32)
    given[:5, 0] = 0.0
    assert is_single(function(given, compiled=True), (given,), function)
    waves = Function(ca.Function("g", [a], [ca.sin(a), ca.cos(a)]), axes=0)
    for size in (1.0, 1e2, 9.9e3, 1e5):
        angles = RNG.uniform(-size, size, size=4001).astype(np.float32)
        for value, right in zip(waves(angles, compiled=True), (np.sin, np.cos), strict=True):
            assert np.abs(value - right(angles.astype(float))).max() < 1.2e-7  # two roundings
    model = casid.Model("panda")
    states = RNG.normal(size=(3, 100, 7)).astype(np.float32)
    tau = model.inverse_dynamics(*states, compiled=True)
    right = model.inverse_dynamics(*states.astype(float))
    assert tau.dtype == np.float32 and np.abs(tau - right).max() < SINGLE * np.abs(right).max()


@needs_compiler
def test_without_headers_of_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:

    function, n = made(), 9
    x, M, s = RNG.normal(size=(n, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=n)
    right, one = function(x, M, s, compiled=True), function(x[0], M, s[0], compiled=True)
    _compiler.bridge.cache_clear()
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path))
    plain = made()
    with pytest.warns(CasidWarning, match=r"there is no .*Python\.h.*install the headers") as caught:
        values = plain(x, M, s, compiled=True)
        single = plain(x[0], M, s[0], compiled=True)
    assert len(caught) == 1
    agree((*values, *single), (*right, *one))
    _compiler.bridge.cache_clear()


@needs_compiler
def test_external_has_the_derivatives_of_the_graph() -> None:
    function = Function(made(), axes=(1, 2, 0), defaults={"M": RNG.normal(size=(3, 2))})
    external = function.external
    assert external.name_in() == ["x", "s"]
    x, s = ca.MX.sym("x", 3), ca.MX.sym("s")
    parts = {}
    for name, (v, A, e) in {"external": external(x, s), "graph": function(x, function.defaults["M"], s)}.items():
        cost = ca.sumsqr(v) + ca.sum1(ca.vec(A)) * e
        outputs = [v, A, e, ca.hessian(cost, x)[0], ca.jacobian(v, s), ca.jacobian(ca.vec(A), x)]
        parts[name] = [ca.DM(one).full() for one in ca.Function("f", [x, s], outputs)([0.3, -1.2, 0.8], 0.7)]
    agree(parts["external"], parts["graph"], 1e-11, 1e-11)


@needs_compiler
@pytest.mark.claim("rows of Jacobians that are computed side by side are those of the graph, with and without vectors")
@pytest.mark.parametrize("count", [1, 8, 11])
@pytest.mark.parametrize("vectors", [True, False])
def test_rows_side_by_side(count: int, vectors: bool, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, p, seed = ca.SX.sym("x", 4), ca.SX.sym("p", 2), ca.SX.sym("seed", count)
    value = ca.vertcat(*(ca.sin(x[k % 4] * p[0]) * x[(k + 1) % 4] / (p[1] + x[k % 3] ** 2) for k in range(count)))
    outputs = [ca.densify(ca.jtimes(value, y, seed, True)) for y in (x, p)]
    function = jacobian_rows(Function(ca.Function("f", [x, seed, p], outputs, ["x", "seed", "p"], ["A", "B"])))
    if not vectors:
        monkeypatch.setattr("casid.codegen._source._LANES_HEAD", _LANES_HEAD.replace("__GNUC__", "NOT_KNOWN"))
    given = RNG.normal(size=4), RNG.uniform(1, 2, size=2)
    jacobians = ca.Function("J", [x, p], [ca.jacobian(value, x), ca.jacobian(value, p)])
    exact = [J.full() for J in jacobians(*given)]
    for again in (function, pickle.loads(pickle.dumps(function))):
        assert function.name_in() == ["x", "p"] and again.digest == function.digest
        for compiled in (True, False):
            agree(again(*given, compiled=compiled), exact, 1e-13, 1e-13)


@needs_compiler
def test_jax() -> None:
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    function = made()
    x, M, s = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 3, 2)), RNG.normal(size=6)
    for value, right in zip(function.jax(x, M, s), function(x, M, s), strict=True):
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, right, rtol=1e-5, atol=1e-5)
    slope = jax.grad(lambda x: function.jax(x, M[0], s[0])[2])(x[0])
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, 2 * s[0] * x[0], rtol=1e-6)
    jax.config.update("jax_enable_x64", True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = jax.jit(function.jax)(x, M, s)
            agree(results, function(x, M, s), 1e-13, 1e-13)
            by_hand = jax.vmap(jax.vmap(function.jax, (0, None, None)), (None, 0, 0))(x, M, s)
            agree(by_hand, function(x, M[:, None], s[:, None, None]), 1e-13, 1e-13)
            with pytest.raises(DatasetError, match="x has shape"):
                function.jax(x[:, :2], M, s)

            def own(x: object, M: object, s: object) -> object:
                v = jax.numpy.sin(s) * x + M @ (M.T @ x)
                return jax.numpy.sum(v * v) + jax.numpy.sum((M.T * x) @ M) * s * jax.numpy.sum(x * x) * s

            def ours(*given: object) -> object:
                v, A, e = function.jax(*given)
                return jax.numpy.sum(v * v) + jax.numpy.sum(A) * e

            for k in range(3):
                for derive in (jax.grad, jax.hessian):
                    a, b = (derive(f, argnums=k)(x[0], M[0], s[0]) for f in (own, ours))
                    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    finally:
        jax.config.update("jax_enable_x64", before)


def test_without_compiler_casadi_evaluates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CC", "/no/such/compiler")
    x, M, s = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=5)
    agree(made()(x, M, s), expected(x, M, s), 1e-13, 1e-13)
    for face in (lambda: made()(x, M, s, compiled=True), lambda: made().external):
        with pytest.raises(ExportError, match=r"no C compiler.*CASID_CC"):
            face()
