"""The answer of `DivergenceProgram` with its proof, and the coordinates in which it is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia import from_pseudo_inertia, pseudo_inertia
from casid.inertia._divergence import congruence
from casid.inertia._parameter_vector import link_slice
from casid.retrieval._problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MostPlausible:
    """Solution of the program.

    Attributes
    ----------
    parameters : ndarray, shape (N,)
        Standard parameters, then the extras.
    scale : float
        s.
    divergence, lower_bound : float
        D at the solution, and the proven smallest value of any feasible set (relative to bodies of that scale).
    limit : float
        F, of objective plus penalty, that the proof is for.
    price : float
        lambda: decrease of D for each unit by which the allowed sum of squares is raised.
    multipliers : ndarray
        Multipliers of the linear rows, > 0 at an upper bound.
    iterations : int
    status : str
    """

    parameters: Array
    scale: float
    divergence: float
    lower_bound: float
    limit: float
    price: float
    multipliers: Array
    iterations: int
    status: str

    @property
    def gap(self) -> float:
        """``(D - lower bound) / max(D, 1)``."""
        return float((self.divergence - self.lower_bound) / max(self.divergence, 1.0))


def coordinates(problem: Problem, bodies: Array, margins: Array) -> tuple[Array, Array]:
    """``x = C y + x0``: a link's y is the lower triangle of M in the coordinates in which its plausible body is 1."""
    size, lengths = problem.variables.size, np.linalg.norm(problem.objective.matrix, axis=0)
    basis, origin = np.zeros((size, size)), np.zeros(size)
    for k, margin in enumerate(margins):
        link = link_slice(k)
        body = pseudo_inertia(bodies[link])
        smallest = float(np.linalg.eigvalsh(body)[0])
        beyond = body - margin * np.eye(4) if smallest > 2 * margin else body
        factor = np.linalg.cholesky(beyond)
        basis[link, link] = congruence(factor)
        origin[link] = from_pseudo_inertia(margin * np.eye(4))
    for k in range(10 * len(margins), size):
        basis[k, k] = 1.0 / lengths[k] if lengths[k] > 0 else 1.0
    typical = float(np.median(np.linalg.norm(problem.objective.matrix @ basis[:, : 10 * len(margins)], axis=0)))
    for k in range(10 * len(margins), size):
        basis[k, k] *= typical or 1.0
    return basis, origin
