"""C code for controllers: a robot's dynamics, or any CasADi function, as a folder that builds anywhere."""

from casid.export.catalogue import FUNCTIONS, Exportable
from casid.export.controller import export_controller
from casid.export.counts import PUBLISHED, count_robot
from casid.export.directory import ExportedDirectory, export_c
from casid.export.fmu import ExportedFmu, export_fmu
from casid.export.load import LoadedFunction, LoadedLibrary, load
from casid.export.parameters import default_frame, numbers, with_payload
from casid.export.robot import DEFAULT_FUNCTIONS, all_functions, default_functions, export_robot
from casid.export.ros2 import ExportedPackage, export_ros2

__all__ = [
    "DEFAULT_FUNCTIONS", "FUNCTIONS", "PUBLISHED", "Exportable", "ExportedDirectory", "ExportedFmu",
    "ExportedPackage", "LoadedFunction", "LoadedLibrary",
    "all_functions", "count_robot", "default_frame", "default_functions", "export_c", "export_controller",
    "export_fmu", "export_robot", "export_ros2", "load", "numbers", "with_payload",
]  # fmt: skip
