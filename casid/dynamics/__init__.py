"""The graphs: kinematics, Newton-Euler, mass matrix, energies, base parameters, and `Model`; terms in `terms`."""

# The model and its base parameters
from casid.dynamics._model import Model as Model
from casid.dynamics._base_parameters import BaseParameters as BaseParameters
from casid.dynamics._model import base_parameters as base_parameters
from casid.dynamics._reduced import reduced as reduced

# Functions derived from a model, for controllers and simulations
from casid.dynamics._derived import inverse_mass_matrix as inverse_mass_matrix
from casid.dynamics._derived import inverse_dynamics_derivatives as inverse_dynamics_derivatives
from casid.dynamics._derived import forward_dynamics_derivatives as forward_dynamics_derivatives
from casid.dynamics._derived import operational_space as operational_space
from casid.dynamics._derived import momentum_observer as momentum_observer

# between rooms
from casid.dynamics._base_parameters import linear_form as linear_form
from casid.dynamics._base_parameters import random_rows as random_rows
from casid.dynamics._base_parameters import regroup as regroup
from casid.dynamics._model import stacked_regressor as stacked_regressor
from casid.dynamics._derived import dry_friction_directions as dry_friction_directions
from casid.dynamics._derived import dry_friction_places as dry_friction_places
from casid.dynamics._derived import equation_of_motion as equation_of_motion
from casid.dynamics._derived import rk4_step as rk4_step
from casid.dynamics._rigid_body import Kinematics as Kinematics
from casid.dynamics._rigid_body import factor_mass_matrix as factor_mass_matrix
from casid.dynamics._rigid_body import mass_matrix as mass_matrix
from casid.dynamics._rigid_body import newton_euler as newton_euler
