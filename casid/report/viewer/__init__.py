"""Pages that show a robot in three dimensions, curves to zoom, tables to sort: one file each, no network."""

from casid.report.viewer._opened import view as view
from casid.report.viewer._page import Page as Page

# between rooms
from casid.report.viewer._page import nominal_bodies as nominal_bodies
