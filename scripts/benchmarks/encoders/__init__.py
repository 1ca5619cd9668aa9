"""Robots with encoders and position commands, and no torque sensor: identification by simulation."""

from benchmarks.measure import rows_of

MEASURES = rows_of("encoders", "measured", "simulated", "held_out", "alarms")
