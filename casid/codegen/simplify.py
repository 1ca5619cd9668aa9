"""Fewer operations: sums and products as wholes instead of pairs.

Nested sums become one sum, nested products one product (`Groups`). In a sum, terms with a common factor are collected,
``a b + a c = a (b + c)``; a pair of terms (or factors) that occurs in several sums (or products) is computed once
(`share_pairs`). At the end each sum is added up in the order in which its terms become available (`assemble`).
"""

from __future__ import annotations

import casadi as ca

from casid.codegen.assemble import assemble
from casid.codegen.graph import Graph, graph_of
from casid.codegen.groups import Groups
from casid.codegen.operations import Operations, count_operations
from casid.codegen.pairs import share_pairs

_MAX_ROUNDS = 6


def simplify(graph: Graph) -> Graph:
    """An equal program with as few operations as rounds of regrouping find; the given one if none are found."""
    best, cost = graph, _cost(graph)
    for _ in range(_MAX_ROUNDS):
        candidate = _regrouped(best)
        new = _cost(candidate)
        if new >= cost:
            break
        best, cost = candidate, new
    return best


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


def _regrouped(graph: Graph) -> Graph:
    """One round: take apart, regroup, put together."""
    groups = Groups(graph)
    groups.collect_factors()
    share_pairs(groups.sums, groups.new_number, signed=True)
    share_pairs(groups.products, groups.new_number, signed=False)
    return assemble(graph, groups)


def _cost(graph: Graph) -> int:
    count = count_operations(graph)
    return count.multiplications + count.additions + count.negations
