"""Commands about generated code."""

from __future__ import annotations

import pytest

from tests.helpers import run


def test_terms_follow_the_option(tmp_path) -> None:
    for terms in ("none", "viscous"):
        run("export", "panda", "--terms", terms, "--functions", "inverse_dynamics", "--out", tmp_path / terms)
        assert ("viscous" in (tmp_path / terms / "panda.h").read_text()) == (terms == "viscous")


def test_the_cache_lists_its_folder(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CACHE", str(tmp_path))
    assert "0 files" in run("cache")
    (tmp_path / "other.txt").write_text("")
    assert "0 files removed" in run("cache", "--clear") and [path.name for path in tmp_path.iterdir()] == ["other.txt"]
