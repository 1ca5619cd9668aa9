"""Covariance of the density about the centre of mass (Sutanto et al. 2020, eq. 13-16; Wensing et al. 2018)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia.parameters import Vector, from_standard
from casid.inertia.parametrisations.bodies import (
    biased_cholesky,
    body,
    lower_triangular,
    root,
    square,
    triangular_entries,
)
from casid.inertia.parametrisations.contract import BIAS, Parametrisation


class Cov(Parametrisation):
    """``I = tr(Sigma) 1 - Sigma`` with ``Sigma = T T' + bias 1``, the second moments about the centre of mass."""

    name = "cov"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """``theta = theta_m, c, T`` with T's diagonal first."""
        T = lower_triangular(theta[4:10])
        sigma = ca.mtimes(T, T.T) + BIAS * ca.SX.eye(3)
        return body(square(theta[0]), theta[1:4], ca.trace(sigma) * ca.SX.eye(3) - sigma)

    def coordinates(self, parameters: Vector) -> Vector:
        """The factor with a positive diagonal."""
        mass, com, inertia = from_standard(parameters)
        sigma = np.trace(inertia) / 2 * np.eye(3) - inertia
        return np.concatenate([[root(mass)], com, triangular_entries(biased_cholesky(sigma))])
