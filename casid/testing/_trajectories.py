"""Bases of motions and random trajectories in them."""

from __future__ import annotations

import numpy as np

from casid.motion import Basis, Fourier, QuinticSpline, Trajectory
from casid.motion._basis import Ramped

#: One basis of each kind and form, static poses apart.
BASES: list[Basis] = [
    Fourier(0.5, 5),
    Fourier(0.7, 3, "position", periods=2),
    QuinticSpline(10.0, 12),
    QuinticSpline(8.0, 9, rest=False),
    Ramped(Fourier(0.5, 4), 1.5),
]


def random_trajectory(basis: Basis, n: int = 3, seed: int = 4) -> Trajectory:
    """Random motion of n joints about 0.3."""
    rng = np.random.default_rng(seed)
    return Trajectory(basis, np.array([basis.random(rng) + basis.constant(0.3) for _ in range(n)]))
