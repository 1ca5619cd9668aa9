"""Estimates of base parameters from data, and their statistics."""

# Regression data, compressed to triangular factors
from casid.regression._compress import CompressedData as CompressedData
from casid.regression._compress import compress as compress

# Least squares; every estimator in `casid.regression.estimators`
from casid.regression._fit import Fit as Fit
from casid.regression._fit import ols as ols
from casid.regression._fit import wls as wls
from casid.regression._fit import irls as irls
from casid.regression._fit import predicted_torques as predicted_torques
from casid.regression._fit import residual_torques as residual_torques
from casid.regression._fit import essential as essential

# Friction laws and delays from data
from casid.regression.friction._choice import choose_friction as choose_friction
from casid.regression.friction._shape_fits import fit_friction as fit_friction
from casid.regression._processing_choice import estimate_delay as estimate_delay

# The filter's cut-off by what the model explains
from casid.regression._processing_choice import choose_processing as choose_processing

# Base parameters from the numbers of a controller
from casid.regression._reverse_engineering import reverse_engineer as reverse_engineer

# between rooms
from casid.regression._processing_choice import held_out_squares as held_out_squares
from casid.regression._processing_choice import processing_of_each as processing_of_each
from casid.regression._processing_choice import Delay as Delay
from casid.regression._fit import EXCITATION_TOLERANCE as EXCITATION_TOLERANCE
from casid.regression._fit import quadratic as quadratic
from casid.regression._fit import unexcited_reasons as unexcited_reasons
from casid.regression._reverse_engineering import Estimate as Estimate
from casid.regression._reverse_engineering import Numbers as Numbers
from casid.regression._reverse_engineering import reverse_engineer_with_torques as reverse_engineer_with_torques
from casid.regression._rollout import VariationalDynamics as VariationalDynamics
from casid.regression._compress import filtered_blocks as filtered_blocks
from casid.regression._compress import inputs as inputs
from casid.regression._compress import lengths as lengths
from casid.regression._compress import motion as motion
from casid.regression._compress import observation_blocks as observation_blocks
from casid.regression._compress import one_thread as one_thread
from casid.regression._compress import torques as torques
from casid.regression._fit import MeasurementNoise as MeasurementNoise
