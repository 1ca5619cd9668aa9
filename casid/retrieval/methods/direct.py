"""One convex core, solved directly; where constraints are not convex, a local optimum and a proven bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from casid.retrieval.methods.method import Array, Bound, Method, Start
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver.determined import applies, solve_determined
from casid.retrieval.solver.options import SolveOptions
from casid.retrieval.solver.prepared import Prepared
from casid.retrieval.solver.relaxed import tightened


@dataclass(frozen=True)
class Direct(Method):
    """IPOPT on the lifted program, twice; if-else acts by the branch of the present point."""

    name: ClassVar[str] = "direct"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`; where the data determine everything and no start is given, the fast way."""
        options = start.options
        if options.direct and start.point is None and start.seed is None and start.nominal is None and applies(problem):
            found = solve_determined(problem, options.tolerances)
            if found is not None:
                return found
        return prepare(problem, start.nominal, options).solve(start.point, start.seed, throw=False)

    def bind(self, problem: Problem, nominal: Array | None, options: SolveOptions) -> Bound:
        """The program is built once."""
        return _PreparedBound(self, problem, nominal, options)


class _PreparedBound(Bound):
    def __init__(self, method: Method, problem: Problem, nominal: Array | None, options: SolveOptions) -> None:
        super().__init__(method, problem, nominal, options)
        self._prepared = prepare(problem, nominal, options)

    def solve(self, seed: int) -> Solution:
        return self._prepared.solve(seed=seed, throw=False)


def prepare(problem: Problem, nominal: ArrayLike | None = None, options: SolveOptions | None = None) -> Prepared:
    """A problem with its program built, to be solved from any number of starts; arguments as in `solve`."""
    return Prepared(problem, nominal, options, tightened)
