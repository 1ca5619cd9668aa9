"""Mass, centre of mass and nine entries of the inertia, all free (Sutanto et al. 2020, eq. 3)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia.parameters import Vector, from_standard
from casid.inertia.parametrisations.bodies import body
from casid.inertia.parametrisations.contract import Parametrisation


class NoStr(Parametrisation):
    """``theta = m, c, I11 I12 ... I33``: the inertia need not be symmetric, the mass may be negative."""

    name = "nostr"
    size = 13
    positive_mass = symmetric = definite = triangle = False

    def expression(self, theta: ca.SX) -> ca.SX:
        """Thirteen numbers: the symmetric body, and a of the antisymmetric part ``(I - I')/2 = S(a)``."""
        inertia = ca.reshape(theta[4:13], 3, 3).T
        asymmetry = ca.vertcat(
            inertia[2, 1] - inertia[1, 2], inertia[0, 2] - inertia[2, 0], inertia[1, 0] - inertia[0, 1]
        )
        return ca.vertcat(body(theta[0], theta[1:4], (inertia + inertia.T) / 2), asymmetry / 2)

    def draw_inertia(self, rng: np.random.Generator) -> Vector:
        """Standard normal entries [kg.m^2]."""
        return rng.standard_normal(9)

    def coordinates(self, parameters: Vector) -> Vector:
        """The symmetric inertia's own entries."""
        mass, com, inertia = from_standard(parameters)
        return np.concatenate([[mass], com, ((inertia + inertia.T) / 2).ravel()])
