"""The semi-implicit (symplectic) Euler method of most physics engines."""

from __future__ import annotations

import casadi as ca

from casid.simulation.integrators.fixed_step import FixedStep


class SemiImplicitEuler(FixedStep):
    """``dq' = dq + h ddq``, then ``q' = q + h dq'``: order 1, one rate a step (Hairer et al. 2006, Sec. I.1.2)."""

    stages = 1
    reach = 2.0

    def point(self, x: ca.SX, k: list[ca.SX], h: ca.SX, n: int) -> ca.SX:
        """There is no second stage."""
        raise NotImplementedError

    def advance(self, x: ca.SX, k: list[ca.SX], h: ca.SX, n: int) -> ca.SX:
        """The step."""
        velocity = x[n : 2 * n] + h * k[0][n : 2 * n]
        return ca.vertcat(x[:n] + h * velocity, velocity, x[2 * n :] + h * k[0][2 * n :])
