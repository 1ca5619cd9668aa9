"""The contract of integrators: a state through time under a held torque."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.simulation._plant import Plant
from casid.simulation._stops import Stops

Array = NDArray[np.float64]
#: ``(t0, t1, x, u) -> x`` at t1 under the torque u; raises `Stopped` where it cannot.
Advance = Callable[[float, float, Array, Array], Array]


class Integrator(ABC):
    """Integrates ``dx/dt = rate(x, u)`` of a plant over an interval in which the torque is held."""

    @abstractmethod
    def stepper(self, plant: Plant, stops: Stops) -> Advance:
        """A function that carries a state through an interval; called with intervals in order.

        Raises
        ------
        ProblemError
            If the integrator cannot take the plant's friction.
        """


def check_smooth(plant: Plant, integrator: Integrator) -> None:
    """ProblemError if the plant's friction switches, which needs an integrator that locates events."""
    if plant.friction.signs(ca.SX.sym("v")) is None:
        raise ProblemError(
            f"{type(integrator).__name__} cannot locate the events of exact friction: take DormandPrince, or smooth "
            "friction"
        )
