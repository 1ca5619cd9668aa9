"""Report of an identification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.identification import Identification
from casid.identification.diagnosis import Finding, Verdict
from casid.report import report_of

NAMES = ("torques", "links", "friction", "base_parameters")


@pytest.mark.claim("house d: plot_links shows the identified masses where there are joint terms")
def test_the_drawn_links_are_the_identified_ones(result: Identification) -> None:
    (legend,) = result.plot_links()[0].figure.legends
    shown = [float(text.get_text().split()[-2]) for text in legend.get_texts()]
    np.testing.assert_allclose(shown, [link.mass for link in result.feasible.link_parameters], rtol=5e-3)


def test_every_section_gives_what_the_files_hold(result: Identification) -> None:
    report = report_of(result)
    assert set(report.figures()) == set(NAMES)
    assert report.record() == result.record()
    files = {name for section in report.sections for name in section.files()}
    assert files == {"parameters.csv", "base_parameters.csv"}
    titles = [str(table.title) for table in report.tables()]
    (friction,) = (table for table in report.tables() if "Friction" in str(table.title))
    shown = [float(str(cell)) for cell in friction.columns[1].cells]
    np.testing.assert_allclose(shown, [result.parameters["fv1"], result.parameters["fv2"]], rtol=1e-3)
    assert titles[-1].startswith("spatial_2r identification") and "Joints" in titles and "Links" in titles
    page = report.html({})
    for heading in ("Joints", "Torques", "Links", "Friction and drive train", "Base parameters", "Notes"):
        assert f"<h2>{heading}</h2>" in page


def test_sections_without_their_subject_show_nothing(result: Identification) -> None:
    rows = {str(table.title): table.row_count for table in report_of(result).tables()}
    subjects = {"Joints": 3, "Links": 3, "Friction and other joint terms": 2}  # two of each, and what they make in all
    assert list(rows)[:-1] == ["Verdict", *subjects] and rows.items() >= subjects.items()  # no intervals: not asked for


@pytest.mark.claim(
    "the verdict's table and the notes say each thing once, and how each recording was processed is printed"
)
def test_the_tables_say_each_thing_once(result: Identification) -> None:
    slow = Finding("unexplained joint", joint="joint2", values={"error": 40.0, "usual": 3.0})
    still = Finding("standstill", "run", values={"share": 50.0, "done": "left out"})
    verdict = Verdict((slow, still), 1.0, 2.0, 3)
    judged = replace(result, verdict=verdict, notes=("another note", still.text))
    assert verdict.further != verdict.findings
    table, *_, summary = report_of(judged).tables()
    cells = [str(cell) for column in table.columns for cell in column.cells]
    assert sum(slow.text in cell for cell in cells) == sum(still.text in cell for cell in cells) == 1
    left, right = ([str(cell) for cell in column.cells] for column in summary.columns)
    notes = [text for name, text in zip(left, right, strict=True) if name == "note"]
    assert notes == ["another note"]
    (chosen,) = (text for name, text in zip(left, right, strict=True) if name == "links")
    assert result.feasible.believable is not None
    (origin,) = set(result.feasible.believable.bodies.origins)
    assert chosen.endswith(f"plausible bodies from: {origin}")
    steps = [text for name, text in zip(left, right, strict=True) if name == "processing"]
    assert len(steps) == 1 and steps[0].startswith(f"{judged.datasets[0].name}: ")
    page = report_of(judged).html({})
    assert page.count(slow.text.replace("'", "&#x27;")) == 1
