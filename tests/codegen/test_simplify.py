"""Programs with fewer operations mean the same."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.codegen import operation_count
from casid.codegen._graph import Graph, count_operations, graph_of
from casid.codegen._simplify import simplify

#: Python meaning of the operations that graphs keep.
MEANING = {
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": np.power,
    "fmin": min, "fmax": max, "sign": np.sign, "less": lambda a, b: float(a < b),
    "less_equal": lambda a, b: float(a <= b), "if_else_zero": lambda a, b: b if a else 0.0, "fabs": abs,
    "equal": lambda a, b: float(a == b), "not_equal": lambda a, b: float(a != b), "not": lambda a: float(not a),
    "and": lambda a, b: float(bool(a) and bool(b)), "or": lambda a, b: float(bool(a) or bool(b)),
    "atan2": np.arctan2,
}  # fmt: skip


def evaluate(graph: Graph, inputs: list[np.ndarray]) -> np.ndarray:
    """A program's results, node by node, in the order of its outputs."""
    values = [0.0]

    def of(ref: int) -> float:
        return values[ref] if ref > 0 else -values[-ref]

    for node in graph.nodes:
        if node.op == "const":
            values.append(node.value)
        elif node.op == "input":
            values.append(inputs[node.args[0]][node.args[1]])
        else:
            args = [of(a) for a in node.args]
            values.append(float(MEANING.get(node.op, getattr(np, node.op, None))(*args)))
    return np.array([of(ref) for _, _, ref in graph.outputs])


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
    function = random_polynomials(seed)
    graph = graph_of(function)
    simple = simplify(graph)
    for scale in (0.3, 1.1):
        x = scale * np.random.default_rng(seed).uniform(-1, 1, 6)
        expected = function(x).full().ravel()
        for program in (graph, simple):
            value = evaluate(program, [x])
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    before, after = count_operations(graph), count_operations(simple)
    assert after.multiplications + after.additions <= before.multiplications + before.additions


def test_known_savings() -> None:
    a, b, c, d = (ca.SX.sym(name) for name in "abcd")
    factored = operation_count(ca.Function("f", [a, b, c, d], [a * b + a * c - a * d]))
    assert (factored.multiplications, factored.additions) == (1, 2)
    shared = operation_count(ca.Function("f", [a, b, c, d], [a + b + c, -a - b + d]))
    assert (shared.multiplications, shared.additions) == (0, 3)
    opposite = operation_count(ca.Function("f", [a, b], [a - b, b - a]))
    assert (opposite.additions, opposite.negations) == (1, 1)
    assert operation_count(ca.Function("f", [a], [a + a])).additions == 1
