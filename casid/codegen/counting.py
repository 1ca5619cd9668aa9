"""How many operations the C code of a function costs."""

from __future__ import annotations

import casadi as ca

from casid.codegen.graph import graph_of
from casid.codegen.operations import Operations, count_operations
from casid.codegen.simplify import simplify


def operation_count(function: ca.Function, simplified: bool = True) -> Operations:
    """Operations that one evaluation of a function costs.

    Parameters
    ----------
    function
        Any function that expands to scalar operations.
    simplified
        Count what the C code does (default), or the CasADi graph as it is.
    """
    graph = graph_of(function)
    return count_operations(simplify(graph) if simplified else graph)
