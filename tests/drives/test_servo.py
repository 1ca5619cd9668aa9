"""Servos from a recording's TOML."""

import pytest

from casid.drives import FREE, Servo, Unknown
from casid.drives._servo import servo_from
from casid.errors import DatasetError


def test_values_are_known_free_or_with_a_prior():
    made = servo_from(
        {"servo": {"kp": 20.0, "kd": {"value": 1.5, "sd": 0.1}, "enabled": "on"},
         "unknown": {"armature": ["free", 0.01]}, "links": "scaled"}, "a.toml",
    )  # fmt: skip
    assert made.kp == 20.0 and made.kd == Unknown(1.5, 0.1) and made.links == "scaled"
    assert made.of("armature", 2) == [FREE, 0.01]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"servo": {"kpp": 1.0}}, "a.toml.*kpp.*kp"),
        ({"servo": {"kp": "stiff"}}, "a.toml.*kp.*free"),
        ({"servo": {"kp": {"value": 1.0, "sd": -1.0}}}, "deviation"),
        ({"servo": {"kp": 1.0}, "unknown": {"kp": 1.0}}, "leave one out"),
        ({"links": "rubber"}, "nominal"),
    ],
)
def test_mistakes_name_file_and_key(tables, message):
    with pytest.raises(DatasetError, match=message):
        servo_from(tables, "a.toml")


def test_impossible_known_values_are_refused():
    with pytest.raises(DatasetError, match="kp of joint 2"):
        Servo(kp=[1.0, -2.0]).of("kp", 2)
    with pytest.raises(DatasetError, match="3 values for 2"):
        Servo(kp=[1.0, 2.0, 3.0]).of("kp", 2)


@pytest.mark.parametrize("number", [10**400, float("nan"), True], ids=["huge", "nan", "true"])
@pytest.mark.claim("numbers of a servo's table are finite, or named")
def test_numbers_that_are_none_are_named(number):
    for value in (number, {"value": number}):
        with pytest.raises(DatasetError, match=r"log: \[servo\] kp"):
            servo_from({"servo": {"kp": value}}, "log")
    servo_from({"servo": {"kp": {"value": 1.0, "upper": float("inf")}}}, "log")
