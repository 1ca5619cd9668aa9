"""Known answers for tests and benchmarks: random robots, synthetic recordings, numpy dynamics, other libraries."""

# physics engines that run a robot
from casid.testing._engines import MuJoCo as MuJoCo
from casid.testing._engines import running as running

# robots and bodies
from casid.testing._synthetic import random_robot as random_robot
from casid.testing._peers import inverse_dynamics as inverse_dynamics

# recordings of known parameters
from casid.testing._synthetic import motion as motion
from casid.testing._synthetic import plausible as plausible
from casid.testing._synthetic import recorded as recorded
from casid.testing._synthetic import recording as recording
from casid.testing._synthetic import with_friction as with_friction

# recordings of commands and encoders, of known servos
from casid.testing._synthetic import broadband_commands as broadband_commands
from casid.testing._synthetic import commanded_motion as commanded_motion
