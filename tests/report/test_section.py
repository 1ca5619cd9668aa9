"""The contract of reports and sections."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from casid.errors import CasidWarning
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
