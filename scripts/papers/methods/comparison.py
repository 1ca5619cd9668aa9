"""Constrained regression of random data by every method, and what each takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from papers.methods.earlier import mata_eigenvalues, mata_ipopt, mata_sqp, ting
from papers.methods.feasible_set import lmi
from papers.methods.point_masses import point_masses
from papers.methods.reduction import model_reduction
from papers.methods.regression import Answer, Kind, Regression, answer, ols, random_regression, wls

from casid.description import Joint, Link, Robot
from casid.retrieval import LeastSquares, Problem, SolveOptions, link_variables, solve

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
    status, times = f"{solution.status} ({solution.solver_status})", (total - solution.solve_time, solution.solve_time)
    x, iterations = np.array(solution.x), solution.iterations
    result = answer("casid", data, x, solution.certified, status, iterations, max(times[0], 0.0), times[1])
    return result, solution.lower_bound - data.constant


#: Relative tolerance of the semidefinite optimum that others are compared with.
REFERENCE_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Size:
    """All answers for one number of links.

    Attributes
    ----------
    links : int
    answers : mapping of str to Answer
        By method.
    optimum : float
        ``||R x - r||^2`` of the semidefinite program at a tight tolerance.
    lower_bound : float
        Of this library's certificate.
    total : float
        ``||W x - tau||^2`` at the optimum.
    """

    links: int
    answers: dict[str, Answer]
    optimum: float
    lower_bound: float
    total: float


def run_size(data: Regression, mata_seconds: float, slow: bool = True, repeats: int = 12) -> Size:
    """Every method on one set of data.

    Parameters
    ----------
    data
        The regression.
    mata_seconds
        Time limit of each nonlinear program.
    slow
        Whether to run Mata's method; the thesis stopped it at 12 links because of the time.
    repeats
        Runs of each method of which the quickest counts.
    """
    methods: list[Callable[[Regression], Answer]] = [ols, wls, lmi, point_masses, partial(point_masses, per_edge=5)]
    methods.append(model_reduction)
    if slow:
        methods += [partial(method, seconds=mata_seconds) for method in (mata_sqp, mata_ipopt, mata_eigenvalues)]
        methods.append(ting)
    assert data.triangle.size  # the compression is shared by all and counts for none
    found = [quickest(method, data, repeats) for method in methods]
    bounds = []

    def own(d: Regression) -> Answer:
        result, bound = casid_answer(d)
        bounds.append(bound)
        return result

    found.append(quickest(own, data, repeats))
    reference = lmi(data, REFERENCE_TOLERANCE)
    return Size(
        data.links, {a.method: a for a in found}, reference.excess, max(bounds), data.constant + reference.excess
    )


def quickest(method: Callable[[Regression], Answer], data: Regression, repeats: int, seconds: float = 1.0) -> Answer:
    """The answer with the shortest solver time of a few runs: other work on the machine only ever adds to it.

    No further run is started once ``seconds`` have passed.
    """
    start = time.process_time()
    best = method(data)
    for _ in range(repeats - 1):
        if time.process_time() - start > seconds:
            break
        best = min(best, method(data), key=lambda a: a.solve_time)
    return best


def run_sizes(
    sizes: Sequence[int], kind: Kind = "full", mata_seconds: float = 10.0, mata_links: int = 40, repeats: int = 12
) -> Iterator[Size]:
    """Every method on every size; the first, untimed, solve of each solver is spent before."""
    warm_up = random_regression(1, points=50, kind=kind)
    lmi(warm_up)
    casid_answer(warm_up)
    mata_ipopt(warm_up)
    for links in sizes:
        yield run_size(random_regression(links, kind=kind), mata_seconds, links <= mata_links, repeats)


@dataclass(frozen=True)
class Duel:
    """One size.

    Attributes
    ----------
    links : int
    proven_gap : float
        ``(objective - certified lower bound) / objective`` with ``objective = ||R x - r||^2``, what feasibility costs.
    above_clarabel : float
        ``objective / Clarabel's - 1``, Clarabel at a tight tolerance; negative where Clarabel is the less accurate one.
    eigenvalue, margin : float
        Smallest eigenvalue of all pseudo-inertias, re-computed in numpy, and what it must be.
    compress, build, solve : float
        Shortest times of a few runs [s]: QR of the data, stating and building the problem, solving and certifying it.
    clarabel : float
        Shortest time of Clarabel's own solve at its default tolerances [s].
    """

    links: int
    proven_gap: float
    above_clarabel: float
    eigenvalue: float
    margin: float
    compress: float
    build: float
    solve: float
    clarabel: float

    @property
    def ratio(self) -> float:
        """Time of the solve in units of Clarabel's."""
        return self.solve / self.clarabel


def duel(links: int, rounds: int = 10) -> Duel:
    """Take turns, so that other work on the machine disturbs both alike; keep each one's shortest time."""
    data = random_regression(links)
    start = time.process_time()
    assert data.triangle.size
    compress = time.process_time() - start
    lmi(data)
    own, bound = casid_answer(data)
    build, solving, clarabel = own.build_time, own.solve_time, np.inf
    for _ in range(rounds):
        clarabel = min(clarabel, lmi(data).solve_time)
        own, bound = casid_answer(data)
        build, solving = min(build, own.build_time), min(solving, own.solve_time)
    reference = lmi(data, REFERENCE_TOLERANCE)
    gap, above = 1.0 - bound / own.excess, own.excess / reference.excess - 1.0
    return Duel(links, gap, above, own.eigenvalue, data.margin, compress, build, solving, clarabel)
