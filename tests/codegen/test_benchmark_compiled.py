"""Times of compiled beside interpreted functions (`--benchmark-enable`); without it each runs once and must agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import casid
from casid.codegen import find_compiler
from casid.export import export_robot, load

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CACHE", str(tmp_path / "cache"))


@pytest.mark.benchmark(group="regressor of 2000 samples")
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "mapped"])
def test_batch(benchmark: Any, compiled: bool) -> None:
    function = casid.Model(casid.load_robot("panda")).base_regressor
    states = np.random.default_rng(0).uniform(-1, 1, (3, 2000, 7))
    Y = benchmark(function, *states, compiled=compiled)
    np.testing.assert_allclose(Y[5], function(*states[:, 5]), rtol=1e-12, atol=1e-12)


@pytest.mark.benchmark(group="inverse dynamics, one call from Python")
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
def test_single_call(benchmark: Any, compiled: bool, tmp_path: Path) -> None:
    robot = casid.load_robot("panda")
    q, dq, ddq = np.random.default_rng(1).uniform(-1, 1, (3, 7))
    pi = robot.standard_parameters()
    graph = casid.Model(robot).inverse_dynamics
    graph(q, dq, ddq, pi, compiled=compiled)
    tau = benchmark(graph, q, dq, ddq, pi)
    exported = load(export_robot(robot, tmp_path / "c", ["inverse_dynamics"]).path).inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(tau, exported, rtol=1e-11, atol=1e-11)
