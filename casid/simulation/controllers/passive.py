"""Motors off."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from casid.simulation.controllers.controller import Controller


@dataclass(frozen=True)
class Passive(Controller):
    """Motors off: tau = 0."""

    joints: int

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.joints

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Zero."""
        return ca.SX.zeros(self.n)
