"""Folders of C code of any function."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from casid.errors import DatasetError
from casid.export import export_c, load
from casid.testing._rigid_body import close
from tests.export.conftest import needs_compiler


@needs_compiler
def test_any_function_of_a_user(tmp_path: Path) -> None:
    x, A = ca.MX.sym("x", 2), ca.MX.sym("A", 2, 3)
    f = ca.Function("f", [x, A], [ca.mtimes(x.T, A), ca.sumsqr(A) * x], ["x", "A"], ["row", "scaled"])
    done = export_c([f], tmp_path / "c", "mine", words={"f": "what it is"}, units={"x": "a length [m]"})
    assert "a length [m]" in (done.path / "mine.h").read_text()
    library = load(done.path)
    value, matrix = np.array([1.5, -2.0]), np.arange(6.0).reshape(2, 3)
    row, scaled = library.f(value, matrix)
    close(row, [value @ matrix])
    close(scaled, (matrix**2).sum() * value)
    with pytest.raises(DatasetError, match=r"'A' expects shape \(2, 3\), got \(3, 2\)"):
        library.f(value, matrix.T)
    with pytest.raises(AttributeError, match="known: f"):
        _ = library.g
