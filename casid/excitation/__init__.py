"""Excitation: motions and poses that make parameters identifiable.

A motion is written in a basis (`casid.motion`), judged by a `Criterion` on the information its `Observation` carries,
and kept within `MotionLimits` and `StateConstraint`s by a `Designer`.
"""

# Design
from casid.excitation._settings import DesignSettings as DesignSettings
from casid.excitation.optimisation._designer import Designer as Designer
from casid.excitation.optimisation._result import Design as Design

# Information and criteria
from casid.excitation.information._criteria import AOptimality as AOptimality
from casid.excitation.information._criteria import ConditionNumber as ConditionNumber
from casid.excitation.information._criteria import Criterion as Criterion
from casid.excitation.information._criteria import DOptimality as DOptimality
from casid.excitation.information._criteria import LargestDeviation as LargestDeviation
from casid.excitation.information._observation import Observation as Observation
from casid.excitation.information._criteria import weak_parameters as weak_parameters

# Limits and constraints on the states
from casid.excitation.limits._capsule_fit import fit_capsules as fit_capsules
from casid.excitation.limits._collision import CollisionConstraint as CollisionConstraint
from casid.excitation.limits._collision import certify_clearance as certify_clearance
from casid.excitation.limits._constraints import FunctionConstraint as FunctionConstraint
from casid.excitation.limits._constraints import torque_limits as torque_limits
from casid.excitation.limits._constraints import workspace_box as workspace_box
from casid.excitation.limits._motion_limits import MotionLimits as MotionLimits
from casid.excitation.limits._motion_limits import certify_limits as certify_limits
