"""Pages that show a robot in three dimensions, curves to zoom, tables to sort: one file each, no network."""

from typing import TYPE_CHECKING

from casid import _earlier

from casid.report.viewer._opened import view as view
from casid.report.viewer._page import Page as Page

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
