"""Annex: loads on the last link, identified from recordings, and the drives' gains from a known load."""

# Loads
from casid.loads._payload import Payload as Payload
from casid.loads._payload import payload as payload

# Gains of the drives
from casid.loads._gains import Gains as Gains
from casid.loads._gains import gains as gains

# Intervals from equations of a load
from casid.loads._equations import load_intervals as load_intervals

# between rooms
from casid.loads._equations import Resting as Resting
