"""The graphs: kinematics, Newton-Euler, mass matrix, energies, base parameters, and `Model`; terms in `terms`."""

# The model and its base parameters
from casid.dynamics._model import Model as Model
from casid.dynamics._base_parameters import BaseParameters as BaseParameters
from casid.dynamics._base_parameters import base_parameters as base_parameters
from casid.dynamics._reduced import reduced as reduced

# Functions derived from a model, for controllers and simulations
from casid.dynamics._derived import inverse_mass_matrix as inverse_mass_matrix
from casid.dynamics._derived import inverse_dynamics_derivatives as inverse_dynamics_derivatives
from casid.dynamics._derived import forward_dynamics_derivatives as forward_dynamics_derivatives
from casid.dynamics._derived import operational_space as operational_space
from casid.dynamics._derived import momentum_observer as momentum_observer
