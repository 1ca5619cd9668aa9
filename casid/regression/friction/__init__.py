"""Friction: laws, their fit, and their choice.

A law is linear in amplitudes and nonlinear in shapes (`FrictionLaw`, one file a law). With the shapes fixed it gives
ordinary terms of a model (`Friction`), so that compression, consistency, certificates, prediction and export work with
it. `choose_friction` finds law and shape of each joint by cross-validation, `fit_jointly` the shapes of one law at all
joints, `fit_friction` those of one joint from its friction torques.
"""

from casid.regression.friction.choose import CANDIDATES, FrictionChoice, choose_friction
from casid.regression.friction.combined import FRICTION_MODELS, Combined, friction_model
from casid.regression.friction.curve import FrictionFit, fit_friction
from casid.regression.friction.dictionary import friction_dictionary
from casid.regression.friction.fitted import Friction, JointFriction, friction_terms
from casid.regression.friction.jointly import JointFrictionFit, fit_jointly
from casid.regression.friction.law import Amplitude, FrictionLaw, Shape
from casid.regression.friction.race import Candidate
from casid.regression.friction.terms import with_friction

__all__ = [
    "CANDIDATES",
    "FRICTION_MODELS",
    "Amplitude",
    "Candidate",
    "Combined",
    "Friction",
    "FrictionChoice",
    "FrictionFit",
    "FrictionLaw",
    "JointFriction",
    "JointFrictionFit",
    "Shape",
    "choose_friction",
    "fit_friction",
    "fit_jointly",
    "friction_dictionary",
    "friction_model",
    "friction_terms",
    "with_friction",
]
