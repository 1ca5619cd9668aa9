"""The compiler: what it compiles is kept, what fails is shown."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import casid
from casid import codegen
from casid.codegen import (
    Function,
    Program,
    accumulate,
    c_name,
    cache_directory,
    cache_entries,
    compile_shared,
    find_compiler,
    scalar_source,
)
from casid.control import Passive
from casid.description import Inertial, Joint, Link, Robot
from casid.errors import CasidWarning, ExportError
from casid.measurement import Dataset
from casid.motion import Hold
from casid.regression import observation_blocks, torques
from casid.simulation import Plant, simulate
from tests.codegen.conftest import FUNCTION, X, agree, needs_posix_compiler, script
from tests.helpers import needs_compiler

pytestmark = needs_posix_compiler


def _compile(folder: str, barrier: multiprocessing.synchronize.Barrier) -> None:
    os.environ["CASID_CACHE"] = folder
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [ca.sin(x) * x])
    barrier.wait()
    value = Function(f)(np.array([1.0, 2.0]), compiled=True)
    assert abs(float(value[1, 0]) - 2 * np.sin(2)) < 1e-15


@pytest.mark.slow
def test_two_processes_compile_the_same_at_once(own_cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_compile, args=(str(own_cache), barrier)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert sorted(entry.name[:6] for entry in cache_entries()) == ["batch-", "bridge"]
    assert not [path for path in own_cache.iterdir() if path.name.startswith(".")]


def test_failing_compile_shows_the_words_and_keeps_the_source(own_cache: Path) -> None:
    with pytest.raises(ExportError, match=r"could not compile .*-failed\.c") as caught:
        compile_shared("int broken( { return undeclared; }\n", "wrong")
    assert "error" in str(caught.value)
    (kept,) = own_cache.glob("*-failed.c")
    assert "undeclared" in kept.read_text()
    assert not list(own_cache.glob("*.so"))


def pendulum() -> casid.Model:
    """A point mass of 2 kg at 0.5 m that turns about the y axis."""
    link = Link("bob", Inertial(2.0, np.array([0.0, 0.0, -0.5]), np.zeros((3, 3))))
    return casid.Model(Robot("pendulum", (Joint("pivot", "revolute", -1, link, axis=np.array([0.0, 1.0, 0.0])),)))


def many_samples(model: casid.Model, function: ca.Function) -> Dataset:
    """So many that compiling the function pays."""
    count = int(2.1e7 / function.n_instructions())
    q, dq, ddq, tau = np.random.default_rng(1).uniform(-1, 1, (4, count, model.n))
    return Dataset(np.arange(count) * 1e-3, q, tau, dq, ddq)


def regressor_blocks() -> float:
    model = casid.Model(casid.load_robot("three_link"))
    dataset = many_samples(model, model.base_regressor)
    return sum(float(np.abs(values).sum()) for _, values in observation_blocks(model, dataset))


def predicted_torques() -> float:
    model = casid.Model(casid.load_robot("three_link"))
    dataset = many_samples(model, model.inverse_dynamics)
    return float(np.abs(torques(model, np.arange(1.0, 1.0 + len(model.parameter_names)), dataset)).sum())


def simulated() -> float:
    model = pendulum()
    plant = Plant(model, model.robot.standard_parameters())
    return float(np.abs(simulate(plant, Passive(1), Hold(np.zeros(1)), 0.1, q0=[1.0]).q).sum())


def recursion() -> float:
    u, p = ca.SX.sym("u"), ca.SX.sym("p")
    step = ca.Function("step", [X, u, p], [X * p + u, X + u])
    return float(accumulate(step, [1.0], np.ones((5, 1)), [0.5])[0].sum())


@pytest.mark.claim("house b: a broken compiler costs one warning, not the result, wherever compiled code is for speed")
@pytest.mark.parametrize("use", [regressor_blocks, predicted_torques, simulated, recursion])
def test_a_broken_compiler_falls_back(
    use: Callable[[], float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codegen._compiler, "WORTH_COMPILING", 1.0)  # every call is worth compiling
    expected = use()
    assert cache_entries()
    monkeypatch.setenv("CASID_CC", script(tmp_path / "cc", "exit 1"))
    with pytest.warns(CasidWarning, match=r"compiled code is not used.*could not compile") as caught:
        np.testing.assert_allclose(use(), expected, rtol=1e-9)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use()


def test_a_program_names_its_functions() -> None:
    program = Program([FUNCTION], lambda built: scalar_source(list(built), "p"), "mine")
    assert program.load()[c_name(FUNCTION)] is not None
    (entry,) = cache_entries()
    assert entry.name.startswith("mine-") and entry.parent == cache_directory()
    assert program.load_if(False) is None
    assert Program([FUNCTION], program.write, "mine", ("other content",)).load_if(None, 0.0) is None


@pytest.mark.parametrize("defined", ["-D__AVX512F__=1", "-U__AVX512F__ -D__AVX2__=1", "-U__AVX512F__ -U__AVX2__"])
def test_vectors_of_every_processor_agree(monkeypatch: pytest.MonkeyPatch, defined: str) -> None:
    """Vectors of 64, 32 and 16 bytes on one processor; 21 samples of 3, 9 and 90 entries, which no tile divides."""
    monkeypatch.setenv("CASID_CC", f"{' '.join(find_compiler() or ())} {defined}")
    model, rng = casid.Model("three_link"), np.random.default_rng(0)
    for function in (model.regressor, model.derivatives("inverse_dynamics")):
        many = [rng.uniform(-2, 2, (21, function.numel_in(k))) for k in range(function.n_in())]
        for given in (many, [value[3] for value in many]):
            right = as_tuple(function(*given, compiled=False))
            agree(as_tuple(function(*given, compiled=True)), right, 1e-10, 1e-10)
            rough = function(*(value.astype(np.float32) for value in given), compiled=True)
            for one, other in zip(as_tuple(rough), right, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


def as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (list, tuple)) else (values,)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_compiler)])
def test_a_recursion_refuses_inputs_of_another_size(compiled: bool) -> None:
    x, u, p = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("p", 2)
    step = ca.Function("step", [x, u, p], [p * x + u, x])
    right = ([1.0, 2.0], np.ones((5, 1)), [0.5, 0.1])
    assert accumulate(step, *right, compiled)[0].shape == (5, 2)
    assert np.array_equal(accumulate(step, right[0], np.ones(5), right[2], compiled)[0], accumulate(step, *right)[0])
    for place, wrong in ((0, np.ones(3)), (1, np.ones((5, 2))), (2, np.ones(3))):
        with pytest.raises(ValueError, match="reshape"):
            accumulate(step, *(wrong if k == place else value for k, value in enumerate(right)), compiled)
