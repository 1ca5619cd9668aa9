"""A program's sums and products as wholes: many terms or factors each, nested ones flattened."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable

import casadi as ca

from casid.codegen._graph import Graph, Operations, Ref, arguments_first, count_operations, graph_of


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
        self._next = len(graph.nodes) + 1
        for number in graph.live():
            node = graph[number]
            if node.op == "add":
                self.sums[number] = self._flat(node.args, self.sums, signed=True)
            elif node.op == "mul":
                self.products[number] = self._flat(node.args, self.products, signed=False)

    def new_number(self) -> int:
        """A number that no value has."""
        self._next += 1
        return self._next - 1

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
            if abs(term) in self.products and self._used_once(abs(term)):
                for factor in set(self.products[abs(term)]):
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

    def _used_once(self, number: int) -> bool:
        return number >= len(self._uses) or self._uses[number] == 1  # new groups are used where they were made


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
        if node.op == "const":
            return self.new.constant(node.value)
        if node.op == "input":
            return self.new.input(*node.args)
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
    _Sharing(groups.sums, groups.new_number, signed=True).run()
    _Sharing(groups.products, groups.new_number, signed=False).run()
    return _Assembly(graph, groups).result()


def _cost(graph: Graph) -> int:
    count = count_operations(graph)
    return count.multiplications + count.additions + count.negations
