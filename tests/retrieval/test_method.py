"""The contract of methods: each uses its start, and none raises for a solve that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from casid.retrieval import solve
from casid.retrieval.methods._method import Direct, Method, Start
from casid.testing import BODY, nearest


@dataclass(frozen=True)
class Counted(Method):
    """A user's own method: the direct one, with the starts that it was given."""

    starts: list
    name: ClassVar[str] = "counted"

    def solve(self, problem, start):
        self.starts.append(start)
        return Direct().solve(problem, start)


def test_a_method_of_a_user_is_one_class() -> None:
    problem, method = nearest(BODY), Counted([])
    found = solve(problem, method=method, seed=3)
    assert found.certified and [start.seed for start in method.starts] == [3]
    assert isinstance(method.starts[0], Start)
