"""A Panda, a cache folder of each test's own, and the mark of tests that compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from casid.codegen import find_compiler

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASID_CACHE", str(tmp_path / "cache"))
