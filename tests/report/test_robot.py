"""Reports about a robot."""

from __future__ import annotations

import re

from casid.dynamics import Model
from casid.report._robot import base_table, robots_table
from tests.report.helpers import arm, text_of


def test_robots_table_says_what_is_known() -> None:
    text = text_of(robots_table([arm()]))
    assert re.search(r"arm\s+3\s+RRR\s+6\s+made up", text)
    assert "BSD" not in text


def test_base_table_lists_every_grouping() -> None:
    base = Model(arm(2)).base
    text = text_of(base_table("arm", base))
    assert f"{base.rank} base parameters of 20" in text
    assert all(expression in text for expression in base.expressions)
    assert "Without effect" in text and "Lxx1" in text
