"""Tables for the terminal, pictures, pages, and the files of a result, all from the sections of one report."""

# isort: off
# The contract
from casid.report._section import Report as Report
from casid.report._section import ReportSection as ReportSection
from casid.report._section import report_of as report_of

# Reports of each kind of result; each module registers its own
from casid.report import _comparison, _excitation, _identification, _import, _intervals, _joints  # noqa: F401
from casid.report import _robot, _simulation, _solution  # noqa: F401

# Pictures of arrays, or of several results
from casid.report._links import links_figure as links_figure
from casid.report._simulation import tracking_figure as tracking_figure
