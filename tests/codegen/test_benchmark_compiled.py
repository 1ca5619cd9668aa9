"""Ten speeds beside CasADi's evaluation (`--benchmark-enable`); without it each runs once and must agree.

`.ci/run` compares the ratios with those of `speeds.json`: see `speeds.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import casid
from tests.helpers import needs_compiler

pytestmark = [pytest.mark.slow, needs_compiler]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "casadi"])
@pytest.mark.parametrize("lead", [(), (2000,)], ids=["one state", "batch of 2000"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity", "regressor"])
def test_speed(benchmark: Any, name: str, lead: tuple[int, ...], compiled: bool) -> None:
    function, rng = getattr(casid.Model("panda"), name), np.random.default_rng(0)
    free = [key for key in function.name_in() if key not in function.defaults]
    states = [rng.uniform(-1, 1, (*lead, 7)) for _ in free]
    right = function(*states, compiled=not compiled)
    function(*states, compiled=compiled)  # compiled and loaded before
    benchmark.group = f"{name}, {'batch of 2000' if lead else 'one state'}"
    value = benchmark(function, *states, **({} if compiled else {"compiled": False}))
    np.testing.assert_allclose(value, right, rtol=1e-9, atol=1e-9)
