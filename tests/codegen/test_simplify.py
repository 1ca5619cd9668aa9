"""Programs with fewer operations mean the same."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.codegen import LANGUAGES, CFunction, operation_count, script_source
from casid.errors import ExportError


def random_polynomials(seed: int) -> ca.Function:
    """Sums and products of shared terms with random signs and repetitions: all that simplification rearranges."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", 6)
    pool = [x[i] for i in range(6)] + [ca.sin(x[0]), ca.cos(x[1])]
    for _ in range(60):
        a, b = (pool[int(rng.integers(len(pool)))] for _ in range(2))
        kind = rng.integers(5)
        pool.append([a + b, a - b, a * b, -a * b + a, 2 * a - b * a][kind])
        if rng.random() < 0.3:
            pool[-1] = pool[-1] - float(rng.integers(-2, 3)) * pool[int(rng.integers(len(pool)))]
    return ca.Function("f", [x], [ca.vertcat(*pool[-12:])])


@pytest.mark.parametrize("seed", range(60))
def test_simplified_programs_mean_the_same_and_cost_no_more(seed: int) -> None:
    function, made = random_polynomials(seed), {}
    exec(script_source([CFunction(function)], "demo", LANGUAGES["python"]), made)
    for scale in (0.3, 1.1):
        x = scale * np.random.default_rng(seed).uniform(-1, 1, 6)
        expected = function(x).full().ravel()
        assert made["f"](x.tolist()) == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    before, after = (operation_count(function, simplified) for simplified in (False, True))
    assert after.multiplications + after.additions <= before.multiplications + before.additions


def test_operations_are_counted_by_kind() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    counted = operation_count(ca.Function("f", [x, y], [ca.sin(x) * y + x / y, ca.fabs(y)]), simplified=False)
    assert (counted.multiplications, counted.additions, counted.divisions) == (1, 1, 1)
    assert (counted.trigonometric, counted.other) == (1, 1)


def test_functions_with_solvers_are_refused() -> None:
    x = ca.MX.sym("x")
    solver = ca.rootfinder("solver", "newton", {"x": x, "g": x**3 - 2})
    with pytest.raises(ExportError, match=r"'solver' .*(cannot be written as scalar operations|no C counterpart)"):
        operation_count(solver)


def test_known_savings() -> None:
    a, b, c, d = (ca.SX.sym(name) for name in "abcd")
    factored = operation_count(ca.Function("f", [a, b, c, d], [a * b + a * c - a * d]))
    assert (factored.multiplications, factored.additions) == (1, 2)
    shared = operation_count(ca.Function("f", [a, b, c, d], [a + b + c, -a - b + d]))
    assert (shared.multiplications, shared.additions) == (0, 3)
    opposite = operation_count(ca.Function("f", [a, b], [a - b, b - a]))
    assert (opposite.additions, opposite.negations) == (1, 1)
    assert operation_count(ca.Function("f", [a], [a + a])).additions == 1
    signs = operation_count(ca.Function("f", [a, b], [ca.sin(b - a), ca.sin(a - b), ca.cos(b - a), ca.cos(a - b)]))
    assert (signs.trigonometric, signs.additions) == (2, 1)
