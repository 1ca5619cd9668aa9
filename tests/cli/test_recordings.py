"""Commands about recordings."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import run


def test_robot_files_are_checked_before_the_work(tmp_path: Path) -> None:
    text = run("identify", "panda", "no_such.npz", "--sdf", tmp_path / "a.urdf", "--out", tmp_path / "out", code=1)
    assert "ending .sdf or .world" in text and not (tmp_path / "out").exists()
