"""Robots with encoders and position commands, and no torque sensor: identification by simulation."""

from benchmarks.encoders import alarms, held_out, measured, simulated
from benchmarks.measure import rows_of

MEASURES = rows_of(measured, simulated, held_out, alarms)
