"""Acceptance tables pass only where every demanded row was measured and meets its bar."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
from benchmarks import house, soundness
from benchmarks.measure import Measure, NotMeasured, Verdict, headline, in_process, outcome, skipped

from tests.attack import claims

ROOT = Path(__file__).resolve().parents[2]


def _crash() -> tuple[str, bool]:
    raise RuntimeError("the measuring code")


def _absent() -> tuple[str, bool]:
    raise NotMeasured("no data")


def _row(run, quick=None) -> Measure:
    return Measure("row", "bar", "-", run, quick, "part")


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (lambda: ("1", True), Verdict.MET),
        (lambda: ("1", False), Verdict.MISSED),
        (_crash, Verdict.MISSED),
        (_absent, Verdict.NOT_MEASURED),
    ],
)
@pytest.mark.claim("a row that was not measured, or whose own code fails, fails its table")
def test_only_a_row_that_meets_its_bar_passes(run, verdict):
    found = outcome(_row(run))
    assert found.verdict is verdict
    assert headline([found])[1] == (verdict is Verdict.MET)
    assert headline([outcome(_row(lambda: ("1", True))), found])[1] == (verdict is Verdict.MET)


def test_a_waiver_covers_what_was_not_measured_and_no_missed_bar():
    met = outcome(_row(lambda: ("1", True)))
    for run in (_crash, _absent):
        waived = outcome(_row(run), waived=True)
        assert waived.verdict is Verdict.WAIVED and headline([met, waived])[1]
        assert not headline([waived])[1]
    assert outcome(_row(lambda: ("1", False)), waived=True).verdict is Verdict.MISSED


def test_the_headline_counts_the_demanded_rows():
    rows = [outcome(_row(run)) for run in (lambda: ("1", True), _crash, _absent)]
    rows += [outcome(_row(_absent), waived=True), outcome(_row(_crash, skipped), quick=True)]
    text = "1 of 3 demanded rows met, 1 missed, 1 not measured, 1 waived, 1 left out by --quick"
    assert headline(rows) == (text, False)


ATTACK = {"bounds": soundness.bounds, "solutions": soundness.statuses, "ends": soundness.ends, "rest": soundness.others}
COUNTS = dict.fromkeys((f.name for f in fields(claims.Tally)), 0) | {"wall": 1.0, "problems": soundness.PROBLEMS}


@pytest.mark.claim("a crashed attack is a missed row of each proof; late problems too")
def test_a_crashed_or_late_attack_is_a_missed_row(monkeypatch):
    done = subprocess.CompletedProcess([], 1, "", "Traceback\nMemoryError")
    monkeypatch.setattr(soundness.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(RuntimeError, match=r"tests.attack.run .* failed: Traceback"):
        soundness._attack(0, 1)
    for change, met in (({}, True), ({"late": 1}, False), ({"problems": 5}, False)):
        tally = {**COUNTS, "findings": [], **change}
        monkeypatch.setattr(soundness, "attacked", lambda _, tally=tally: tally)
        assert all((outcome(_row(run)).verdict is Verdict.MET) == met for run in ATTACK.values())


@pytest.mark.claim("every finding of the attack makes one row missed")
def test_every_finding_of_the_attack_counts(monkeypatch):
    noted = re.findall(r'_note\(attack, tally, f?"([^"]+)"', Path(claims.__file__).read_text())
    assert len(noted) >= 9
    for claim in {text.replace("{found.status}", status) for text in noted for status in ("optimal", "feasible")}:
        tally = {**COUNTS, "findings": [{"seed": 7, "kind": "cone", "claim": claim, "text": "..."}]}
        monkeypatch.setattr(soundness, "attacked", lambda _, tally=tally: tally)
        assert [run()[1] for run in ATTACK.values()].count(False) == 1, claim


def test_work_in_a_process_of_its_own_answers_raises_or_is_late():
    assert in_process(lambda a: a + 1, 2, limit=20) == 3
    with pytest.raises(ZeroDivisionError):
        in_process(lambda: 1 / 0, limit=20)
    with pytest.raises(TimeoutError, match=r"not done in 0\.2 s"):
        in_process(time.sleep, 5, limit=0.2)
    with pytest.raises(ChildProcessError):
        in_process(os._exit, 1, limit=20)


@pytest.mark.claim("an older table holds only where each of its rows is published in this state, whole, and met")
def test_an_older_table_is_judged_by_what_is_published(monkeypatch):
    right = {"verdict": "yes", "state": "now", "quick": False}
    monkeypatch.setattr(house, "digest", lambda *_: "now")
    monkeypatch.setattr(house, "measures", lambda _: [_row(lambda: None)])
    for change, verdict in (
        ({}, Verdict.MET), ({"verdict": "NO"}, Verdict.MISSED), ({"state": "then"}, Verdict.NOT_MEASURED),
        ({"quick": True}, Verdict.NOT_MEASURED),
    ):  # fmt: skip
        rows = {"topic": {"row": right | change}}
        monkeypatch.setattr(house, "stored", lambda rows=rows: {"rows": rows})
        assert outcome(_row(lambda: house.older("topic"))).verdict is verdict


def _table(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "acceptance.py"), *arguments]
    environment = {**os.environ, "CASID_DATA": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.claim("a table without its data fails")
def test_without_data_the_table_of_real_robots_fails(tmp_path):
    done = _table(tmp_path, "real", "--only", "Panda, joints")
    assert done.returncode == 1
    assert "0 of 1 demanded rows met, 0 missed, 1 not measured" in done.stdout
    unknown = _table(tmp_path, "real", "--only", "Panda, joints", "--waive", "no such row")
    assert unknown.returncode == 2 and "no row has the name 'no such row'" in unknown.stderr
