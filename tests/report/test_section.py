"""The contract of reports and sections."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from casid.errors import CasidError, CasidWarning
from casid.report import Report, ReportSection, new_figure, png_bytes, report_of


@pytest.mark.claim("a picture that cannot be drawn never costs the results")
def test_a_picture_that_fails_is_a_warning() -> None:
    good, bad = Figure(), Figure()
    bad.text(0, 0, "x").set_fontproperties(None)
    bad.savefig = lambda *_, **__: 1 / 0
    drawn = {"good": good, "bad": bad}
    with pytest.warns(CasidWarning, match=r"bad.png could not be drawn.*division by zero"):
        assert set(Report("", (Drawing(lambda: drawn),)).files()) == {"good.png"}
    with pytest.warns(CasidWarning, match=r"the pictures could not be drawn"):
        assert Report("", (Drawing(lambda: {"a": 1 / 0}),)).files() == {}


def test_figures_belong_to_pyplot_only_inside_plot() -> None:
    before = plt.get_fignums()
    report = Report("today", (Weather(),))
    assert png_bytes(report.figures()["sky"]).startswith(b"\x89PNG") and plt.get_fignums() == before
    report.plot("sky")
    assert len(plt.get_fignums()) == len(before) + 1
    plt.close(plt.get_fignums()[-1])


class Drawing(ReportSection):
    """A section that draws what it is told."""

    def __init__(self, figures):
        self.figures = figures


class Weather(ReportSection):
    """A section of a user's own."""

    def record(self):
        return {"degrees": 21.5}

    def pictures(self):
        return {"sky": lambda: new_figure(1.0, 1.0)}


def test_a_section_of_ones_own_is_shown_and_written(tmp_path: Path) -> None:
    report = Report("today", (Weather(),), json="today.json", page="today.html", lead="fine")
    assert sorted(path.name for path in report.write(tmp_path)) == ["sky.png", "today.html", "today.json"]
    assert "fine" in (tmp_path / "today.html").read_text(encoding="utf-8") and report.tables() == []
    with pytest.raises(CasidError, match="has no picture 'sea'; it has sky"):
        report.plot("sea")
    with pytest.raises(CasidError, match="no report of a object"):
        report_of(object())
