"""Pairs of terms (or factors) that several sums (or products) have in common, computed once."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable

from casid.codegen.graph import Ref

Pair = tuple[Ref, Ref]


def share_pairs(groups: dict[int, list[Ref]], new_number: Callable[[], int], signed: bool) -> None:
    """Replace, most frequent first, every pair of members that occurs in two groups or more by a new group.

    Parameters
    ----------
    groups
        Number of a group -> its members; changed in place.
    new_number
        Gives the number of a new group.
    signed
        Sums: ``a + b`` stands for ``-a - b`` too.
    """
    _Sharing(groups, new_number, signed).run()


class _Sharing:
    """Where each pair occurs, kept up to date while pairs are replaced."""

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
