"""C code for controllers, as a folder that builds anywhere; problems as files that other solvers read."""

# C code, and back in Python
from casid.export._directory import export_controller as export_controller
from casid.export._directory import export_c as export_c
from casid.export._exported import load as load
from casid.export._robot import export_robot as export_robot

# other tools
from casid.export._sdpa import write_sdpa as write_sdpa
