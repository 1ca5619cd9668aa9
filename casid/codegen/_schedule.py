"""The order of a program's operations: few values alive at once, so that they fit into registers."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from casid.codegen._graph import Graph, Ref

#: Values that are taken to fit into registers.
_REGISTERS = 12

Place = tuple[int, int, int]  # output, row, column


def schedule(graph: Graph, function: ca.Function) -> Graph:
    """The same program with its operations in the best of a few orders.

    Results are computed one after the other, each from what is not known yet. That leaves the order of the results:
    by columns or rows of the outputs, forwards or backwards; the order that spills the fewest values wins.
    """
    places = {}
    for output in range(function.n_out()):
        rows, columns = function.sparsity_out(output).get_triplet()
        places.update({(output, k): (output, r, c) for k, (r, c) in enumerate(zip(rows, columns, strict=True))})
    orders: list[Callable[[Place], tuple[int, int, int]]] = [
        lambda p: (p[0], p[2], p[1]),
        lambda p: (p[0], -p[2], -p[1]),
        lambda p: (p[1], p[0], p[2]),
        lambda p: (-p[1], p[0], p[2]),
    ]
    candidates = [graph]
    for order in orders:
        keys = {place: order(where) for place, where in places.items()}
        ranked = sorted((keys[output, position], k) for k, (output, position, _) in enumerate(graph.outputs))
        candidates.append(_in_order(graph, [graph.outputs[k] for _, k in ranked]))
    return min(candidates, key=_spills)


def _in_order(graph: Graph, results: list[tuple[int, int, Ref]]) -> Graph:
    """Nodes renumbered: depth first from one result after the other."""
    new = Graph()
    value: dict[int, Ref] = {}
    for output, position, ref in results:
        stack = [abs(ref)]
        while stack:
            number = stack[-1]
            node = graph[number]
            args = () if node.op in ("const", "input") else node.args
            missing = [abs(a) for a in args if abs(a) not in value]
            if number in value:
                stack.pop()
            elif missing:
                stack += missing
            else:
                moved = tuple(value[abs(a)] if a > 0 else -value[abs(a)] for a in args)
                value[number] = new.append(node._replace(args=moved) if args else node)
                stack.pop()
        new.outputs.append((output, position, value[abs(ref)] if ref > 0 else -value[abs(ref)]))
    return new


def _spills(graph: Graph) -> int:
    """Sum over the program of the values alive beyond the number of registers."""
    live = graph.live()
    place = {number: i for i, number in enumerate(live)}
    last: dict[int, int] = {}
    for number in live:
        node = graph[number]
        if node.op != "input":
            for arg in node.args:
                if graph[arg].op != "const":
                    last[abs(arg)] = place[number]
    change = [0] * (len(live) + 1)
    for number, end in last.items():
        change[place[number]] += 1
        change[end] -= 1
    alive = total = 0
    for step in change:
        alive += step
        total += max(0, alive - _REGISTERS)
    return total
