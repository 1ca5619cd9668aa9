"""A little of the fuzz of every reader; `python scripts/acceptance.py soundness --only fuzz` does the whole of it."""

from __future__ import annotations

import sys

import pytest
from benchmarks.measure import NotMeasured
from benchmarks.soundness.fuzz import KINDS, fuzz

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and alarms as Linux has them")


@pytest.mark.slow
@pytest.mark.claim("no spoilt file ends in a traceback, a hang, gigabytes, NaN or half a file")
@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_spoilt_files_are_read_or_refused_in_one_line(name: str) -> None:
    try:
        text, met = fuzz(name, count=15, seed=7)
    except NotMeasured as reason:
        pytest.skip(str(reason))
    assert met, text
