"""Physically consistent parameters from recordings: the pipeline, its options and its results."""

# The pipeline, its options and its result
from casid.identification._identify import identify as identify
from casid.identification._identify import Checks as Checks
from casid.identification._consistent_fits import Choice as Choice
from casid.identification._consistent_fits import Constraints as Constraints
from casid.identification._joint_terms import ModelOptions as ModelOptions
from casid.identification._identification import Identification as Identification
from casid.identification._identification import load_model as load_model

# Its six steps
from casid.identification._identify import read as read
from casid.identification._identify import clean as clean
from casid.identification._identify import compress as compress
from casid.identification._identify import choose_model as choose_model
from casid.identification._identify import fit_consistently as fit_consistently
from casid.identification._identify import judge as judge

# Consistent fits
from casid.identification._regression import feasible_regression as feasible_regression
from casid.identification._regression import RegressionProblem as RegressionProblem
from casid.identification._regression import FeasibleFit as FeasibleFit

# Predicted torques and held-out errors
from casid.identification._accuracy import predict as predict
from casid.identification._accuracy import Prediction as Prediction
from casid.identification._accuracy import other_motion_errors as other_motion_errors

# Samples of what data and plausible bodies leave open
from casid.identification._samples import posterior_samples as posterior_samples
from casid.identification._samples import Samples as Samples

# Differences between two identifications
from casid.identification._comparison import compare as compare
from casid.identification._comparison import Comparison as Comparison

# Links from the model of a controller, friction of known links
from casid.identification._reverse_engineering import reverse_engineered as reverse_engineered
from casid.identification._reverse_engineering import ReverseEngineering as ReverseEngineering
from casid.identification._reverse_engineering import refit_friction as refit_friction

# between rooms
from casid.identification._accuracy import OTHER_MOTIONS as OTHER_MOTIONS
from casid.identification._accuracy import MotionSpread as MotionSpread
from casid.identification._comparison import Difference as Difference
from casid.identification._identification import load_information as load_information
from casid.identification._identification import load_processing as load_processing
from casid.identification._identification import read_record as read_record
from casid.identification._identify import without_delay as without_delay
