"""A robot's forward dynamics as a Functional Mock-up Unit: FMI 3, model exchange and co-simulation."""

from casid.export.fmu.archive import ExportedFmu, export_fmu

__all__ = ["ExportedFmu", "export_fmu"]
