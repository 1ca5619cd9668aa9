"""Which extra measurement or constraint would pin the parameters down most: intervals solved again with each added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from casid.errors import ProblemError
from casid.retrieval._problem import Problem
from casid.retrieval.constraints._bounds import mass_bounds
from casid.retrieval.constraints._constraint import Constraint
from casid.retrieval.insight._intervals import Intervals, parameter_intervals
from casid.retrieval.solver._build import SolveOptions


@dataclass(frozen=True)
class WhatIf:
    """Effect of one candidate.

    Attributes
    ----------
    candidate : str
    reduction : float
        Mean over the quantities of ``1 - width after / width before``: 0 helps nothing, 1 settles everything.
    most_helped : tuple of (str, float)
        The quantities it helps most, with their own reduction.
    """

    candidate: str
    reduction: float
    most_helped: tuple[tuple[str, float], ...]


def weigh_each_link(problem: Problem, values: Intervals, accuracy: float = 0.01) -> dict[str, Constraint]:
    """Candidates: each link's mass becomes known, to ``accuracy`` of it, at the middle of its present interval."""
    candidates: dict[str, Constraint] = {}
    for link in problem.variables:
        entry = values[f"m{link.index + 1}"]
        middle = (entry.attained_low + entry.attained_high) / 2
        weighed = mass_bounds(link, middle * (1 - accuracy), middle * (1 + accuracy))
        candidates[f"weigh {link.name}"] = replace(weighed, label=f"weighed {link.name}")
    return candidates


def what_if(
    intervals: Intervals,
    candidates: Mapping[str, Constraint],
    quantities: Sequence[str] | None = None,
    options: SolveOptions | None = None,
) -> tuple[WhatIf, ...]:
    """Solve the intervals again with each candidate added to the problem, at the same limit of the sum of squares.

    Parameters
    ----------
    intervals
        Of the problem as it is; of standard parameters or extras.
    candidates
        Name -> hard constraint that would become known.
    quantities
        Names of the intervals to look at; default: the masses, which decide most else.

    Returns
    -------
    tuple of WhatIf, the most helpful first.
    """
    problem = intervals.problem
    names = list(quantities or [e.name for e in intervals.entries if e.name[0] == "m" and e.name[1:].isdigit()])
    unknown = [n for n in names if n not in problem.variables.names]
    if unknown or not names:
        raise ProblemError(f"what-if: quantities must be unknowns of problem '{problem.name}', got {unknown or names}")
    wanted = {n: ca.SX(problem.variables.x[list(problem.variables.names).index(n)]) for n in names}
    limit = intervals.optimum + intervals.tolerance
    found = []
    for candidate, constraint in candidates.items():
        extended = problem.with_constraints(constraint)
        try:
            solved = parameter_intervals(extended, wanted, limit=limit, options=options)
        except ProblemError as error:
            raise ProblemError(f"what-if '{candidate}': {error}") from None
        shares = {n: 1.0 - solved[n].width / max(intervals[n].width, 1e-300) for n in names}
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        found.append(WhatIf(candidate, float(np.mean([max(s, 0.0) for s in shares.values()])), tuple(ranked[:5])))
    return tuple(sorted(found, key=lambda w: -w.reduction))
