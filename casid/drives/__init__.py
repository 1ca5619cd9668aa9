"""Identification by simulation (output error): robots with encoders and position commands, and no torque sensor."""

# What is known and what is to be found
from casid.drives._recording import CommandRecording as CommandRecording
from casid.drives._recording import held_commands as held_commands
from casid.drives._recording import read_commands as read_commands
from casid.drives._servo import FREE as FREE
from casid.drives._servo import Servo as Servo
from casid.drives._servo import Unknown as Unknown

# Identification
from casid.drives._identify import CommandIdentification as CommandIdentification
from casid.drives._identify import SimulationOptions as SimulationOptions
from casid.drives._identify import identify_from_commands as identify_from_commands

# Design of commands
from casid.drives._design import CommandDesign as CommandDesign
from casid.drives._design import design_commands as design_commands

# Free runs, and files for MuJoCo, Isaac, PACE, mjlab, BAM
from casid.drives._actuators import write_actuators as write_actuators
from casid.drives._mjcf import identified_robot as identified_robot
from casid.drives._mjcf import write_mjcf as write_mjcf
from casid.drives._runs import FreeRuns as FreeRuns
