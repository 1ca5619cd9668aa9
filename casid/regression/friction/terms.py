"""A model with friction added."""

from __future__ import annotations

from casid.dynamics import Model
from casid.regression.friction.fitted import Friction


def with_friction(model: Model, friction: Friction) -> Model:
    """The model with the terms of this friction added."""
    gravity = "input" if model.gravity_vector is None else model.gravity_vector
    terms = friction.terms([joint.name for joint in model.robot.coordinates])
    return Model(model.robot, (*model.terms, *terms), gravity, model.velocity_deadband)
