"""Straight-line programs of CasADi functions, and their order."""

import casadi as ca
import numpy as np
import pytest

from casid.codegen import operation_count
from casid.codegen._graph import Graph, count_operations, graph_of, schedule
from casid.errors import ExportError


def test_a_graph_simplifies_while_it_grows():
    graph = Graph()
    x, two = graph.input(0, 0), graph.constant(2.0)
    assert graph.input(0, 0) == x and graph.add(x, graph.constant(0.0)) == x
    assert graph.multiply(x, graph.constant(1.0)) == x and graph.number(graph.multiply(two, two)) == 4.0
    assert graph.call("sin", -x) == -graph.call("sin", x) and graph.call("cos", -x) == graph.call("cos", x)


def test_operations_are_counted_by_kind():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    counted = count_operations(graph_of(ca.Function("f", [x, y], [ca.sin(x) * y + x / y, ca.fabs(y)])))
    assert (counted.multiplications, counted.additions, counted.divisions) == (1, 1, 1)
    assert (counted.trigonometric, counted.other) == (1, 1)


def test_functions_with_solvers_are_refused() -> None:
    x = ca.MX.sym("x")
    solver = ca.rootfinder("solver", "newton", {"x": x, "g": x**3 - 2})
    with pytest.raises(ExportError, match=r"'solver' .*(cannot be written as scalar operations|no C counterpart)"):
        operation_count(solver)


def test_another_order_is_the_same_program():
    x = ca.SX.sym("x", 4)
    f = ca.Function("f", [x], [ca.mtimes(x, x.T) + ca.sin(x[0]), ca.sumsqr(x)])
    graph = graph_of(f)
    ordered = schedule(graph, f)
    assert count_operations(ordered) == count_operations(graph)
    assert sorted(o[:2] for o in ordered.outputs) == sorted(o[:2] for o in graph.outputs)
    for number, node in enumerate(ordered.nodes, 1):  # every operand stands before the operation
        if node.op not in ("const", "input"):
            assert all(abs(argument) < number for argument in node.args)
    assert np.isfinite(float(f(np.ones(4))[1]))
