"""The order of a program's operations."""

import casadi as ca
import numpy as np

from casid.codegen._graph import count_operations, graph_of
from casid.codegen._schedule import schedule


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
