"""Words of messages, and the lists that users type."""

from __future__ import annotations

import pytest

from casid.errors import DatasetError
from casid.files import assignments, comma_list, comma_numbers, near, number_list


def test_lists_separated_by_commas() -> None:
    assert comma_list(" a, b,,c ") == ["a", "b", "c"]
    assert number_list(("1", " 2")) == [1.0, 2.0] and number_list(("1", "a")) is None
    assert comma_numbers("1, 2,3e-1", "x", DatasetError) == [1.0, 2.0, 0.3]
    assert assignments("viscous=0.5, coulomb = 2", "x", DatasetError) == {"viscous": 0.5, "coulomb": 2.0}
    assert assignments("joint1,joint2=0.5", "x", DatasetError, 0.0) == {"joint1": 0.0, "joint2": 0.5}


@pytest.mark.parametrize(
    ("text", "count", "message"),
    [
        ("1,a", None, "noise: expected numbers separated by commas, got '1,a'"),
        ("1,2", 3, "noise: expected three numbers separated by commas, got '1,2'"),
        ("", 4, "noise: expected 4 numbers separated by commas, got ''"),
    ],
)
def test_wrong_numbers_are_refused(text: str, count: int | None, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        comma_numbers(text, "noise", DatasetError, count)
    assert caught.value.message == message


@pytest.mark.parametrize("text", ["viscous", "viscous=a", "=1,b="])
def test_wrong_assignments_are_refused(text: str) -> None:
    with pytest.raises(DatasetError, match=r"--friction: expected NAME=NUMBER"):
        assignments(text, "--friction", DatasetError)


def test_the_nearest_name_is_suggested() -> None:
    assert near("viscos", ["viscous", "coulomb"]) == "; did you mean 'viscous'?"
    assert near("other", ["viscous"]) == ""


@pytest.mark.parametrize("text", ["1_000", "1,2_0"])
@pytest.mark.claim("digits with underscores are no numbers")
def test_digits_with_underscores_are_no_numbers(text):
    assert number_list(text.split(",")) is None
    assert number_list(["1e3", "-2"]) == [1000.0, -2.0]
