"""C code for controllers: a robot's dynamics, or any CasADi function, as a folder that builds anywhere."""

from casid.export.catalogue import FUNCTIONS, Exportable
from casid.export.directory import ExportedDirectory, export_c
from casid.export.load import LoadedFunction, LoadedLibrary, load
from casid.export.parameters import read_parameters, with_payload
from casid.export.robot import DEFAULT_FUNCTIONS, export_robot

__all__ = [
    "DEFAULT_FUNCTIONS", "FUNCTIONS", "Exportable", "ExportedDirectory", "LoadedFunction", "LoadedLibrary", "export_c",
    "export_robot", "load", "read_parameters", "with_payload",
]  # fmt: skip
