"""Positive scalars: viscous and Coulomb friction, rotor inertia (Sutanto et al. 2020, Sec. 4.2)."""

from __future__ import annotations

import casadi as ca


def non_negative(theta: ca.SX) -> ca.SX:
    """``theta^2``, entry by entry: eq. 11 of the paper without its bias, so that zero is reached."""
    return theta * theta
