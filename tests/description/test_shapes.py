"""Geometry of URDF links: where its files are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from casid.description import found


def test_packages_are_found_among_installed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "site-packages" / "cmeel.prefix" / "share" / "robots" / "a.urdf"
    file.parent.mkdir(parents=True)
    file.write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    assert found("package://robots/a.urdf", None, ()) == file
    assert found("package://robots/b.urdf", None, ()) is None
