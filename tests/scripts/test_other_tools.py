"""Compiled functions in other tools for optimal control: the same motion, the same optimum."""

from __future__ import annotations

import pytest
from benchmarks.doors.tools import TOOLS, same_optimum
from benchmarks.measure import NotMeasured


@pytest.mark.parametrize("tool", TOOLS)
def test_the_optimum_is_the_same_by_every_tool(tool: str) -> None:
    try:
        text, same = same_optimum(tool)
    except NotMeasured as reason:
        pytest.skip(str(reason))
    assert same, text
