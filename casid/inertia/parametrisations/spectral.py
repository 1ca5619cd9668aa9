"""Exponentials of the principal second moments and their axes."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia.parameters import Vector, from_standard
from casid.inertia.parametrisations.bodies import body, principal_axes, rotation, rotation_vector
from casid.inertia.parametrisations.contract import Parametrisation


class Spectral(Parametrisation):
    """``m = e^theta_m`` and ``Sigma = m R diag(e^s1, e^s2, e^s3) R'`` about the centre of mass, ``R = exp(S(v))``.

    ``theta = theta_m, c, v, s1, s2, s3``; ``I = tr(Sigma) 1 - Sigma``. ``e^(s/2)`` are the body's radii of gyration:
    steps in theta are relative, whatever the size of the link.
    """

    name = "spectral"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """A fully consistent body."""
        mass, R = ca.exp(theta[0]), rotation(theta[4:7])
        sigma = mass * ca.mtimes([R, ca.diag(ca.exp(theta[7:10])), R.T])
        return body(mass, theta[1:4], ca.trace(sigma) * ca.SX.eye(3) - sigma)

    def draw(self, rng: np.random.Generator) -> Vector:
        """Bodies of about 3 kg and 0.15 m in any attitude, whose mass point lies as far from the origin."""
        mass, com, axes = np.log(3.0) + 0.6 * rng.standard_normal(1), 0.15 * rng.standard_normal(3), rng.normal(size=3)
        return np.concatenate([mass, com, axes, 2 * np.log(0.15) + 0.6 * rng.standard_normal(3)])

    def coordinates(self, parameters: Vector) -> Vector:
        """Logarithms of mass and squared radii."""
        mass, com, inertia = from_standard(parameters)
        squares, axes = principal_axes((np.trace(inertia) / 2 * np.eye(3) - inertia) / mass)
        return np.concatenate([[np.log(mass)], com, rotation_vector(axes), np.log(squares)])
