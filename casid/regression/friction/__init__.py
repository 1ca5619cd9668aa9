"""Friction from data: the law of each joint by cross-validation, and the shapes of a law by variable projection.

The laws themselves are in `casid.dynamics.terms`; `casid.regression` promises what is called by users.
"""

# between rooms
from casid.regression.friction._choice import CANDIDATES as CANDIDATES
from casid.regression.friction._choice import FrictionSearch as FrictionSearch
from casid.regression.friction._choice import STATIC as STATIC
from casid.regression.friction._choice import Candidate as Candidate
from casid.regression.friction._choice import STRETCHES as STRETCHES
from casid.regression.friction._shape_fits import fit_friction as fit_friction
from casid.regression.friction._shape_fits import fit_jointly as fit_jointly
