"""The method of Mata et al. (2005) as first published: the eigenvalues of each link's inertia are the constraints.

``min ||R x - r||^2`` subject, for each link, to a positive mass and to positive eigenvalues of the inertia about the
centre of mass ``I = L - (l'l 1 - l l') / m`` (``semi``), or of the second moments ``tr(I)/2 1 - I`` (``full``: the
triangle inequality too). An eigenvalue is not a polynomial of the parameters, and where two of them meet it has no
derivative; its gradient elsewhere is that of ``v' A v`` for its eigenvector v. `methods.mata` has the later form with
Sylvester's minors (Farhat et al. 2008). The margin is asked of this 3x3 matrix: a slightly larger set than that of the
4x4 or 6x6 one, so answers may be below the semidefinite optimum by what the margin costs.
"""

from __future__ import annotations

import time
from functools import cache

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.inertia import link_slice
from papers.methods.mata import Step, sequential
from papers.methods.regression import Answer, Kind, Regression

#: Smallest mass [kg]: the matrix divides by it.
LEAST_MASS = 1e-3


@cache
def central(kind: Kind) -> ca.Function:
    """``x, margin -> A, dA/dx`` of one link, shapes (10), () -> (3, 3), (9, 10): the matrix with eigenvalues > 0."""
    x, margin = ca.SX.sym("x", 10), ca.SX.sym("margin")
    L = ca.vertcat(ca.horzcat(x[0], x[1], x[2]), ca.horzcat(x[1], x[3], x[4]), ca.horzcat(x[2], x[4], x[5]))
    mass, moment = x[9], x[6:9]
    matrix = L - (ca.dot(moment, moment) * ca.SX.eye(3) - moment @ moment.T) / mass
    if kind == "full":
        matrix = ca.trace(matrix) / 2 * ca.SX.eye(3) - matrix
    matrix -= margin * ca.SX.eye(3)
    return ca.Function("central", [x, margin], [matrix, ca.densify(ca.jacobian(ca.vec(matrix), x))])


class EigenvalueStep(Step):
    """The objective of `methods.mata`; mass and eigenvalues of every link as constraints."""

    def __init__(self, data: Regression) -> None:
        super().__init__(data, 1)
        self.margin, self.links = data.margin, data.links
        self._matrix = central(data.kind).map(data.links)
        self._unit = float(np.median(np.abs(np.linalg.solve(data.R, data.r).reshape(-1, 10)[:, [0, 3, 5]]))) or 1.0

    def _evaluated(self, x: Array) -> tuple[Array, Array, Array]:
        """Masses (n,), matrices (n, 3, 3) and their derivatives (n, 3, 3, 10)."""
        links = x.reshape(-1, 10).copy()
        links[:, 9] = np.maximum(links[:, 9], LEAST_MASS)  # SLSQP looks where its own constraints do not hold
        A, dA = self._matrix(links.T, self.margin)
        matrices = np.array(A).reshape(3, self.links, 3).transpose(1, 0, 2)
        slopes = np.array(dA).reshape(3, 3, self.links, 10).transpose(2, 1, 0, 3)
        return x[9::10], matrices / self._unit, slopes / self._unit

    def constraints(self, x: Array) -> Array:
        """``m - least mass`` and three eigenvalues a link, shape (4 n,)."""
        mass, matrices, _ = self._evaluated(x)
        return np.column_stack([mass - LEAST_MASS, np.linalg.eigvalsh(matrices)]).ravel()

    def jacobian(self, x: Array) -> Array:
        """Shape (4 n, 10 n)."""
        _, matrices, slopes = self._evaluated(x)
        vectors = np.linalg.eigh(matrices)[1]
        rows = np.einsum("kie,kijp,kje->kep", vectors, slopes, vectors)
        full = np.zeros((4 * self.links, self.size))
        for k in range(self.links):
            full[4 * k, 10 * k + 9] = 1.0
            full[4 * k + 1 : 4 * k + 4, link_slice(k)] = rows[k]
        return full


def mata_eigenvalues(data: Regression, iterations: int = 300, seconds: float = 60.0) -> Answer:
    """Sequential quadratic programming (SLSQP) on the eigenvalues, from the feasible `methods.mata.prior`.

    Parameters
    ----------
    data
        The regression.
    iterations
        Limit.
    seconds
        Time limit.
    """
    start = time.process_time()
    return sequential("Mata (eigenvalues)", data, [EigenvalueStep(data)], start, iterations, seconds)
