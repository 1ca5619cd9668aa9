"""Columns gathered to signals: order of the joints, several ranges of one signal, columns that a user names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.description import Robot, load_robot
from casid.errors import DatasetError
from casid.measurement import Columns
from casid.measurement._columns import best, chosen_group, signal_groups

ROWS = np.arange(5.0)


@pytest.fixture(scope="module")
def robot() -> Robot:
    arm = load_robot("spatial_2r")
    names = ("shoulder", "elbow_joint")
    return replace(arm, joints=tuple(replace(j, name=n) for j, n in zip(arm.joints, names, strict=True)))


def table(*names: str) -> Columns:
    """Columns k, k + 1, ... under these names."""
    cells = tuple((name, ROWS + 10 * k) for k, name in enumerate(names))
    return Columns(dict(cells), cells=cells)


def test_names_and_numbers_of_joints_order_the_columns(robot: Robot) -> None:
    (named,) = signal_groups(table("elbow position [deg]", "shoulder position [deg]"), robot)
    assert named.names == ("shoulder position [deg]", "elbow position [deg]") and named.ordered
    assert (named.meaning.signal, named.meaning.unit) == ("q", "deg")
    np.testing.assert_array_equal(named.values, np.column_stack([ROWS + 10, ROWS]))
    (numbered,) = signal_groups(table("tau_2", "tau_1"), robot)
    assert numbered.names == ("tau_1", "tau_2") and numbered.ordered and str(numbered) == "tau_1 ... tau_2"
    (odd,) = signal_groups(table("tau_7", "tau_3"), robot)
    assert odd.names == ("tau_3", "tau_7") and not odd.ordered  # numbers that do not begin at 0 or 1


@pytest.mark.claim("a joint whose name has a word for a signal in it is found by its whole name")
def test_words_for_signals_in_the_names_of_joints(robot: Robot) -> None:
    wrist = replace(robot, joints=tuple(
        replace(j, name=n) for j, n in zip(robot.joints, ("wrist_angle", "wrist_torque_tube"), strict=True)
    ))  # fmt: skip
    q, tau = signal_groups(
        table("wrist_torque_tube_position_deg", "wrist_angle_position_deg", "wrist_angle_current_mA",
              "wrist_torque_tube_current_mA"), wrist,
    )  # fmt: skip
    assert q.names == ("wrist_angle_position_deg", "wrist_torque_tube_position_deg") and q.ordered
    assert (q.meaning.signal, q.meaning.unit, q.labels) == ("q", "deg", ("wristangle", "wristtorquetube"))
    assert (tau.meaning.signal, tau.meaning.unit) == ("current", "mA") and tau.ordered


def test_columns_of_one_name_are_numbered_and_texts_left_out(robot: Robot) -> None:
    cells = (("torque", ROWS), ("torque", ROWS + 1), ("torque state", np.array(["a"] * 5)))
    found = signal_groups(Columns({}, cells=cells), robot)
    assert [group.names for group in found] == [(1, 2)]


def test_measured_signals_of_the_joint_come_first(robot: Robot) -> None:
    found = signal_groups(
        table("commanded torque 1", "commanded torque 2", "motor torque 1", "motor torque 2", "actual torque 1",
              "actual torque 2", "torque 1", "torque 2"), robot,
    )  # fmt: skip
    chosen = best(found, ("tau", "current"), 2)
    assert [group.names for group in chosen] == [("actual torque 1", "actual torque 2")]
    assert best(found, ("tau",), 3) == [] and best(found, ("q",), 2) == []


def test_columns_that_a_user_names() -> None:
    log = table("t", "M2", "M1", "I [A]", "J [mA]")
    assert chosen_group(log, "M*", 2, "log").names == ("M2", "M1")  # in the order of the file
    assert chosen_group(log, "2-3", 2, "log").names == ("M2", "M1")
    assert chosen_group(log, "M1|M2", 2, "log").names == ("M1", "M2")
    assert chosen_group(log, "I [A]", 1, "log").meaning.unit == "A"
    assert chosen_group(log, "4-5", 2, "log").meaning.unit == ""  # two units
    with pytest.raises(DatasetError, match=r"log: 'M.' names 2 columns of numbers, 3 are needed; there are t, M2"):
        chosen_group(log, "M*", 3, "log")
