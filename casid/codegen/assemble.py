"""A program from its sums and products: each is combined in the order in which its members become available."""

from __future__ import annotations

import heapq

from casid.codegen.graph import Graph, Ref
from casid.codegen.groups import Groups

_LEAVES = ("const", "input")


def assemble(graph: Graph, groups: Groups) -> Graph:
    """The program with its sums and products as the groups say; chains of dependent operations are kept short."""
    return _Assembly(graph, groups).result()


class _Assembly:
    def __init__(self, graph: Graph, groups: Groups) -> None:
        self.old, self.groups, self.new = graph, groups, Graph()
        #: Number of a value of the old program or a group -> the same value in the new program.
        self.value: dict[int, Ref] = {}
        #: Node of the new program -> operations on the longest way to it.
        self.depth: dict[int, int] = {}

    def result(self) -> Graph:
        for output, position, ref in self.old.outputs:
            self._make(abs(ref))
            self.new.outputs.append((output, position, self._get(ref)))
        return self.new

    def _make(self, wanted: int) -> None:
        """Make a value, everything it needs before it."""
        stack = [wanted]
        while stack:
            number = stack[-1]
            missing = [abs(arg) for arg in self._needs(number) if abs(arg) not in self.value]
            if number in self.value:
                stack.pop()
            elif missing:
                stack += missing
            else:
                self.value[number] = self._built(stack.pop())

    def _needs(self, number: int) -> list[Ref]:
        members = self.groups.of(number)
        if members is not None:
            return members
        node = self.old[number]
        return [] if node.op in _LEAVES else list(node.args)

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
        return 0 if self.new[ref].op in _LEAVES else self.depth.get(abs(ref), 0)

    def _mark(self, ref: Ref) -> Ref:
        node = self.new[ref]
        if node.op not in _LEAVES and abs(ref) not in self.depth:
            self.depth[abs(ref)] = 1 + max((self._ready(arg) for arg in node.args), default=0)
        return ref
