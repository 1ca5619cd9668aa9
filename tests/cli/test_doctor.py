"""`casid doctor` reports what this installation has and lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

import casid
from casid.errors import DatasetError
from casid.files import read_toml
from tests.helpers import run


def test_doctor_finds_what_is_there_and_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CACHE", str(tmp_path / "cache"))
    text = run("doctor")
    assert "IPOPT" in text and casid.__version__ in text
    monkeypatch.setenv("CASID_CC", "no-such-compiler")
    text = run("doctor")
    assert "none found" in text and "CASID_CC" in text


def test_every_extra_is_listed() -> None:
    project = read_toml(Path(__file__).parents[2] / "pyproject.toml", "project", DatasetError)["project"]
    shown = run("doctor")
    assert all(extra in shown for extra in set(project["optional-dependencies"]) - {"all-tests"})
