"""Gradient training of parametrisations of the inertial parameters, measured against the certified optimum."""

from casid.learning.acceleration import AccelerationLoss
from casid.learning.adam import Adam
from casid.learning.chart import Chart
from casid.learning.epoch import Epoch
from casid.learning.gauss_newton import GaussNewton
from casid.learning.lbfgs import LBFGS
from casid.learning.limit import Limit, certified_limit
from casid.learning.loss import Loss
from casid.learning.natural_gradient import NaturalGradient
from casid.learning.optimiser import Optimiser, Step
from casid.learning.rollout import RolloutLoss
from casid.learning.torque import TorqueLoss
from casid.learning.training import Training, train

__all__ = [
    "LBFGS",
    "AccelerationLoss",
    "Adam",
    "Chart",
    "Epoch",
    "GaussNewton",
    "Limit",
    "Loss",
    "NaturalGradient",
    "Optimiser",
    "RolloutLoss",
    "Step",
    "TorqueLoss",
    "Training",
    "certified_limit",
    "train",
]
