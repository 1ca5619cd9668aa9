"""A cache folder of each test's own, and sources that need a compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from casid import codegen

X = ca.SX.sym("x")
FUNCTION = ca.Function("f", [X], [ca.sin(X) * X + 2])
no_compiler = codegen.find_compiler() is None or os.name == "nt"
needs_posix_compiler = pytest.mark.skipif(no_compiler, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CASID_CACHE", str(folder))
    monkeypatch.setattr(codegen._compiler, "_UNUSABLE", set())
    return folder


def script(path: Path, text: str) -> str:
    """Path of an executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def agree(values: Sequence[object], expected: Sequence[object], rtol: float = 0.0, atol: float = 0.0) -> None:
    """Assert that outputs agree one by one."""
    for value, right in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, right, rtol=rtol, atol=atol)
