"""Joint motions: bases that are linear in their coefficients, trajectories, their files, and references over all time.

One shape everywhere: N instants by n joints.
"""

# Motions
from casid.motion._trajectory import Motion as Motion
from casid.motion._trajectory import Trajectory as Trajectory

# Bases of trajectories
from casid.motion._basis import Fourier as Fourier
from casid.motion._basis import Poses as Poses
from casid.motion._basis import QuinticSpline as QuinticSpline
from casid.motion._basis import Basis as Basis
from casid.motion._basis import Ramped as Ramped

# Files
from casid.motion._trajectory import read_trajectory as read_trajectory
from casid.motion._trajectory import trajectory_text as trajectory_text

# References of controllers
from casid.motion._references import Follow as Follow
from casid.motion._references import Hold as Hold
from casid.motion._references import Positions as Positions
from casid.motion._references import Reference as Reference
from casid.motion._references import Samples as Samples
from casid.motion._references import Sine as Sine

# between rooms
