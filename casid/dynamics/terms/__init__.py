"""Joint terms and friction laws: what joints and motors add to the torque of the links, stated once.

A term is a column of the regressor with one parameter a joint (`JointTerm`). A friction law is linear in amplitudes and
nonlinear in shapes (`FrictionLaw`); with its shapes fixed it gives ordinary terms (`Model.with_friction`). A new law is
one subclass and one line in `FRICTION_MODELS`.
"""

# Joint terms
from casid.dynamics.terms._terms import JointTerm as JointTerm
from casid.dynamics.terms._terms import JOINT_TERMS as JOINT_TERMS
from casid.dynamics.terms._terms import friction_dictionary as friction_dictionary

# Friction laws
from casid.dynamics.terms._terms import FrictionLaw as FrictionLaw
from casid.dynamics.terms._terms import Shape as Shape
from casid.dynamics.terms._terms import stribeck_fade as stribeck_fade
from casid.dynamics.terms._terms import Dahl as Dahl
from casid.dynamics.terms._friction import FRICTION_MODELS as FRICTION_MODELS
from casid.dynamics.terms._friction import Friction as Friction
from casid.dynamics.terms._friction import JointFriction as JointFriction

# between rooms
from casid.dynamics.terms._friction import friction_model as friction_model
from casid.dynamics.terms._friction import friction_terms as friction_terms
from casid.dynamics.terms._friction import sensitive_states as sensitive_states
from casid.dynamics.terms._friction import states_of as states_of
from casid.dynamics.terms._terms import GEAR_FRICTION as GEAR_FRICTION
from casid.dynamics.terms._terms import JointSignals as JointSignals
from casid.dynamics.terms._terms import SPEED as SPEED
