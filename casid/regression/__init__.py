"""Closed-form estimates of base parameters and their statistics."""

from casid.regression.compress import CompressedData, compress
from casid.regression.delay import Delay, estimate_delay
from casid.regression.estimate import Estimate, ordinary_least_squares
from casid.regression.fit import (
    Fit,
    essential,
    irls,
    joint_weights,
    ols,
    predicted_torques,
    quadratic,
    residual_torques,
    unexcited_reasons,
    wls,
)
from casid.regression.friction import (
    FRICTION_MODELS,
    Candidate,
    Friction,
    FrictionChoice,
    FrictionFit,
    FrictionLaw,
    JointFriction,
    JointFrictionFit,
    choose_friction,
    fit_friction,
    fit_jointly,
    friction_dictionary,
    friction_model,
    friction_terms,
    with_friction,
)
from casid.regression.noise import ResidualNoise
from casid.regression.observation import torques
from casid.regression.reverse_engineering import reverse_engineer, reverse_engineer_with_torques
from casid.regression.shrunk import Shrunk, shrunk

__all__ = [
    "FRICTION_MODELS",
    "Candidate",
    "CompressedData",
    "Delay",
    "Estimate",
    "Fit",
    "Friction",
    "FrictionChoice",
    "FrictionFit",
    "FrictionLaw",
    "JointFriction",
    "JointFrictionFit",
    "ResidualNoise",
    "Shrunk",
    "choose_friction",
    "compress",
    "essential",
    "estimate_delay",
    "fit_friction",
    "fit_jointly",
    "friction_dictionary",
    "friction_model",
    "friction_terms",
    "irls",
    "joint_weights",
    "ols",
    "ordinary_least_squares",
    "predicted_torques",
    "quadratic",
    "residual_torques",
    "reverse_engineer",
    "reverse_engineer_with_torques",
    "shrunk",
    "torques",
    "unexcited_reasons",
    "with_friction",
    "wls",
]
