"""The library itself: the lifted convex program of `casid.retrieval`, solved by IPOPT, with a certificate."""

from __future__ import annotations

import time

import numpy as np

from casid.description import Joint, Link, Robot
from casid.retrieval import LeastSquares, Problem, SolveOptions, link_variables, solve
from papers.methods.regression import Answer, Regression, answer

#: Relative gap that the solve aims at, of ``||R x - r||^2 + constant``.
TARGET_GAP = 1e-11


def chain(links: int) -> Robot:
    """A serial chain of revolute joints: random data need the links only, not their geometry."""
    return Robot(
        f"chain{links}", tuple(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}")) for k in range(links))
    )


def problem(data: Regression) -> Problem:
    """The regression as a user of the library states it: no bounds, no prior, physical consistency alone."""
    variables = link_variables(chain(data.links))
    return Problem(
        "regression", variables, LeastSquares(data.R, data.r, data.constant), consistency=data.kind, margin=data.margin
    )


def casid_answer(data: Regression, target_gap: float = TARGET_GAP) -> tuple[Answer, float]:
    """The answer, and the certified lower bound on ``||R x - r||^2``.

    Times: ``build_time`` from the R factor to a ready program, ``solve_time`` the solve with its certificate.
    """
    start = time.process_time()
    solution = solve(problem(data), options=SolveOptions(target_gap=target_gap), throw=False)
    total = time.process_time() - start
    result = answer(
        "casid",
        data,
        np.array(solution.x),
        solved=solution.certified,
        status=f"{solution.status} ({solution.solver_status})",
        iterations=solution.iterations,
        build_time=max(total - solution.solve_time, 0.0),
        solve_time=solution.solve_time,
    )
    return result, solution.lower_bound - data.constant
