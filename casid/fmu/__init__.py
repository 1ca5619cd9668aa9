"""Annex: a robot's forward dynamics as a Functional Mock-up Unit: FMI 2 and 3, model exchange and co-simulation."""

from casid.fmu._archive import export_fmu as export_fmu
