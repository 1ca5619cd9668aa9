"""Joint terms that remember: torques that depend on where a joint came from, not only on its present state."""

from __future__ import annotations

from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Memory(Protocol):
    """State z of a joint term, driven by the motion of its joint alone, e.g. the deflection of a friction's bristles.

    A term's column may use z (`JointSignals.memory`). Functions of a model with such terms have a last input
    ``memory``: the states of all of them, joint by joint (`Structure.memories`). Along a recorded motion they follow
    from the positions. Two terms whose memories are equal share their states.
    """

    @property
    def size(self) -> int:
        """Number of states."""

    def states(self, q: Array, period: float) -> Array:
        """States along a motion from rest: positions at a constant rate, shape (N,), to shape (N, size).

        Parameters
        ----------
        q
            Of the joint [rad or m].
        period
            From one sample to the next [s].
        """

    def settled(self, velocity: ca.SX, sign: ca.SX) -> ca.SX:
        """States after a long way at one velocity, (size)."""
