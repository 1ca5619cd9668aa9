"""What is least plausible, as one number with its derivatives: the measure that the choice minimises; its minimum.

In coordinates in which the plausible body of every link is 1 (`DivergenceProgram`), with M_k the links' matrices, sigma
the logarithm of the common factor of those bodies whose masses are not known, and u_j the joint terms' unknowns,

    D(y, sigma) = sum_k  exp(-sigma_k) tr M_k - log det M_k + 4 sigma_k - 4                           (bodies)
                  + kappa sum_j (c_j u_j)^2                                                            (joint terms)
                  + omega sum_r  u_r / a_r - log((u_r / a_r + delta) / (1 + delta)) - 1             (rotor inertias)

with a_r the rotor inertia that a drive of that torque has. The last sum is the divergence of a matrix of one row; delta
keeps it finite for a drive without rotor inertia, such as one whose torque is measured behind the gear. D is convex in
y; in sigma its stationary point is unique.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.inertia import (
    DIAGONAL,
    TRIANGLE_MAP,
    Divergence,
    congruence,
    divergence_hessian,
    from_pseudo_inertia,
    link_slice,
    pseudo_inertia,
    symmetric,
)
from casid.retrieval._problem import Problem

_FROM_ONE = Divergence(np.eye(4))
#: Weight kappa of the joint terms' shares of the torque.
TERMS = 0.1
#: Weight omega of a rotor inertia, and the share delta of the expected one below which all are alike.
ROTOR, NO_ROTOR = 0.2, 0.01


@dataclass(frozen=True, eq=False)
class Measure:
    """The measure of one problem.

    Attributes
    ----------
    scaled : ndarray of bool, shape (links,)
        Links whose bodies share the unknown factor.
    terms : ndarray, shape (extras,)
        ``kappa c_j^2`` of the unknowns beyond the links.
    rotors : ndarray, shape (extras,)
        Rotor inertia a_r that is expected, in the unknown's own unit; 0 for an unknown that is none.
    """

    scaled: NDArray[np.bool_]
    terms: Array
    rotors: Array

    @property
    def links(self) -> int:
        """Number of links."""
        return len(self.scaled)

    def matrices(self, y: Array) -> Array:
        """M_k, shape (links, 4, 4)."""
        return symmetric(y[: 10 * self.links].reshape(-1, 10))

    def scales(self, sigma: float) -> Array:
        """``exp(sigma_k)``, shape (links,)."""
        return np.where(self.scaled, np.exp(sigma), 1.0)

    def value(self, y: Array, sigma: float) -> float:
        """D; infinite outside the cone."""
        bodies = _FROM_ONE.value(self.matrices(y) / self.scales(sigma)[:, None, None])
        u = y[10 * self.links :]
        return float(bodies.sum()) + float(self.terms @ u**2) + float(self._rotor(u)[0].sum())

    def gradient(self, y: Array, sigma: float) -> tuple[Array, float]:
        """By y, shape (N,), and by sigma."""
        s, u = self.scales(sigma), y[10 * self.links :]
        M = self.matrices(y)
        bodies = _FROM_ONE.gradient(M / s[:, None, None], TRIANGLE_MAP) / s[:, None]
        traces = np.trace(M, axis1=1, axis2=2)
        by_sigma = float(np.sum(np.where(self.scaled, 4.0 - traces / s, 0.0)))
        return np.concatenate([bodies.ravel(), 2 * self.terms * u + self._rotor(u)[1]]), by_sigma

    def hessian(self, y: Array, sigma: float, scalings: Array) -> tuple[Array, Array, float]:
        """Blocks by y and y, shape (N, N), by y and sigma, shape (N,), and by sigma twice.

        The curvature of ``-log det`` is taken at ``scalings``, shape (links, 4, 4): at M itself the Hessian.
        """
        links, s = self.links, self.scales(sigma)
        M, u = self.matrices(y), y[10 * links :]
        H = np.zeros((len(y), len(y)))
        for k, block in enumerate(divergence_hessian(scalings, TRIANGLE_MAP)):
            H[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
        H[range(10 * links, len(y)), range(10 * links, len(y))] = 2 * self.terms + self._rotor(u)[2]
        mixed = np.zeros(len(y))
        for k in np.flatnonzero(self.scaled).tolist():
            mixed[10 * k + np.array(DIAGONAL)] = -1.0 / s[k]
        traces = np.trace(M, axis1=1, axis2=2)
        return H, mixed, float(np.sum((traces / s)[self.scaled]))

    def reach(self, value: float, sigma: float) -> tuple[Array, Array, Array]:
        """Where D can be at most ``value``: largest traces, shape (links,), least and largest u, shape (extras,)."""
        left = max(value, 0.0)
        traces = 4.0 * largest(left / 4.0) * self.scales(sigma)
        with np.errstate(divide="ignore"):
            most = np.where(self.terms > 0, np.sqrt(left / np.where(self.terms > 0, self.terms, 1.0)), np.inf)
        rotor = self.rotors > 0
        least = np.where(rotor, -NO_ROTOR * self.rotors, -most)
        high = (1.0 + NO_ROTOR) * largest(left / ROTOR) * self.rotors
        return traces, least, np.where(rotor, high, most)

    def _rotor(self, u: Array) -> tuple[Array, Array, Array]:
        """Value, slope and curvature of the rotors' part, each shape (extras,)."""
        rotor = self.rotors > 0
        a = np.where(rotor, self.rotors, 1.0)
        moved = np.where(rotor, u / a, 1.0) + NO_ROTOR
        inside = np.where(moved > 0, moved, np.nan)
        share = inside / (1.0 + NO_ROTOR)
        value = ROTOR * (share - np.log(share) - 1.0)
        slope = ROTOR * (1.0 / (1.0 + NO_ROTOR) - 1.0 / inside) / a
        curve = ROTOR / (inside * a) ** 2
        zero = np.zeros(len(u))
        return (
            np.where(rotor, np.where(np.isnan(value), np.inf, value), zero),
            np.where(rotor, slope, zero),
            np.where(rotor, curve, zero),
        )


def largest(divergence: float) -> float:
    """Largest l with ``l - log l - 1 <= divergence``, by Newton's method from above."""
    value = 2.0 * divergence + 4.0
    for _ in range(100):
        step = (value - np.log(value) - 1.0 - divergence) / (1.0 - 1.0 / value)
        value -= step
        if abs(step) <= 1e-12 * value:
            break
    return float(value) * (1.0 + 1e-9)


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
