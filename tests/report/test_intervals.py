"""Intervals in reports: digits that the data add, and a verdict."""

import numpy as np
import pytest

from casid.report import report_of
from casid.report._intervals import IntervalsSection, digits, intervals_figure, verdict
from casid.retrieval import parameter_intervals
from casid.testing._synthetic import BODY, nearest


@pytest.fixture(scope="module")
def found():
    problem = nearest(BODY)
    return parameter_intervals(problem, {"m1": problem.variables.x[9]}, tolerance=1e-4)


def test_a_quantity_is_known_by_its_digits(found):
    entry = found["m1"]
    prior = entry.prior[1] - entry.prior[0]
    reference = prior if np.isfinite(prior) else max(abs(entry.attained_low), abs(entry.attained_high))
    assert digits(entry) == pytest.approx(np.log10(reference / entry.width))
    assert verdict(entry) in ("known", "roughly known")


def test_tables_files_and_picture(found, tmp_path):
    section = IntervalsSection(found)
    (table,) = section.tables()
    assert table.row_count == 1 and len(intervals_figure(found).axes) == 2
    assert {path.name for path in report_of(found).write(tmp_path / "out")} == {"intervals.csv", "intervals.png"}
