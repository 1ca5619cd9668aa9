"""The library against Clarabel called directly, on the same data, in the same run: optimum and time."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from papers.methods.library import casid_answer
from papers.methods.lmi import lmi
from papers.methods.random_data import random_regression
from papers.methods.study import REFERENCE_TOLERANCE


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

    @property
    def total(self) -> float:
        """From the raw data to the certified solution [s]."""
        return self.compress + self.build + self.solve


def duel(links: int, rounds: int = 10, seed: int = 0) -> Duel:
    """Take turns, so that other work on the machine disturbs both alike; keep each one's shortest time."""
    data = random_regression(links, seed)
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
    return Duel(
        links,
        1.0 - bound / own.excess,
        own.excess / reference.excess - 1.0,
        own.eigenvalue,
        data.margin,
        compress,
        build,
        solving,
        clarabel,
    )
