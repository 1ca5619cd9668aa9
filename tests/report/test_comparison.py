"""The report of two identifications compared: what differs stands first, in the tables, the record and the picture."""

from __future__ import annotations

from casid.identification import Comparison, Difference
from casid.report import report_of


def found() -> Comparison:
    records = [
        {
            "links": ["upper", "lower"], "parameters": {"m1": 2.0, "m2": mass},
            "joints": [{"name": "elbow", "relative_error": error}],
        }
        for mass, error in ((1.0, 4.0), (1.5, 5.25))
    ]  # fmt: skip
    differences = (
        Difference("b2", "lz2", 0.1, 0.4, 0.05, 1e-7, 2.5, "elbow"),
        Difference("b1", "fv1", 1.0, 1.01, 0.02, 0.6, float("nan"), ""),
    )
    return Comparison(*records, ("before", "after"), differences, 1.3, ("fc1",), ("another cut-off",))


def test_the_significant_difference_and_the_masses_stand_in_the_tables() -> None:
    differences, links, errors, _ = report_of(found()).tables()
    assert [list(map(str, column.cells)) for column in differences.columns][:4] == [
        ["b2", "b1"], ["0.1", "1"], ["+0.3", "+0.01"], ["1e-07", "0.6"]
    ]  # fmt: skip
    assert [str(list(column.cells)[-1]) for column in links.columns] == ["all", "3.000", "3.500", "+0.500"]
    assert [list(map(str, column.cells)) for column in errors.columns] == [["elbow"], ["4.00"], ["5.25"]]


def test_the_record_has_no_number_that_is_none_and_the_line_names_the_joint() -> None:
    record = report_of(found()).record()
    assert "1 of 2 base parameters differ" in record["line"] and "elbow" in record["line"]
    assert [one["torque"] for one in record["differences"]] == [2.5, None] and record["unmatched"] == ["fc1"]


def test_the_picture_shows_changes_in_standard_deviations() -> None:
    (axes,) = report_of(found()).figures()["comparison"].axes
    offsets = axes.collections[-1].get_offsets()
    assert sorted(round(float(y), 6) for _, y in offsets) == [0.5, 6.0]
