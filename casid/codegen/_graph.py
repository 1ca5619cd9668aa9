"""Straight-line programs: what a CasADi function computes, as a graph with few operations in a good order.

Every value is referred to by a signed number: node k or its negative. Negations therefore cost nothing and never hide a
common subexpression: ``a - b`` and ``b - a`` are one node. Equal expressions are one node by construction.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from casid.errors import ExportError

# ------------------------------------------------------------------ graphs

#: A value: node number (from 1), negative for its negation.
Ref = int


class Node(NamedTuple):
    """One operation. ``op`` is const, input, add, mul, div or the C name of a function; ``args`` its values.

    Of an input they are its number and the position among its structural nonzeros.
    """

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
            work[write[0]] = graph.append(Node("input", (read[0], read[1])))
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


# ------------------------------------------------------------------ sums and products as wholes


class Groups:
    """Sums and products of a program.

    Attributes
    ----------
    sums, products : dict
        Number of a sum (product) -> its terms (factors). New ones get numbers behind the graph's.
    """

    def __init__(self, graph: Graph) -> None:
        self.sums: dict[int, list[Ref]] = {}
        self.products: dict[int, list[Ref]] = {}
        self._uses = graph.uses()
        #: A number that no value has.
        self.new_number = itertools.count(len(graph.nodes) + 1).__next__
        for number in graph.live():
            node = graph[number]
            if node.op == "add":
                self.sums[number] = self._flat(node.args, self.sums, signed=True)
            elif node.op == "mul":
                self.products[number] = self._flat(node.args, self.products, signed=False)

    def of(self, number: int) -> list[Ref] | None:
        """Terms or factors of a value; None where it is neither sum nor product."""
        return self.sums.get(number, self.products.get(number))

    def _flat(self, args: tuple[Ref, ...], table: dict[int, list[Ref]], signed: bool) -> list[Ref]:
        """Arguments with those that only this node uses replaced by their own arguments."""
        flat: list[Ref] = []
        for arg in args:
            inner = table.get(abs(arg))
            if inner is not None and self._uses[abs(arg)] == 1:
                flat += [-term for term in inner] if signed and arg < 0 else inner
                del table[abs(arg)]
            else:
                flat.append(arg)
        return flat

    # ------------------------------------------------------------------ common factors

    def collect_factors(self) -> None:
        """``a b + a c = a (b + c)`` in every sum, most frequent factor first, in the new sums too."""
        pending = list(self.sums)
        while pending:
            number = pending.pop()
            terms = self.sums[number]
            while len(terms) > 1:
                factor, positions = self._most_frequent_factor(terms)
                if len(positions) < 2:
                    break
                rest = self._new_group(self.sums, [self._without(terms[p], factor) for p in positions])
                product = self._new_group(self.products, [factor, rest])
                terms = [term for p, term in enumerate(terms) if p not in positions] + [product]
                pending.append(rest)
            self.sums[number] = terms

    def _most_frequent_factor(self, terms: list[Ref]) -> tuple[Ref, list[int]]:
        """A factor of several terms, and their positions; only products that nothing else uses count."""
        holders: dict[Ref, list[int]] = defaultdict(list)
        for position, term in enumerate(terms):
            number = abs(term)  # new groups are used where they were made
            if number in self.products and (number >= len(self._uses) or self._uses[number] == 1):
                for factor in set(self.products[number]):
                    holders[factor].append(position)
        return max(holders.items(), key=lambda item: len(item[1]), default=(0, []))

    def _without(self, term: Ref, factor: Ref) -> Ref:
        """A product without one of its factors; what is left, with the term's sign."""
        factors = list(self.products.pop(abs(term)))
        factors.remove(factor)
        sign = 1 if term > 0 else -1
        return sign * (factors[0] if len(factors) == 1 else self._new_group(self.products, factors))

    def _new_group(self, table: dict[int, list[Ref]], members: list[Ref]) -> int:
        number = self.new_number()
        table[number] = members
        return number


Pair = tuple[Ref, Ref]


class _Sharing:
    """Replaces, most frequent first, every pair of members that occurs in two groups or more by a new group.

    Parameters
    ----------
    groups
        Number of a group -> its members; changed in place.
    new_number
        Gives the number of a new group.
    signed
        Sums: ``a + b`` stands for ``-a - b`` too.
    """

    def __init__(self, groups: dict[int, list[Ref]], new_number: Callable[[], int], signed: bool) -> None:
        self.groups, self.new_number, self.signed = groups, new_number, signed
        #: Pair -> group -> how often it occurs there; 0 once it is gone.
        self.where: dict[Pair, Counter[int]] = defaultdict(Counter)
        for number, members in groups.items():
            for i, a in enumerate(members):
                for b in members[i + 1 :]:
                    self.where[self._key(a, b)][number] += 1
        self.heap = [(-len(owners), pair) for pair, owners in self.where.items() if len(owners) > 1]
        heapq.heapify(self.heap)

    def run(self) -> None:
        while self.heap:
            size, pair = heapq.heappop(self.heap)
            owners = [number for number, occurrences in self.where[pair].items() if occurrences > 0]
            if len(owners) < 2:
                continue
            if len(owners) != -size:  # others were replaced since: back into the queue, where it belongs now
                heapq.heappush(self.heap, (-len(owners), pair))
                continue
            own, shared = self._shared(pair, owners)
            for number in owners:
                if number != own:
                    self._replace(number, pair, shared)

    def _key(self, a: Ref, b: Ref) -> Pair:
        """The same for both orders, and in sums for both signs."""
        if abs(a) > abs(b):
            a, b = b, a
        return (a, b) if a > 0 or not self.signed else (-a, -b)

    def _shared(self, pair: Pair, owners: list[int]) -> tuple[int | None, Ref]:
        """The group that is the pair and nothing else, if one is, and the value that stands for the pair."""
        a, b = pair
        for number in owners:
            if sorted(self.groups[number]) in (sorted((a, b)), sorted((-a, -b))):
                return number, number if a in self.groups[number] else -number
        shared = self.new_number()
        self.groups[shared] = [a, b]
        return None, shared

    def _replace(self, number: int, pair: Pair, shared: Ref) -> None:
        """Put the shared value in the place of a pair of a group, where the pair is still there."""
        a, b = pair
        members = self.groups[number]
        if a in members and b in members:
            sign = 1
        elif self.signed and -a in members and -b in members:
            sign = -1
        else:
            return
        members.remove(sign * a)
        members.remove(sign * b)
        for other in members:
            self.where[self._key(sign * a, other)][number] -= 1
            self.where[self._key(sign * b, other)][number] -= 1
            self._count(self._key(sign * shared, other), number)
        self.where[pair][number] = 0
        members.append(sign * shared)

    def _count(self, pair: Pair, number: int) -> None:
        owners = self.where[pair]
        owners[number] += 1
        if len(owners) > 1:
            heapq.heappush(self.heap, (-sum(occurrences > 0 for occurrences in owners.values()), pair))


class _Assembly:
    """The program with its sums and products as the groups have them; chains of dependent operations are kept short."""

    def __init__(self, graph: Graph, groups: Groups) -> None:
        self.old, self.groups, self.new = graph, groups, Graph()
        #: Number of a value of the old program or a group -> the same value in the new program.
        self.value: dict[int, Ref] = {}
        #: Node of the new program -> operations on the longest way to it.
        self.depth: dict[int, int] = {}

    def result(self) -> Graph:
        for output, position, ref in self.old.outputs:
            for number in arguments_first(abs(ref), self._needs, self.value):
                self.value[number] = self._built(number)
            self.new.outputs.append((output, position, self._get(ref)))
        return self.new

    def _needs(self, number: int) -> list[Ref]:
        members = self.groups.of(number)
        return list(self.old[number].needs) if members is None else members

    def _built(self, number: int) -> Ref:
        if self.groups.of(number) is not None:
            return self._combined(number)
        node = self.old[number]
        if node.op in ("const", "input"):
            return self.new.append(node)
        args = [self._get(arg) for arg in node.args]
        return self._mark(self.new.divide(*args) if node.op == "div" else self.new.call(node.op, *args))

    def _combined(self, number: int) -> Ref:
        """A sum or product, the two members that are ready first combined first."""
        combine = self.new.add if number in self.groups.sums else self.new.multiply
        members = [self._get(member) for member in self._needs(number)]
        heap = [(self._ready(member), i, member) for i, member in enumerate(members)]
        heapq.heapify(heap)
        while len(heap) > 1:
            (_, i, a), (_, _, b) = heapq.heappop(heap), heapq.heappop(heap)
            ref = self._mark(combine(a, b))
            heapq.heappush(heap, (self._ready(ref), i, ref))
        return heap[0][2]

    def _get(self, ref: Ref) -> Ref:
        return self.value[abs(ref)] if ref > 0 else -self.value[abs(ref)]

    def _ready(self, ref: Ref) -> int:
        return self.depth.get(abs(ref), 0)

    def _mark(self, ref: Ref) -> Ref:
        node = self.new[ref]
        if node.op not in ("const", "input") and abs(ref) not in self.depth:
            self.depth[abs(ref)] = 1 + max((self._ready(arg) for arg in node.args), default=0)
        return ref


def simplify(graph: Graph) -> Graph:
    """An equal program with as few operations as rounds of regrouping find; the given one if none are found."""
    best, cost = graph, _cost(graph)
    while (new := _cost(candidate := _regrouped(best))) < cost:
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
    _Sharing(groups.sums, groups.new_number, signed=True).run()
    _Sharing(groups.products, groups.new_number, signed=False).run()
    return _Assembly(graph, groups).result()


def _cost(graph: Graph) -> int:
    count = count_operations(graph)
    return count.multiplications + count.additions + count.negations
