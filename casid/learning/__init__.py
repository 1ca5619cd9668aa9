"""Gradient training of parametrisations of the inertial parameters, measured against the certified optimum."""

# Parametrisations of a link
from casid.learning._parametrisations import Parametrisation as Parametrisation
from casid.learning._parametrisations import parametrisation as parametrisation

# Training
from casid.learning._chart import Chart as Chart
from casid.learning._training import train as train

# Losses
from casid.learning._loss import AccelerationLoss as AccelerationLoss
from casid.learning._loss import RolloutLoss as RolloutLoss
from casid.learning._torque import TorqueLoss as TorqueLoss

# Optimisers
from casid.learning._optimisers import Adam as Adam
from casid.learning._optimisers import GaussNewton as GaussNewton
from casid.learning._optimisers import NaturalGradient as NaturalGradient

# The certified optimum
from casid.learning._torque import certified_limit as certified_limit
