"""Controllers: one contract, one file each; each is one expression that simulates and exports to C."""

from casid.simulation.controllers.computed_torque import ComputedTorque
from casid.simulation.controllers.controller import Controller, Signal
from casid.simulation.controllers.feed_forward import FeedForward
from casid.simulation.controllers.model_based import ModelBased, nominal
from casid.simulation.controllers.operational_space import OperationalSpace
from casid.simulation.controllers.passive import Passive
from casid.simulation.controllers.pd import PD
from casid.simulation.controllers.pd_gravity import PDGravity
from casid.simulation.controllers.recipes import CONTROLLERS, Settings
from casid.simulation.controllers.recipes import controller as controller_of
from casid.simulation.controllers.saturated import Saturated
from casid.simulation.controllers.switched import Switched
from casid.simulation.controllers.task_space import TaskSpace
from casid.simulation.controllers.velocity_operational_space import VelocityOperationalSpace

__all__ = [
    "CONTROLLERS",
    "PD",
    "ComputedTorque",
    "Controller",
    "FeedForward",
    "ModelBased",
    "OperationalSpace",
    "PDGravity",
    "Passive",
    "Saturated",
    "Settings",
    "Signal",
    "Switched",
    "TaskSpace",
    "VelocityOperationalSpace",
    "controller_of",
    "nominal",
]
