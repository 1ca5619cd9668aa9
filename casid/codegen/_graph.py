"""Straight-line programs: what a CasADi function computes, as a graph that simplifies itself while it grows; its order.

Every value is referred to by a signed number: node k or its negative. Negations therefore cost nothing and never hide a
common subexpression: ``a - b`` and ``b - a`` are one node. Equal expressions are one node by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from casid.errors import ExportError

#: A value: node number (from 1), negative for its negation.
Ref = int


class Node(NamedTuple):
    """One operation. ``op`` is const, input, add, mul, div or the C name of a function; ``args`` its values."""

    op: str
    args: tuple[Ref, ...] = ()
    value: float = 0.0

    @property
    def needs(self) -> tuple[Ref, ...]:
        """The values that it is computed from."""
        return () if self.op == "input" else self.args


#: CasADi operations that are C functions of the same meaning, and those that the emitter itself writes.
_FUNCTIONS = {
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos", ca.OP_ATAN: "atan",
    ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh", ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh", ca.OP_ATAN2: "atan2", ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow", ca.OP_SQRT: "sqrt", ca.OP_FABS: "fabs", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil",
    ca.OP_FMOD: "fmod", ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax", ca.OP_COPYSIGN: "copysign", ca.OP_ERF: "erf",
    ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1", ca.OP_HYPOT: "hypot",
    ca.OP_SIGN: "sign", ca.OP_LT: "less", ca.OP_LE: "less_equal", ca.OP_EQ: "equal", ca.OP_NE: "not_equal",
    ca.OP_NOT: "not", ca.OP_AND: "and", ca.OP_OR: "or", ca.OP_IF_ELSE_ZERO: "if_else_zero",
}  # fmt: skip
#: ``f(-x) = -f(x)`` and ``f(-x) = f(x)``.
_ODD = {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "sign", "erf"}
_EVEN = {"cos", "cosh", "fabs"}


class Graph:
    """Nodes of a program and the values it returns.

    Attributes
    ----------
    nodes : list of Node
        Node k is ``nodes[k - 1]``; arguments come before their users.
    outputs : list of (int, int, Ref)
        Output number, position among its structural nonzeros (column by column), value.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.outputs: list[tuple[int, int, Ref]] = []
        self._known: dict[Node, int] = {}
        self.zero = self.append(Node("const", value=0.0))
        self.one = self.append(Node("const", value=1.0))

    def append(self, node: Node) -> Ref:
        """A node as it is, its arguments being of this graph."""
        number = self._known.get(node)
        if number is None:
            self.nodes.append(node)
            number = self._known[node] = len(self.nodes)
        return number

    def __getitem__(self, ref: Ref) -> Node:
        return self.nodes[abs(ref) - 1]

    def constant(self, value: float) -> Ref:
        """A number; its sign goes into the reference."""
        if value < 0.0:
            return -self.append(Node("const", value=-value))
        return self.append(Node("const", value=value + 0.0))

    def number(self, ref: Ref) -> float | None:
        """Numeric value where the reference is constant, else None."""
        node = self[ref]
        if node.op != "const":
            return None
        return node.value if ref > 0 else -node.value

    def input(self, index: int, position: int) -> Ref:
        """Nonzero ``position`` of input ``index``."""
        return self.append(Node("input", (index, position)))

    def add(self, a: Ref, b: Ref) -> Ref:
        """``a + b``"""
        x, y = self.number(a), self.number(b)
        if x is not None and y is not None:
            return self.constant(x + y)
        if x == 0.0:
            return b
        if y == 0.0:
            return a
        if a == -b:
            return self.zero
        if a == b:
            return self.multiply(self.constant(2.0), a)
        if abs(a) > abs(b):
            a, b = b, a
        return self.append(Node("add", (a, b))) if a > 0 else -self.append(Node("add", (-a, -b)))

    def multiply(self, a: Ref, b: Ref) -> Ref:
        """``a b``"""
        x, y = self.number(a), self.number(b)
        if x is not None and y is not None:
            return self.constant(x * y)
        sign = 1 if (a > 0) == (b > 0) else -1
        a, b = abs(a), abs(b)
        if self.zero in (a, b):
            return self.zero
        if a == self.one:
            return sign * b
        if b == self.one:
            return sign * a
        return sign * self.append(Node("mul", (min(a, b), max(a, b))))

    def divide(self, a: Ref, b: Ref) -> Ref:
        """``a / b``"""
        x, y = self.number(a), self.number(b)
        if y is not None and y != 0.0:
            return self.constant(x / y) if x is not None else self.multiply(a, self.constant(1.0 / y))
        if abs(a) == self.zero:
            return self.zero
        sign = 1 if (a > 0) == (b > 0) else -1
        return sign * self.append(Node("div", (abs(a), abs(b))))

    def call(self, name: str, *args: Ref) -> Ref:
        """A function by its C name."""
        if name in _ODD or name in _EVEN:
            sign = -1 if name in _ODD and args[0] < 0 else 1
            return sign * self.append(Node(name, (abs(args[0]),)))
        return self.append(Node(name, args))

    def live(self) -> list[int]:
        """Numbers of the nodes that the outputs need, arguments first."""
        needed = [False] * (len(self.nodes) + 1)
        for _, _, ref in self.outputs:
            needed[abs(ref)] = True
        for number in range(len(self.nodes), 0, -1):
            for arg in self[number].needs if needed[number] else ():
                needed[abs(arg)] = True
        return [number for number in range(1, len(self.nodes) + 1) if needed[number]]

    def uses(self) -> list[int]:
        """How often the outputs and live nodes use each node, by number."""
        count = [0] * (len(self.nodes) + 1)
        for number in self.live():
            for arg in self[number].needs:
                count[abs(arg)] += 1
        for _, _, ref in self.outputs:
            count[abs(ref)] += 1
        return count


def graph_of(function: ca.Function) -> Graph:
    """The program of a CasADi function.

    Raises
    ------
    ExportError
        If the function cannot be expanded to scalar operations (e.g. it holds a solver) or has an unknown operation.
    """
    scalar = function
    if not scalar.is_a("SXFunction"):
        try:
            scalar = function.expand()
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise ExportError(
                f"function '{function.name()}' cannot be written as scalar operations: {reason}"
            ) from error
    graph = Graph()
    work: dict[int, Ref] = {}
    for k in range(scalar.n_instructions()):
        op, read, write = scalar.instruction_id(k), scalar.instruction_input(k), scalar.instruction_output(k)
        if op == ca.OP_OUTPUT:
            graph.outputs.append((write[0], write[1], work[read[0]]))
        elif op == ca.OP_INPUT:
            work[write[0]] = graph.input(read[0], read[1])
        elif op == ca.OP_CONST:
            work[write[0]] = graph.constant(scalar.instruction_constant(k))
        else:
            work[write[0]] = _apply(graph, op, [work[i] for i in read], function.name())
    return graph


#: CasADi operations that are sums, products and quotients.
_RULES: dict[int, Callable[..., Ref]] = {
    ca.OP_ADD: Graph.add,
    ca.OP_SUB: lambda graph, a, b: graph.add(a, -b),
    ca.OP_MUL: Graph.multiply,
    ca.OP_SQ: lambda graph, a: graph.multiply(a, a),
    ca.OP_TWICE: lambda graph, a: graph.add(a, a),
    ca.OP_NEG: lambda graph, a: -a,
    ca.OP_DIV: Graph.divide,
    ca.OP_INV: lambda graph, a: graph.divide(graph.one, a),
    ca.OP_ASSIGN: lambda graph, a: a,
}


def _apply(graph: Graph, op: int, args: Sequence[Ref], name: str) -> Ref:
    if op in _RULES:
        return _RULES[op](graph, *args)
    if op in _FUNCTIONS:
        return graph.call(_FUNCTIONS[op], *args)
    raise ExportError(f"function '{name}' uses CasADi operation {op}, which has no C counterpart here")


_TRIGONOMETRIC = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}


@dataclass(frozen=True)
class Operations:
    """Operation counts of a program.

    Attributes
    ----------
    multiplications : int
        Products, squares included.
    additions : int
        Sums and differences; doubling a value counts as one.
    divisions : int
    trigonometric : int
        Calls of sin, cos, ...; two for the sine and the cosine of one angle.
    other : int
        Any other function: sign, sqrt, comparisons, ...
    negations : int
        Changes of sign that no sum or difference absorbs: results returned with the opposite sign, mostly. As in the
        literature, they are not counted as additions.
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0
    other: int = 0
    negations: int = 0


def count_operations(graph: Graph) -> Operations:
    """Operations of a program's live nodes."""
    count = dict.fromkeys(Operations.__dataclass_fields__, 0)
    negated: set[int] = set()
    for number in graph.live():
        node = graph[number]
        if node.op in ("const", "input"):
            continue
        if node.op == "mul":
            doubling = any(graph.number(arg) == 2 for arg in node.args)
            count["additions" if doubling else "multiplications"] += 1
        elif node.op == "add":
            count["additions"] += 1
        elif node.op == "div":
            count["divisions"] += 1
        else:
            count["trigonometric" if node.op in _TRIGONOMETRIC else "other"] += 1
            negated.update(-arg for arg in node.args if arg < 0 and graph.number(arg) is None)
    negated.update(-ref for _, _, ref in graph.outputs if ref < 0 and graph.number(ref) is None)
    count["negations"] = len(negated)
    return Operations(**count)


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


def arguments_first(wanted: int, needs: Callable[[int], Iterable[Ref]], known: Container[int]) -> Iterator[int]:
    """A value and all that it needs, each behind its own arguments; the caller makes it known before the next one."""
    stack = [wanted]
    while stack:
        number = stack[-1]
        missing = [abs(a) for a in needs(number) if abs(a) not in known]
        if number in known:
            stack.pop()
        elif missing:
            stack += missing
        else:
            yield stack.pop()


def _in_order(graph: Graph, results: list[tuple[int, int, Ref]]) -> Graph:
    """Nodes renumbered: depth first from one result after the other."""
    new = Graph()
    value: dict[int, Ref] = {}
    for output, position, ref in results:
        for number in arguments_first(abs(ref), lambda k: graph[k].needs, value):
            node = graph[number]
            moved = tuple(value[abs(a)] if a > 0 else -value[abs(a)] for a in node.needs)
            value[number] = new.append(node._replace(args=moved) if moved else node)
        new.outputs.append((output, position, value[abs(ref)] if ref > 0 else -value[abs(ref)]))
    return new


def _spills(graph: Graph) -> int:
    """Sum over the program of the values alive beyond the number of registers."""
    live = graph.live()
    place = {number: i for i, number in enumerate(live)}
    last: dict[int, int] = {}
    for number in live:
        last.update((abs(arg), place[number]) for arg in graph[number].needs if graph[arg].op != "const")
    change = [0] * (len(live) + 1)
    for number, end in last.items():
        change[place[number]] += 1
        change[end] -= 1
    alive = total = 0
    for step in change:
        alive += step
        total += max(0, alive - _REGISTERS)
    return total
