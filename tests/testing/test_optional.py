"""Packages that may be missing are named."""

from __future__ import annotations

import pytest

from casid.testing._optional import NotMeasured, need


def test_a_missing_package_is_named() -> None:
    with pytest.raises(NotMeasured, match=r"needs the package 'no_such_module' \(pip install casid\[peers\]\)"):
        need("no_such_module")
    assert need("math").pi > 3
