"""The search for the best motion: starts, stages, the nonlinear programme."""

# between rooms
from casid.excitation.optimisation._starts import largest_swing as largest_swing
