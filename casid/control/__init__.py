"""Controllers: one contract, with or without memory; each is one expression that simulates and exports to C."""

# The contract
from casid.control._controller import Controller as Controller

# Controllers of the joints
from casid.control._joint_space import PD as PD
from casid.control._joint_space import CascadedDrive as CascadedDrive
from casid.control._joint_space import ComputedTorque as ComputedTorque
from casid.control._joint_space import FeedForward as FeedForward
from casid.control._joint_space import Passive as Passive
from casid.control._joint_space import PDGravity as PDGravity
from casid.control._joint_space import nominal as nominal

# Controllers of a frame
from casid.control._task_space import OperationalSpace as OperationalSpace
from casid.control._task_space import VelocityOperationalSpace as VelocityOperationalSpace

# Controllers in contact
from casid.control._contact import ForceControl as ForceControl
from casid.control._contact import Impedance as Impedance

# Controllers around controllers
from casid.control._wrappers import Saturated as Saturated
from casid.control._wrappers import Switched as Switched

# Controllers by name
