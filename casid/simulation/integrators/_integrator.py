"""How a state is carried through time under a held torque: the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from casid.simulation._plant import Plant
from casid.simulation._stops import Stops

Array = NDArray[np.float64]
#: ``(t0, t1, x, u) -> x`` at t1 under the torque u; raises `casid.simulation.stops.Stopped` if it cannot.
Advance = Callable[[float, float, Array, Array], Array]


class Integrator(ABC):
    """Integrates ``dx/dt = rate(x, u)`` of a plant over an interval in which the torque is held."""

    @abstractmethod
    def prepare(self, plant: Plant, stops: Stops) -> Advance:
        """A function that carries a state through an interval; called with intervals in order.

        Raises
        ------
        ProblemError
            If the integrator cannot take the plant's friction.
        """
