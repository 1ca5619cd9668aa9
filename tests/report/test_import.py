"""Report of how a log is read: every guess with its reason, a row a joint."""

from __future__ import annotations

from pathlib import Path

from casid.measurement import Proposal
from casid.report import report_of

EVIDENCE = (("separator", "semicolon", "9 cells in every line"), ("angles", "degrees", "within the joint limits"))


def cells(table: object) -> list[list[str]]:
    return [[str(cell) for cell in column.cells] for column in table.columns]  # type: ignore[attr-defined]


def test_guesses_and_joints_are_shown() -> None:
    joints = (
        ("joint1", "A1", "M1", "-1 to 1", "20", "0.99", "0.95"),
        ("joint2", "A2", "M2", "0 to 2", "9", "-", "0.9"),
    )
    guesses, rows = report_of(Proposal(Path("a/log.csv"), {}, EVIDENCE, joints)).tables()
    assert cells(guesses) == [list(column) for column in zip(*EVIDENCE, strict=True)]
    assert str(guesses.title) == "How log.csv is read" and cells(rows) == [list(c) for c in zip(*joints, strict=True)]
    assert "correlation" in str(rows.caption)


def test_without_joints_there_is_one_table() -> None:
    found = Proposal(Path("log.csv"), {}, EVIDENCE)
    assert len(report_of(found).tables()) == 1 and "log.csv" in report_of(found).title
