"""Positive mass and a symmetric inertia, not more (Sutanto et al. 2020, eq. 4)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia.parameters import Vector, from_standard, tensor_entries
from casid.inertia.parametrisations.bodies import body, root, square
from casid.inertia.parametrisations.contract import Parametrisation


class Symm(Parametrisation):
    """``theta = theta_m, c, Ixx Ixy Ixz Iyy Iyz Izz`` with ``m = theta_m^2 + bias``."""

    name = "symm"
    size = 10
    definite = triangle = False

    def expression(self, theta: ca.SX) -> ca.SX:
        """A body of positive mass."""
        i = theta[4:10]
        rows = ((i[0], i[1], i[2]), (i[1], i[3], i[4]), (i[2], i[4], i[5]))
        return body(square(theta[0]), theta[1:4], ca.vertcat(*[ca.horzcat(*row) for row in rows]))

    def coordinates(self, parameters: Vector) -> Vector:
        """Six entries, the root of the mass."""
        mass, com, inertia = from_standard(parameters)
        return np.concatenate([[root(mass)], com, tensor_entries(inertia)])
