"""Estimators of base parameters on one interface: ``Estimator.fit(Observations(model, recordings)) -> Fit``."""

# The contract, and the estimators by name
from casid.regression._fit import Estimator as Estimator
from casid.regression._fit import Observations as Observations

# Least squares
from casid.regression.estimators._catalogue import OLS as OLS
from casid.regression.estimators._catalogue import WLS as WLS
from casid.regression.estimators._catalogue import IRLS as IRLS

# Noise in positions
from casid.regression.estimators._catalogue import MaximumLikelihood as MaximumLikelihood

# Simulation of the closed loop
from casid.regression.estimators._simulated import ClosedLoop as ClosedLoop
from casid.regression.estimators._simulated import InstrumentalVariables as InstrumentalVariables
from casid.regression.estimators._simulated import OutputError as OutputError

# between rooms
from casid.regression.estimators._catalogue import estimator as estimator
