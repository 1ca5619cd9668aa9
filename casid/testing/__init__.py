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

# between rooms
from casid.testing._engines import Engine as Engine
from casid.testing._peers import Body as Body
from casid.testing._peers import NotMeasured as NotMeasured
from casid.testing._peers import need as need
from casid.testing._peers import random_body as random_body
from casid.testing._peers import standard_parameters as standard_parameters
from casid.testing._peers import states as states
from casid.testing._synthetic import BODY as BODY
from casid.testing._synthetic import TERMS as TERMS
from casid.testing._synthetic import arm as arm
from casid.testing._synthetic import blind as blind
from casid.testing._synthetic import random_placement as random_placement
