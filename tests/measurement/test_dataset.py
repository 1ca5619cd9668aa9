"""Data sets: what they refuse, and their masks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from tests.measurement.conftest import sine


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": np.zeros((5, 2))}, "time must have one entry a sample"),
        ({"t": np.arange(5.0), "q": np.zeros((5, 2)), "tau": np.zeros((5, 2))}, "5 samples are too few"),
        ({"tau": np.zeros((20, 3))}, r"tau has shape \(20, 3\); expected \(20, 2\)"),
        (
            {"q": np.where(np.arange(40).reshape(20, 2) == 7, np.nan, 0.0)},
            "q of joint 2, sample 3 is not a finite number",
        ),
        ({"t": np.r_[np.arange(10.0), np.arange(10.0)]}, "time goes back by 9 s after sample 9"),
    ],
)
def test_datasets_refuse_what_is_no_recording(change, message):
    good = {"t": np.arange(20.0), "q": np.zeros((20, 2)), "tau": np.zeros((20, 2))}
    with pytest.raises(DatasetError, match=message):
        Dataset(**{**good, **change})


@pytest.mark.claim("transposed arrays are named as such")
@pytest.mark.parametrize("name", ["q", "tau"])
def test_transposed_arrays_are_named(name: str) -> None:
    arrays = {"q": np.ones((20, 3)), "tau": np.ones((20, 3))}
    arrays[name] = arrays[name].T
    with pytest.raises(DatasetError, match=rf"expected \(20, 3\): it is transposed, give {name}\.T"):
        Dataset(np.arange(20.0), **arrays)


def test_masks():
    data = Processing(trim=0.5).apply(sine())
    assert data.only([1]).mask.sum() == len(data)
    half = replace(data, mask=np.arange(2 * len(data)).reshape(-1, 2) < len(data))
    assert np.array_equal(half.only([1]).mask[:, 1], half.mask[:, 1])  # what was masked before stays so
    assert not half.only([1]).mask[:, 0].any()
    slow = data.moving(0.5)
    assert np.array_equal(slow.mask, np.abs(data.dq) >= 0.5)
    assert data.moving(0.5, margin=0.1).mask.sum() < slow.mask.sum()
