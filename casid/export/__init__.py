"""C code for controllers, as a folder that builds anywhere."""

# C code, and back in Python
from casid.export._directory import export_controller as export_controller
from casid.export._directory import export_c as export_c
from casid.export._exported import load as load
from casid.export._robot import export_robot as export_robot

# between rooms
from casid.export._beside import beside as beside
from casid.export._beside import licence_of as licence_of
from casid.export._beside import rest as rest
from casid.export._directory import ExportedDirectory as ExportedDirectory
from casid.export._robot import all_functions as all_functions
from casid.export._robot import default_functions as default_functions
from casid.export._robot import described as described
from casid.export._robot import folded as folded
from casid.export._robot import model_of as model_of
from casid.export._robot import notes_of as notes_of
from casid.export._robot import numbered as numbered
from casid.export._robot import warn_if_infeasible as warn_if_infeasible
from casid.export._robot import with_payload as with_payload
from casid.export._texts import comment as comment
from casid.export._texts import guarded as guarded
from casid.export._robot import UNITS as UNITS
from casid.export._robot import count_robot as count_robot
from casid.export._exported import LoadedLibrary as LoadedLibrary
from casid.export._robot import FUNCTIONS as FUNCTIONS
from casid.export._robot import PUBLISHED as PUBLISHED
