"""Commands about recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from casid.cli._recordings import Output
from casid.errors import ExportError


def test_robot_files_are_checked_before_the_work(tmp_path: Path) -> None:
    assert Output().robots() == []
    chosen = Output(urdf=tmp_path / "a.urdf", mjcf=tmp_path / "a.mjcf").robots()
    assert [path.name for path in chosen] == ["a.urdf", "a.mjcf"]
    with pytest.raises(ExportError, match=r"ending \.sdf or \.world"):
        Output(sdf=tmp_path / "a.urdf").robots()
