"""Tables for the terminal, pictures, pages, and the files of a result, all from the sections of one report."""

# isort: off
# The contract
from casid.report._section import Report as Report
from casid.report._section import ReportSection as ReportSection
from casid.report._section import report_of as report_of

# Reports of each kind of result; each module registers its own
from casid.report import _comparison, _excitation, _identification, _import, _intervals, _joints  # noqa: F401
from casid.report import _robot, _simulation, _solution  # noqa: F401

# Pictures of arrays
from casid.report._links import links_figure as links_figure

# between rooms
from casid.report._robot import base_table as base_table
from casid.report._robot import described_tables as described_tables
from casid.report._robot import identified_table as identified_table
from casid.report._robot import identified_tables as identified_tables
from casid.report._robot import operations_table as operations_table
from casid.report._robot import robots_table as robots_table
from casid.report._style import BLUE as BLUE
from casid.report._style import INK as INK
from casid.report._style import MUTED as MUTED
from casid.report._style import ORANGE as ORANGE
from casid.report._style import new_figure as new_figure
from casid.report._style import set_title as set_title
from casid.report._style import tidy as tidy
from casid.report._tables import NAME as NAME
from casid.report._tables import PlainTable as PlainTable
from casid.report._tables import TEXT as TEXT
from casid.report._tables import WORD as WORD
from casid.report._tables import numbers as numbers
from casid.report._tables import summary_table as summary_table
from casid.report._tables import texts as texts
from casid.report._shapes import shapes as shapes
from casid.report._simulation import energy_figure as energy_figure
from casid.report._simulation import motion_figure as motion_figure
from casid.report._style import FAINT as FAINT
from casid.report._style import GREEN as GREEN
from casid.report._style import RED as RED
from casid.report._style import link_colours as link_colours
from casid.report._style import png_bytes as png_bytes
