"""Dry friction as the set-valued law that it is, sticking included."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from casid.simulation.friction.treatment import FrictionTreatment


@dataclass(frozen=True)
class ExactCoulomb(FrictionTreatment):
    """Signs as modes of motion: sliding one way, the other, or sticking (see `casid.simulation.stick_slip`).

    A joint (or motor) sticks while friction within its limits can hold it, and breaks away when it cannot. Changes of
    mode are located in time, so only integrators that locate events take it.
    """

    def signs(self, velocity: ca.SX) -> None:
        """None: the modes decide."""
        return
