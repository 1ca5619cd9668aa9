"""Scales of the intervals of masses are those of the table of robots whose bodies are known."""

import pytest
from benchmarks.real import intervals
from scipy.stats import binom

from casid.retrieval.plausible import misses


@pytest.mark.claim("intervals of masses hold the truth of 95 % of robots left out, as far as their number tells")
def test_scales_are_those_of_the_table():
    for origin, kind, rows in intervals.classes(intervals.read()):
        made = misses(origin)[intervals.KINDS.index(kind)]
        assert made == pytest.approx(intervals.fitted(rows), abs=6e-4)
        least, most = binom.interval(0.95, made.robots, 0.95)
        assert least <= made.robots * intervals.judged(rows)[0] <= most
