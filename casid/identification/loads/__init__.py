"""Loads on the last link: payload identification from recordings and on line, calibration of the drive gains."""

# From recordings
# On line
from casid.identification.loads._change import ChangeDetector as ChangeDetector

# Calibration of the drive gains
from casid.identification.loads._gains import Gains as Gains
from casid.identification.loads._gains import gains as gains
from casid.identification.loads._online_load import OnlineLoad as OnlineLoad
from casid.identification.loads._online_load import TorqueErrors as TorqueErrors
from casid.identification.loads._payload import Payload as Payload
from casid.identification.loads._payload import payload as payload
