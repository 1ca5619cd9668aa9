"""A program's sums and products as wholes: many terms or factors each, nested ones flattened."""

from __future__ import annotations

from collections import defaultdict

from casid.codegen.graph import Graph, Ref


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
