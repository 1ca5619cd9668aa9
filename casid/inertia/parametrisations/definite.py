"""Positive definite inertia by its Cholesky factor (Sutanto et al. 2020, eq. 5-6)."""

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


class SPD(Parametrisation):
    """``I = T T' + bias 1``: positive mass and inertia (semi-consistent); the triangle inequality may fail."""

    name = "spd"
    size = 10
    triangle = False

    def expression(self, theta: ca.SX) -> ca.SX:
        """``theta = theta_m, c, T`` with T's diagonal first."""
        T = lower_triangular(theta[4:10])
        return body(square(theta[0]), theta[1:4], ca.mtimes(T, T.T) + BIAS * ca.SX.eye(3))

    def coordinates(self, parameters: Vector) -> Vector:
        """The factor with a positive diagonal."""
        mass, com, inertia = from_standard(parameters)
        return np.concatenate([[root(mass)], com, triangular_entries(biased_cholesky(inertia))])
