"""Controllers: one contract, with or without memory; each is one expression that simulates and exports to C."""

# The contract
from casid.control._controller import Controller as Controller

# Controllers of the joints
from casid.control._free_motion import PD as PD
from casid.control._free_motion import CascadedDrive as CascadedDrive
from casid.control._free_motion import ComputedTorque as ComputedTorque
from casid.control._free_motion import FeedForward as FeedForward
from casid.control._free_motion import Passive as Passive
from casid.control._free_motion import PDGravity as PDGravity
from casid.control._free_motion import nominal as nominal

# Controllers of a frame
from casid.control._free_motion import OperationalSpace as OperationalSpace
from casid.control._free_motion import VelocityOperationalSpace as VelocityOperationalSpace

# Controllers in contact
from casid.control._contact import ForceControl as ForceControl
from casid.control._contact import Impedance as Impedance

# Controllers around controllers
from casid.control._controller import Saturated as Saturated
from casid.control._controller import Switched as Switched

# between rooms
from casid.control._catalogue import ControllerSettings as ControllerSettings
from casid.control._catalogue import OF_A_FRAME as OF_A_FRAME
from casid.control._catalogue import controller_of as controller_of
from casid.control._controller import gains as gains

# Controllers by name
