"""Estimates of base parameters from data, and their statistics."""

# Regression data, compressed to triangular factors
from casid.regression._compress import CompressedData as CompressedData
from casid.regression._compress import compress as compress
from casid.regression._momentum import compress_momentum as compress_momentum

# Least squares; every estimator in `casid.regression.estimators`
from casid.regression._fit import Fit as Fit
from casid.regression._fit import wls as wls
from casid.regression._fit import essential as essential
from casid.regression._empirical_bayes import shrunk as shrunk

# Friction laws and delays from data
from casid.regression.friction._choice import choose_friction as choose_friction
from casid.regression.friction._shape_fits import fit_friction as fit_friction
from casid.regression._delay import estimate_delay as estimate_delay

# The filter's cut-off by what the model explains
from casid.regression._cutoff_choice import choose_processing as choose_processing

# Base parameters from the numbers of a controller
from casid.regression._reverse_engineering import reverse_engineer as reverse_engineer
