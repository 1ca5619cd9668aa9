"""Loads on the last link: from pairs of recordings, on line, and as the reference of the drive gains."""

# From recordings
from casid.identification.loads._gains import Gains as Gains
from casid.identification.loads._gains import gains as gains

# On line
from casid.identification.loads._online_load import OnlineLoad as OnlineLoad
from casid.identification.loads._payload import Payload as Payload
from casid.identification.loads._payload import payload as payload
