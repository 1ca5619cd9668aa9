"""Fewer operations: sums and products as wholes instead of pairs.

Nested sums become one sum, nested products one product. In a sum, terms with a common factor are collected,
``a b + a c = a (b + c)``; a pair of terms (or factors) that occurs in several sums (or products) is computed once. At
the end each sum is added up in the order in which its terms become available, which keeps chains of dependent
operations short.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable

from casid.codegen.graph import Graph, Ref
from casid.codegen.operations import Operations, count_operations

_MAX_ROUNDS = 6


def simplify(graph: Graph) -> Graph:
    """An equal program with as few operations as rounds of regrouping find; the given one if none are found."""
    best, cost = graph, count_operations(graph)
    for _ in range(_MAX_ROUNDS):
        candidate = _Regrouping(best).result()
        new = count_operations(candidate)
        if _weight(new) >= _weight(cost):
            break
        best, cost = candidate, new
    return best


def _weight(count: Operations) -> int:
    return count.multiplications + count.additions + count.negations


class _Regrouping:
    """One round: take apart, regroup, put together."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.uses = graph.uses()
        # New sums and products get numbers behind the graph's.
        self.next = len(graph.nodes) + 1
        self.sums: dict[int, list[Ref]] = {}
        self.products: dict[int, list[Ref]] = {}
        self._take_apart()
        self._collect_factors()
        _share_pairs(self.sums, self._new, signed=True)
        _share_pairs(self.products, self._new, signed=False)

    def _new(self) -> int:
        self.next += 1
        return self.next - 1

    def _take_apart(self) -> None:
        graph = self.graph
        for number in graph.live():
            node = graph[number]
            if node.op == "add":
                self.sums[number] = self._flat(node.args, self.sums, signed=True)
            elif node.op == "mul":
                self.products[number] = self._flat(node.args, self.products, signed=False)

    def _flat(self, args: tuple[Ref, ...], table: dict[int, list[Ref]], signed: bool) -> list[Ref]:
        """Arguments with those that only this node uses replaced by their own arguments."""
        flat: list[Ref] = []
        for arg in args:
            inner = table.get(abs(arg))
            if inner is not None and self.uses[abs(arg)] == 1:
                flat += [-term for term in inner] if signed and arg < 0 else inner
                del table[abs(arg)]
            else:
                flat.append(arg)
        return flat

    def _collect_factors(self) -> None:
        pending = list(self.sums)
        while pending:
            number = pending.pop()
            terms = self.sums[number]
            while True:
                holders: dict[Ref, list[int]] = defaultdict(list)
                for position, term in enumerate(terms):
                    if abs(term) in self.products and self._uses(abs(term)) == 1:
                        for factor in set(self.products[abs(term)]):
                            holders[factor].append(position)
                factor, positions = max(holders.items(), key=lambda item: len(item[1]), default=(0, []))
                if len(positions) < 2:
                    break
                rest = self._new()
                self.sums[rest] = [self._without(terms[p], factor) for p in positions]
                self._note_use(rest)
                product = self._new()
                self.products[product] = [factor, rest]
                self._note_use(product)
                terms = [t for p, t in enumerate(terms) if p not in positions] + [product]
                pending.append(rest)
                if len(terms) == 1:
                    break
            self.sums[number] = terms

    def _uses(self, number: int) -> int:
        return self.uses[number] if number < len(self.uses) else 1

    def _note_use(self, number: int) -> None:
        self.uses += [0] * (number + 1 - len(self.uses))
        self.uses[number] = 1

    def _without(self, term: Ref, factor: Ref) -> Ref:
        """A product without one of its factors; what is left, with the term's sign."""
        factors = list(self.products.pop(abs(term)))
        factors.remove(factor)
        sign = 1 if term > 0 else -1
        if len(factors) == 1:
            return sign * factors[0]
        number = self._new()
        self.products[number] = factors
        self._note_use(number)
        return sign * number

    # ------------------------------------------------------------------ putting together

    def result(self) -> Graph:
        """The regrouped program."""
        old, new = self.graph, Graph()
        value: dict[int, Ref] = {}
        depth: dict[int, int] = {}

        def ready(ref: Ref) -> int:
            node = new[ref]
            return 0 if node.op in ("const", "input") else depth.get(abs(ref), 0)

        def mark(ref: Ref) -> Ref:
            node = new[ref]
            if node.op not in ("const", "input") and abs(ref) not in depth:
                depth[abs(ref)] = 1 + max((ready(arg) for arg in node.args), default=0)
            return ref

        def get(ref: Ref) -> Ref:
            return value[abs(ref)] if ref > 0 else -value[abs(ref)]

        def needs(number: int) -> list[Ref]:
            if number in self.sums:
                return self.sums[number]
            if number in self.products:
                return self.products[number]
            node = old[number]
            return [] if node.op in ("const", "input") else list(node.args)

        def build(number: int) -> Ref:
            if number in self.sums or number in self.products:
                total = number in self.sums
                heap = [(ready(get(t)), i, get(t)) for i, t in enumerate(needs(number))]
                heapq.heapify(heap)
                combine = new.add if total else new.multiply
                while len(heap) > 1:
                    (_, i, a), (_, _, b) = heapq.heappop(heap), heapq.heappop(heap)
                    ref = mark(combine(a, b))
                    heapq.heappush(heap, (ready(ref), i, ref))
                return heap[0][2]
            node = old[number]
            if node.op == "const":
                return new.constant(node.value)
            if node.op == "input":
                return new.input(*node.args)
            args = [get(arg) for arg in node.args]
            return mark(new.divide(*args) if node.op == "div" else new.call(node.op, *args))

        for output, position, ref in old.outputs:
            stack = [abs(ref)]
            while stack:
                number = stack[-1]
                if number in value:
                    stack.pop()
                    continue
                missing = [abs(arg) for arg in needs(number) if abs(arg) not in value]
                if missing:
                    stack += missing
                else:
                    value[number] = build(stack.pop())
            new.outputs.append((output, position, get(ref)))
        return new


def _share_pairs(groups: dict[int, list[Ref]], new: Callable[[], int], signed: bool) -> None:
    """Replace, most frequent first, every pair of members that occurs in two groups or more by a new group."""

    def key(a: Ref, b: Ref) -> tuple[Ref, Ref]:
        if abs(a) > abs(b):
            a, b = b, a
        return (a, b) if a > 0 or not signed else (-a, -b)

    where: dict[tuple[Ref, Ref], Counter[int]] = defaultdict(Counter)
    for number, members in groups.items():
        for i, a in enumerate(members):
            for b in members[i + 1 :]:
                where[key(a, b)][number] += 1
    heap = [(-len(owners), pair) for pair, owners in where.items() if len(owners) > 1]
    heapq.heapify(heap)
    while heap:
        size, (a, b) = heapq.heappop(heap)
        owners = [n for n, times in where[a, b].items() if times > 0]
        if len(owners) < 2:
            continue
        if len(owners) != -size:
            heapq.heappush(heap, (-len(owners), (a, b)))
            continue
        existing = next((n for n in owners if sorted(groups[n]) in (sorted((a, b)), sorted((-a, -b)))), None)
        if existing is None:
            shared = new()
            groups[shared] = [a, b]
        else:
            shared = existing if a in groups[existing] else -existing
        for number in owners:
            if number == existing:
                continue
            members = groups[number]
            if a in members and b in members:
                sign = 1
            elif signed and -a in members and -b in members:
                sign = -1
            else:
                continue
            members.remove(sign * a)
            members.remove(sign * b)
            for old in members:
                where[key(sign * a, old)][number] -= 1
                where[key(sign * b, old)][number] -= 1
                pair = key(sign * shared, old)
                where[pair][number] += 1
                if len(where[pair]) > 1:
                    heapq.heappush(heap, (-sum(t > 0 for t in where[pair].values()), pair))
            where[a, b][number] = 0
            members.append(sign * shared)
