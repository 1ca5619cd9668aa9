"""Straight-line programs of CasADi functions."""

import casadi as ca
import pytest

from casid.codegen._graph import Graph, count_operations, graph_of
from casid.codegen._simplify import operation_count
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
