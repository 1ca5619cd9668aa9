"""Annex: samples are added one by one, and physically consistent parameters follow at any instant; also as C code."""

# The robot's own parameters
from casid.online._estimator import Online as Online
from casid.online._estimator import entropic_fit as entropic_fit

# The load on the last link, and when it changes
from casid.online._change import ChangeDetector as ChangeDetector
from casid.online._online_load import OnlineLoad as OnlineLoad
from casid.online._online_load import TorqueErrors as TorqueErrors

# What recordings of the robot alone determine
from casid.online._known_robot import Shrunk as Shrunk
from casid.online._known_robot import StateNoise as StateNoise
from casid.online._known_robot import shrunk as shrunk
from casid.online._known_robot import state_noise as state_noise

# Adaptive control: the parameters are estimated in the loop
from casid.online._adaptive import NaturalAdaptation as NaturalAdaptation
from casid.online._adaptive import SlotineLi as SlotineLi
from casid.online._adaptive import simulate_adaptive as simulate_adaptive

# Estimators as C code
from casid.online._export import export_online as export_online
