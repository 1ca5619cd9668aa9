"""Identification by simulation (output error): robots with encoders and position commands, and no torque sensor."""

# What is known and what is to be found
from casid.measurement._commands import CommandRecording as CommandRecording
from casid.measurement._commands import read_commands as read_commands
from casid.output_error._servo import FREE as FREE
from casid.output_error._servo import Servo as Servo
from casid.output_error._servo import Unknown as Unknown

# Identification
from casid.output_error._identify import CommandIdentification as CommandIdentification
from casid.output_error._identify import SimulationOptions as SimulationOptions
from casid.output_error._identify import identify_from_commands as identify_from_commands

# Design of commands
from casid.output_error._design import CommandDesign as CommandDesign
from casid.output_error._design import design_commands as design_commands

# Free runs, and files for MuJoCo, Isaac, PACE, mjlab, BAM
from casid.output_error._actuators import write_actuators as write_actuators
from casid.output_error._mjcf import write_mjcf as write_mjcf
from casid.output_error._runs import FreeRuns as FreeRuns
