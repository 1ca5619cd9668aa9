"""A little of the fuzz of every reader; `python scripts/measures/fuzz.py` does the whole of it."""

from __future__ import annotations

import sys

import pytest
from measures.fuzz import fuzz
from measures.fuzz_list import KINDS
from measures.measure import NotMeasured

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and alarms as Linux has them")


@pytest.mark.slow
@pytest.mark.claim("no spoilt file ends in a traceback, a hang, gigabytes, NaN or half a file")
@pytest.mark.parametrize("name", [kind.name for kind in KINDS if kind.name != "study file"])
def test_spoilt_files_are_read_or_refused_in_one_line(name: str) -> None:
    try:
        outcome = fuzz(name, count=25, seed=7)
    except NotMeasured as reason:
        pytest.skip(str(reason))
    assert not outcome.failures
    assert outcome.ok + outcome.refused == 25
    assert outcome.refused
