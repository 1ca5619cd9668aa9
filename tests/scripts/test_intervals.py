"""Scales of the intervals of masses are those of the table of robots whose bodies are known."""

import pytest
from benchmarks.real import intervals

from casid.retrieval.plausible import misses


@pytest.mark.claim("intervals of masses hold the truth of 92 to 98 % of robots that were left out, in each class")
def test_scales_are_those_of_the_table():
    for origin, kind, rows in intervals.classes(intervals.read()):
        assert misses(origin)[intervals.KINDS.index(kind)] == pytest.approx(intervals.fitted(rows), abs=6e-4)
        assert 0.92 <= intervals.judged(rows)[0] <= 0.98
