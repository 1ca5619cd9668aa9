"""Numbers that bounds and repairs rest on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.identification._bounds import ROTOR, TIMES_HELD, expected_rotors, largest_mass, reach, split_bounds
from casid.identification.repair import nearest_feasible
from casid.identification.repair._check import LinkCheck
from casid.identification.repair._feasibility import _LinearForms
from casid.inertia import to_standard
from casid.retrieval import total_mass


def test_no_bounds_are_bounds_of_nothing():
    assert split_bounds(None) == split_bounds({}) == ({}, {})
    assert split_bounds({"m2": (0, 1), "fc2": (0, 2)}) == ({"m2": (0, 1)}, {"fc2": (0, 2)})


def test_limits_of_torque_count_as_they_are_and_measured_ones_three_times():
    robot = casid.load_robot("spatial_2r")
    per_torque = TIMES_HELD / (9.80665 * reach(robot))
    weak = replace(robot, limits=replace(robot.limits, effort=np.array([0.5, 0.2])))
    assert largest_mass(weak) == pytest.approx(0.5 * per_torque)
    assert largest_mass(weak, [9.0, -9.0]) == pytest.approx(0.5 * per_torque)  # known limits are not measured ones
    open_ended = replace(robot, limits=replace(robot.limits, effort=np.array([np.inf, 0.2])))
    assert largest_mass(open_ended, [-2.0, 0.0]) == pytest.approx(6.0 * per_torque)


def test_rotors_of_a_robot_without_lengths_are_those_of_a_metre():
    """Of any sign of the torque."""
    joints = [
        Joint(f"j{k}", kind, k - 1, Link(f"l{k}"), np.eye(4), axis=np.array([0.0, 0.0, 1.0]))
        for k, kind in enumerate(("revolute", "prismatic"))
    ]
    model = Model(Robot("points", tuple(joints)), ("rotor", "viscous"))
    assert expected_rotors(model, [-5.0, 3.0]) == {"Ia1": pytest.approx(ROTOR * 5.0), "Ia2": pytest.approx(ROTOR * 3.0)}


def test_a_change_is_the_largest_of_an_entry():
    before = to_standard(2.0, [0.1, 0.0, 0.0], np.diag([0.1, 0.2, 0.3]))
    after = to_standard(2.5, [0.1, 0.0, 0.0], np.diag([0.1, 0.25, 0.28]))
    names = {name: None for name in LinkCheck.__dataclass_fields__}
    made = LinkCheck(**{**names, "parameters": before, "repaired": after})
    assert made.change == pytest.approx(0.05) and made.mass_change == pytest.approx(0.5) and made.changed
    assert not LinkCheck(**{**names, "parameters": before, "repaired": before}).changed


def test_constraints_move_the_nearest_feasible_point():
    robot = casid.load_robot("spatial_2r")
    base = Model(robot).base
    beta = base.K @ np.tile(to_standard(2.0, [0.2, 0.0, 0.1], np.diag([0.2, 0.3, 0.4])), 2)
    assert nearest_feasible(robot, base.K, beta).distance < 1e-6
    bounded = nearest_feasible(robot, base.K, beta, constraints=lambda v: total_mass(v, 0.0, 0.5))
    assert bounded.distance > 0.05


def test_forms_have_a_value_for_each_row():
    forms = np.ones((3, 2))
    made = _LinearForms.of(forms, np.ones(3), ["a", "b"], ["a"], {"b": (-np.inf, np.inf)})
    assert (made.kept, made.free) == (("a",), ("b",)) and made.matrix.shape == made.freedom.shape == (3, 1)
