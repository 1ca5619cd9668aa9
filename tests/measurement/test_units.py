"""Factors of units to SI."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.measurement._units import UNITS, factors


def test_factors_are_those_of_the_definitions() -> None:
    np.testing.assert_allclose(factors("deg", "q", 2, "a"), np.pi / 180 * np.ones(2), rtol=1e-15)
    np.testing.assert_allclose(factors(["rpm", "mm/s"], "dq", 2, "a"), [2 * np.pi / 60, 1e-3], rtol=1e-15)
    np.testing.assert_allclose(factors("deg", "q_des", 1, "a"), factors("deg", "q", 1, "a"))  # commands: as positions
    turns = {"q": UNITS["q"]["rev"], "dq": 60 * UNITS["dq"]["rpm"]}
    assert turns["q"] == pytest.approx(360 * UNITS["q"]["deg"]) and turns["dq"] == pytest.approx(2 * np.pi)
    assert all(units["rad" + suffix] == 1.0 for suffix, units in zip(("", "/s", "/s^2"), list(UNITS.values())[1:4],
                                                                     strict=True))  # fmt: skip


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ("grad", "log.toml: unit of q is 'grad'; known are rad"),
        (["deg"], "1 units of q for 2"),
        (3.0, "unit of q is 3"),
    ],
)
def test_unknown_units_and_wrong_numbers_of_them_are_named(units: object, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        factors(units, "q", 2, "log.toml")
