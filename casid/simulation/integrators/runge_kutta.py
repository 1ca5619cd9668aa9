"""The classical Runge-Kutta method."""

from __future__ import annotations

import casadi as ca

from casid.simulation.integrators.fixed_step import FixedStep


class RungeKutta4(FixedStep):
    """The classical method of order 4: ``x + h (k1 + 2 k2 + 2 k3 + k4) / 6`` (Hairer et al. 1993, Table II.1.2)."""

    stages = 4
    reach = 2.785

    def point(self, x: ca.SX, k: list[ca.SX], h: ca.SX, n: int) -> ca.SX:
        """``x + h k / 2`` twice, then ``x + h k``."""
        return x + (h if len(k) == 3 else h / 2) * k[-1]

    def advance(self, x: ca.SX, k: list[ca.SX], h: ca.SX, n: int) -> ca.SX:
        """``x + h (k1 + 2 k2 + 2 k3 + k4) / 6``."""
        return x + h / 6 * (k[0] + 2 * (k[1] + k[2]) + k[3])
