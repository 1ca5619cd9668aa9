"""Principal moments as the sides of a triangle, and their axes (Sutanto et al. 2020, eq. 7-12)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia.parameters import Vector, from_standard
from casid.inertia.parametrisations.bodies import body, principal_axes, root, rotation, rotation_vector, square
from casid.inertia.parametrisations.contract import BIAS, Parametrisation


class Tri(Parametrisation):
    """``I = R diag(J1, J2, J3) R'``, ``J3^2 = J1^2 + J2^2 - 2 J1 J2 cos(alpha)``, ``alpha = pi sigmoid(theta_a)``.

    ``theta = theta_m, c, v, theta_1, theta_2, theta_a`` with ``R = exp(S(v))`` and ``J1 = theta_1^2 + bias``. The
    third side lies strictly between |J1 - J2| and J1 + J2: a triangle whatever theta is.
    """

    name = "tri"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """A fully consistent body."""
        R = rotation(theta[4:7])
        J1, J2 = square(theta[7]), square(theta[8])
        # half angles: |J1 - J2|^2 + 4 J1 J2 sin^2(alpha/2) keeps its digits where J1 + J2 and J3 are nearly equal
        half = ca.pi / 2 / (1 + ca.exp(-theta[9]))
        J3 = ca.sqrt((J1 - J2) ** 2 + 4 * J1 * J2 * ca.sin(half) ** 2)
        return body(square(theta[0]), theta[1:4], ca.mtimes([R, ca.diag(ca.vertcat(J1, J2, J3)), R.T]))

    def draw_inertia(self, rng: np.random.Generator) -> Vector:
        """Axes close to those of the link, moments about 0.01 kg.m^2, alpha close to a right angle."""
        return np.array([0.01, 0.01, 0.01, 0.1, 0.1, 0.01]) * rng.standard_normal(6)

    def coordinates(self, parameters: Vector) -> Vector:
        """The two smaller moments as J1 and J2, the largest as the third side."""
        mass, com, inertia = from_standard(parameters)
        moments, axes = principal_axes(inertia)
        if moments[0] <= BIAS:
            return np.full(10, np.nan)
        J1, J2, J3 = moments
        # tan^2(alpha/2) = (J3^2 - (J1 - J2)^2) / ((J1 + J2)^2 - J3^2)
        near, far = (J3 - J2 + J1) * (J3 + J2 - J1), (J1 + J2 - J3) * (J1 + J2 + J3)
        share = np.arctan2(np.sqrt(near), np.sqrt(far)) * 2 / np.pi
        odds = np.arctan2(np.sqrt(far), np.sqrt(near)) * 2 / np.pi
        angle = np.log(share / odds)
        return np.concatenate([[root(mass)], com, rotation_vector(axes), [root(J1), root(J2), angle]])
