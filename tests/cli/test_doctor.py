"""`casid doctor` reports what this installation has and lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.errors import CasidError
from casid.files import read_toml

run = CliRunner().invoke


def test_doctor_finds_what_is_there_and_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CACHE", str(tmp_path / "cache"))
    done = run(app, ["doctor"])
    assert done.exit_code == 0 and "IPOPT" in done.output and casid.__version__ in done.output
    monkeypatch.setenv("CASID_CC", "no-such-compiler")
    done = run(app, ["doctor"])
    assert done.exit_code == 0 and "none found" in done.output and "CASID_CC" in done.output


def test_every_extra_is_listed() -> None:
    project = read_toml(Path(__file__).parents[2] / "pyproject.toml", "project", CasidError)["project"]
    shown = run(app, ["doctor"]).output
    assert all(extra in shown for extra in set(project["optional-dependencies"]) - {"all-tests"})
