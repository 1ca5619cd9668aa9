"""Logs of any layout: what is in them, with evidence, written as the recording's TOML (`casid import`)."""

from casid.measurement.importing._proposal import Answers as Answers
from casid.measurement.importing._proposal import Proposal as Proposal
from casid.measurement.importing._reading import propose as propose
