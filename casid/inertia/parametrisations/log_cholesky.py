"""Log-Cholesky coordinates of the pseudo-inertia: smooth, unconstrained, one-to-one (Rucker and Wensing 2022)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia.parameters import TENSOR_INDEX, Vector
from casid.inertia.parametrisations.contract import Parametrisation
from casid.inertia.pseudo_inertia import pseudo_inertia


class LogCholesky(Parametrisation):
    """``J = U U'`` with an upper triangular U of positive diagonal (Rucker and Wensing 2022, eq. 12)::

        U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]
        theta = alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3

    Mass ``e^(2 alpha)`` and centre of mass ``t``: every positive definite J has exactly one theta.
    """

    name = "log-cholesky"
    size = 10
    one_to_one = True

    def expression(self, theta: ca.SX) -> ca.SX:
        """A fully consistent body, of J = U U'."""
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = ca.vertsplit(theta)
        U = ca.vertcat(
            ca.horzcat(ca.exp(d1), s12, s13, t1),
            ca.horzcat(0, ca.exp(d2), s23, t2),
            ca.horzcat(0, 0, ca.exp(d3), t3),
            ca.horzcat(0, 0, 0, 1),
        )
        J = ca.exp(2 * alpha) * ca.mtimes(U, U.T)
        sigma = J[:3, :3]
        inertia = ca.trace(sigma) * ca.SX.eye(3) - sigma
        return ca.vertcat(*[inertia[i, j] for i, j in TENSOR_INDEX], J[:3, 3], J[3, 3])

    def draw(self, rng: np.random.Generator) -> Vector:
        """Bodies of about 3 kg and 0.15 m, whose mass point lies as far from the origin."""
        log_mass, log_size = np.log(3.0) / 2, np.log(0.15)
        shear, com = 0.05 * rng.standard_normal(3), 0.15 * rng.standard_normal(3)
        return np.concatenate(
            [log_mass + 0.3 * rng.standard_normal(1), log_size + 0.3 * rng.standard_normal(3), shear, com]
        )

    def coordinates(self, parameters: Vector) -> Vector:
        """The unique ones: U is the reversed Cholesky factor of J."""
        try:
            reverse = np.linalg.cholesky(pseudo_inertia(parameters)[::-1, ::-1])
        except np.linalg.LinAlgError:
            return np.full(10, np.nan)
        U = reverse[::-1, ::-1]
        scale = U[3, 3]
        W = U / scale
        d = np.log(np.diag(W)[:3])
        return np.array([np.log(scale), *d, W[0, 1], W[1, 2], W[0, 2], *W[:3, 3]])
