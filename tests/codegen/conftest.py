"""A cache folder of each test's own, and sources that need a compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from casid import codegen


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CASID_CACHE", str(folder))
    monkeypatch.setattr(codegen._compiler, "_UNUSABLE", set())
    return folder
