"""Tables for the terminal, pictures, and the files of a result."""

from casid.report.believable import believable_record, believable_tables
from casid.report.coefficients import FittedCoefficients, coefficients
from casid.report.excitation import excitation_record, excitation_tables, write_excitation
from casid.report.fit_plot import fit_figure
from casid.report.identification import (
    check_table,
    html_report,
    identification_tables,
    validation_tables,
    write_identification,
    write_validation,
)
from casid.report.intervals import intervals_figure, intervals_table, what_if_table, write_intervals
from casid.report.links_plot import links_figure
from casid.report.loads import flange_of, gains_tables, payload_record, payload_tables
from casid.report.simulation import simulation_record, simulation_table, write_simulation
from casid.report.simulation_plots import energy_figure, tracking_figure
from casid.report.solution import solution_figures, solution_record, solution_tables, write_solution
from casid.report.starts_plot import starts_figure
from casid.report.tables import base_table, links_table, robots_table

__all__ = [
    "FittedCoefficients",
    "base_table",
    "believable_record",
    "believable_tables",
    "check_table",
    "coefficients",
    "energy_figure",
    "excitation_record",
    "excitation_tables",
    "fit_figure",
    "flange_of",
    "gains_tables",
    "html_report",
    "identification_tables",
    "intervals_figure",
    "intervals_table",
    "links_figure",
    "links_table",
    "payload_record",
    "payload_tables",
    "robots_table",
    "simulation_record",
    "simulation_table",
    "solution_figures",
    "solution_record",
    "solution_tables",
    "starts_figure",
    "tracking_figure",
    "validation_tables",
    "what_if_table",
    "write_excitation",
    "write_identification",
    "write_intervals",
    "write_simulation",
    "write_solution",
    "write_validation",
]
