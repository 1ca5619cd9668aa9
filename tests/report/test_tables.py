"""Tables of plain text."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from casid.report import PlainTable, png_bytes
from tests.report.helpers import text_of

NASTY = ("a$b$c", "x_{$\\frac$", "[/x]", "[bold]name", ":warning:", "\U000e0001", "100 %", "<b>&")


@pytest.mark.claim("names with markup, formulas or emoji are shown as they are")
@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_shown_in_tables_and_pictures(name: str, tmp_path: Path) -> None:
    text = text_of(PlainTable(name, {name: {}}, [(name,)], name))
    assert text.count(name) == 4
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(name)
    axes.set_yticks([0, 1], [name, "10"])
    axes.plot([1, 1000], [0, 1], label=name)
    axes.legend()
    axes.set_xscale("log")
    assert png_bytes(figure).startswith(b"\x89PNG")
