"""The search for the best motion: starts, stages, the nonlinear programme."""

# between rooms
from casid.excitation.optimisation._designer import FILL as FILL
from casid.excitation.optimisation._starts import largest_swing as largest_swing
from casid.excitation.optimisation._result import Progress as Progress
from casid.excitation.optimisation._starts import Objective as Objective
from casid.excitation.optimisation._starts import Stage as Stage
