"""What controllers with a model share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.description import Robot
from casid.dynamics import Model
from casid.simulation.controllers.controller import Array, Controller, gains


@dataclass(frozen=True, eq=False)
class ModelBased(Controller):
    """A controller that knows the robot's dynamics, exactly or not.

    Attributes
    ----------
    model : Model
        What the controller believes; joint terms (friction) in it are compensated by the controllers that say so.
    parameters : ndarray, shape (N,)
        Its parameters ``pi``; any standard parameters with the right base parameters.
    kp, kd : ndarray, shape (n,)
        Gains of the joints; a number stands for all joints.
    """

    model: Model
    parameters: Array
    kp: Array
    kd: Array

    def __post_init__(self) -> None:
        values = self.model.parameters(self.parameters)
        values.setflags(write=False)
        object.__setattr__(self, "parameters", values)
        object.__setattr__(self, "kp", gains(self.kp, self._gain_size, "kp"))
        object.__setattr__(self, "kd", gains(self.kd, self._gain_size, "kd"))

    @property
    def _gain_size(self) -> int:
        return self.n

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    @property
    def given(self) -> Model:
        """The model's functions with its parameters."""
        return self.model.with_parameters(self.parameters)


def nominal(robot: Robot, gravity: ArrayLike | None = None) -> tuple[Model, Array]:
    """Model and parameters of a robot's description, links only."""
    return Model(robot, (), gravity), np.asarray(robot.standard_parameters())
