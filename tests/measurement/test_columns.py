"""Factors of units to SI."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casid import load_robot
from casid.errors import DatasetError
from casid.measurement import check_against, factors, read_dataset
from casid.measurement._columns import torque_notes
from casid.measurement._names import UNITS
from tests.measurement.conftest import TAU, Q, T, csv


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


def named(*signals: str) -> list[str]:
    return [pattern.format(j) for pattern in signals for j in ("elbow", "wrist1", "wrist2")]


@pytest.mark.parametrize(
    "header",
    [
        ["t", *named("q_{}", "tau_{}")],
        ["__time", *named("/joint_states/{}/position", "/joint_states/{}/effort")],
        ["time", *named("{}.position", "{}.effort")],
        ["Time", *named("/joint_states/position/{}", "/joint_states/effort/{}")],
        ["timestamp", *(f"/joint_states/{s}[{k}]" for s in ("position", "effort") for k in range(3))],
        ["t", *(f"{s}[{k}]" for s in ("q", "tau") for k in range(3))],
        ["t", *(f"{s}_{k}" for s in ("q", "tau") for k in (1, 2, 3))],
        ["t", *(f"actual_{s}_{k}" for s in ("q",) for k in (1, 2, 3)), "tau1", "tau2", "tau3"],
    ],
    ids=lambda header: header[1],
)
def test_columns_are_found_by_number_and_by_joint_name(tmp_path: Path, header: list[str]) -> None:
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q, TAU])), encoding="utf-8")
    columns = {"q": "actual_q"} if header[1].startswith("actual") else None
    data = read_dataset(tmp_path / "r.csv", columns=columns)
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)
    assert data.joints == (("elbow", "wrist1", "wrist2") if "elbow" in header[1] else ())


@pytest.mark.claim("torques named by joint follow positions into the robot's order")
def test_signals_named_alike_are_ordered_alike(tmp_path: Path) -> None:
    header = ["t", "q_joint3", "q_joint1", "q_joint2", "tau_joint1", "tau_joint2", "tau_joint3"]
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q[:, [2, 0, 1]], TAU])), encoding="utf-8")
    data = check_against(read_dataset(tmp_path / "r.csv"), load_robot("three_link"))
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)


@pytest.mark.parametrize("first", ["tau_joint_a", "torque_joint_a", "tau_j_a"])
def test_a_joints_name_may_begin_as_another_word_for_the_signal(first: str, tmp_path: Path) -> None:
    """``tau_joint_a1`` beside ``q_joint_a1`` is the torque of 'joint_a1', not the joint torque of 'a1'."""
    stem = first.split("_", 1)[1]
    header = ["time", *(f"q_{stem}{k}" for k in (1, 2, 3)), *(f"{first}{k}" for k in (3, 1, 2))]
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q, TAU[:, [2, 0, 1]]])), encoding="utf-8")
    data = read_dataset(tmp_path / "r.csv")
    assert data.joints == tuple(f"{stem}{k}" for k in (1, 2, 3))
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)


def test_joints_by_name_and_torques_by_number_are_refused(tmp_path: Path) -> None:
    header = ["t", *(f"q_{joint}" for joint in ("elbow", "wrist1", "wrist2")), "tau1", "tau2", "tau3"]
    (tmp_path / "r.csv").write_text(csv(header, np.column_stack([T, Q, TAU])), encoding="utf-8")
    with pytest.raises(DatasetError, match="'tau' is numbered: name all columns alike"):
        read_dataset(tmp_path / "r.csv")


def test_time_in_other_units(tmp_path: Path) -> None:
    header = ["q1", "q2", "q3", "tau1", "tau2", "tau3"]
    ms = np.arange(0.0, 2 * len(T), 2.0)
    for name, factor in (("t_ms", 1e-3), ("time_us", 1e-6)):
        (tmp_path / "r.csv").write_text(csv([name, *header], np.column_stack([ms, Q, TAU])), encoding="utf-8")
        np.testing.assert_allclose(read_dataset(tmp_path / "r.csv").t, factor * ms)
    table = np.column_stack([np.arange(80.0) * 2, np.tile(Q, (2, 1)), np.tile(TAU, (2, 1))])
    (tmp_path / "r.csv").write_text(csv(["t", *header], table), encoding="utf-8")
    with pytest.raises(DatasetError, match="seems to count milliseconds"):
        read_dataset(tmp_path / "r.csv")
    assert read_dataset(tmp_path / "r.csv", time_scale=1).t[1] == 2.0


@pytest.mark.claim("of several torque columns the one that is used is said")
def test_of_several_torque_columns_the_one_used_is_said() -> None:
    two, wide = np.zeros((4, 2)), np.zeros((4, 3))
    arrays = {
        "q": two, "tau_sensor": two, "tau_current": two, "motor_current": two, "torque_limits": wide, "taught": two,
    }  # fmt: skip
    (note,) = torque_notes(arrays, {}, "run.npz")
    assert note == (
        "run.npz: torques are 'tau_sensor'; there are also tau_current, motor_current (--tau names another)"
    )
    assert torque_notes(arrays, {"tau": "tau_sensor"}, "run.npz") == ()
    assert torque_notes({"q": two, "tau": two}, {}, "run.npz") == ()
