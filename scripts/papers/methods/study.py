"""The methods on random data for 1 to 40 links: what Fig. 6.2 and 6.3 of Sousa (2014) plot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from papers.methods.least_squares import ols, wls
from papers.methods.library import casid_answer
from papers.methods.lmi import lmi
from papers.methods.mata import mata_ipopt, mata_sqp
from papers.methods.mata_eigenvalues import mata_eigenvalues
from papers.methods.model_reduction import model_reduction
from papers.methods.point_masses import point_masses
from papers.methods.random_data import random_regression
from papers.methods.regression import Answer, Kind, Regression
from papers.methods.ting import ting

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
    methods: list[Callable[[Regression], Answer]] = [
        ols,
        wls,
        lmi,
        point_masses,
        lambda d: point_masses(d, 5),
        model_reduction,
    ]
    if slow:
        methods += [
            lambda d: mata_sqp(d, seconds=mata_seconds),
            lambda d: mata_ipopt(d, seconds=mata_seconds),
            lambda d: mata_eigenvalues(d, seconds=mata_seconds),
            ting,
        ]
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
    sizes: Sequence[int],
    seed: int = 0,
    kind: Kind = "full",
    mata_seconds: float = 10.0,
    mata_links: int = 40,
    repeats: int = 12,
) -> Iterator[Size]:
    """Every method on every size; the first, untimed, solve of each solver is spent before."""
    warm_up = random_regression(1, seed, points=50, kind=kind)
    lmi(warm_up)
    casid_answer(warm_up)
    mata_ipopt(warm_up)
    for links in sizes:
        yield run_size(random_regression(links, seed, kind=kind), mata_seconds, links <= mata_links, repeats)
