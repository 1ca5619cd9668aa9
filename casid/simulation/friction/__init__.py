"""Treatments of dry friction at zero velocity."""

from casid.simulation.friction.exact_coulomb import ExactCoulomb
from casid.simulation.friction.smooth_coulomb import SmoothCoulomb
from casid.simulation.friction.treatment import FrictionTreatment

__all__ = ["ExactCoulomb", "FrictionTreatment", "SmoothCoulomb"]
