"""The command ``excite``."""

from __future__ import annotations

import pytest

import casid
from casid.cli._excitation import Bounds, _note_unchecked


@pytest.mark.parametrize(
    ("bounds", "notes"),
    [
        (Bounds(), ["no collision check: no capsules known", "no torque limits: the robot's file"]),
        (Bounds(collision=False, torque=False), ["collision check: switched off", "torque limits: switched off"]),
    ],
)
def test_limits_that_are_not_kept_are_noted(
    bounds: Bounds, notes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _note_unchecked(casid.load_robot("spatial_2r"), bounds)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(note in line for note, line in zip(notes, lines, strict=True))
