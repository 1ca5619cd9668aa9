"""Annex: samples are added one by one, and physically consistent parameters follow at any instant; also as C code."""

# The robot's own parameters
from casid.online._estimator import Online as Online
from casid.online._estimator import entropic_fit as entropic_fit

# The load on the last link, and when it changes
from casid.online._change import ChangeDetector as ChangeDetector
from casid.online._online_load import OnlineLoad as OnlineLoad
from casid.online._online_load import TorqueErrors as TorqueErrors

# Estimators as C code
from casid.online._export import export_online as export_online
