"""A little of the fuzz of every reader; `python scripts/benchmarks/soundness/fuzz.py` does the whole of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.measure import NotMeasured
from benchmarks.soundness.fuzz import fuzz
from benchmarks.soundness.fuzz_kinds import Kind
from benchmarks.soundness.fuzz_list import KINDS
from benchmarks.soundness.fuzz_worker import _alarm, try_one

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and alarms as Linux has them")
COUNT = 15


@pytest.mark.slow
@pytest.mark.claim("no spoilt file ends in a traceback, a hang, gigabytes, NaN or half a file")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_spoilt_files_are_read_or_refused_in_one_line(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import signal

    try:
        kind.check_available()
        kind.seeds  # noqa: B018
    except NotMeasured as reason:
        pytest.skip(str(reason))
    monkeypatch.setattr(kind, "rare", 10**9)  # bombs need a process with a limit of memory
    before = signal.signal(signal.SIGPROF, _alarm)
    try:
        verdicts = [try_one(kind, number, 7, tmp_path / "one") for number in range(COUNT)]
    finally:
        signal.signal(signal.SIGPROF, before)
    assert set(verdicts) <= {"ok", "refused"}
    assert "refused" in verdicts


@pytest.mark.slow
def test_a_worker_tells_what_becomes_of_every_input() -> None:
    outcome = fuzz("trajectory", count=8, seed=7)
    assert outcome.ok + outcome.refused == 8
    assert not outcome.failures
