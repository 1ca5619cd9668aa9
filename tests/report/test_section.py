"""The contract of reports and sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from casid.errors import CasidError, CasidWarning
from casid.report import Report, ReportSection, report_of
from casid.report._section import pictures


@pytest.mark.claim("a picture that cannot be drawn never costs the results")
def test_a_picture_that_fails_is_a_warning() -> None:
    good, bad = Figure(), Figure()
    bad.text(0, 0, "x").set_fontproperties(None)
    bad.savefig = lambda *_, **__: 1 / 0
    with pytest.warns(CasidWarning, match=r"bad.png could not be drawn.*division by zero"):
        assert set(pictures(lambda: {"good": good, "bad": bad})) == {"good.png"}
    with pytest.warns(CasidWarning, match=r"the pictures could not be drawn"):
        assert pictures(lambda: {"a": 1 / 0}) == {}


class Weather(ReportSection):
    """A section of a user's own."""

    def record(self):
        return {"degrees": 21.5}

    def pictures(self):
        return {"sky": lambda cloud="none": Figure(label=cloud)}


def test_a_section_of_ones_own_is_shown_and_written(tmp_path: Path) -> None:
    report = Report("today", (Weather(),), json="today.json", page="today.html", lead="fine")
    assert sorted(path.name for path in report.write(tmp_path)) == ["sky.png", "today.html", "today.json"]
    assert "fine" in (tmp_path / "today.html").read_text(encoding="utf-8") and report.tables() == []
    with pytest.raises(CasidError, match="has no picture 'sea'; it has sky"):
        report.plot("sea")
    with pytest.raises(CasidError, match="no report of a object"):
        report_of(object())
