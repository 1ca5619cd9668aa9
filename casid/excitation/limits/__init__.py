"""Joint limits, constraints on states, and clearance of a motion."""

# between rooms
from casid.excitation.limits._constraints import StateConstraint as StateConstraint
from casid.excitation.limits._motion_limits import LimitCheck as LimitCheck
from casid.excitation.limits._motion_limits import Rows as Rows
from casid.excitation.limits._motion_limits import limit_rows as limit_rows
