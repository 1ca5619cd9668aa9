"""C code for controllers, as a folder that builds anywhere; problems as files that other solvers read."""

from casid.export.catalogue import FUNCTIONS, Exportable
from casid.export.controller import export_controller
from casid.export.counts import PUBLISHED, count_robot
from casid.export.directory import ExportedDirectory, export_c
from casid.export.fmu import ExportedFmu, export_fmu
from casid.export.load import LoadedFunction, LoadedLibrary, load
from casid.export.parameters import numbers, with_payload
from casid.export.robot import DEFAULT_FUNCTIONS, all_functions, default_functions, export_robot
from casid.export.ros2 import ExportedPackage, export_ros2
from casid.export.sdpa import SemidefiniteProgram, parse_sdpa, read_sdpa, semidefinite_program, write_sdpa

__all__ = [
    "DEFAULT_FUNCTIONS", "FUNCTIONS", "PUBLISHED", "Exportable", "ExportedDirectory", "ExportedFmu",
    "ExportedPackage", "LoadedFunction", "LoadedLibrary", "SemidefiniteProgram",
    "all_functions", "count_robot", "default_functions", "export_c", "export_controller",
    "export_fmu", "export_robot", "export_ros2", "load", "numbers", "parse_sdpa", "read_sdpa", "semidefinite_program",
    "with_payload", "write_sdpa",
]  # fmt: skip
