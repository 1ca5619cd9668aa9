"""Placements of frames: exact quarter turns, rotations as angles and quaternions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from casid.description import modified_dh, rotation_x, rotation_z
from casid.description._placement import (
    cos_sin,
    quaternion_of,
    rotation_about,
    rotation_of_quaternion,
    rotation_rpy,
    rotation_y,
    rpy_of,
    standard_dh,
    unit_axis,
)
from tests.description.conftest import rpy_matrix


@pytest.mark.parametrize("angles", [(0.3, -1.2, 2.9), (1.0, math.pi / 2, 0.0), (0.2, 1.5708, -0.7), (0, -1.5707, 3.1)])
def test_rotations_survive_as_angles_and_as_quaternions(angles: tuple[float, float, float]) -> None:
    R = rotation_rpy(angles, 0.0)
    np.testing.assert_allclose(rotation_rpy(rpy_of(R), 0.0), R, atol=1e-13)
    np.testing.assert_allclose(rotation_of_quaternion(quaternion_of(R)), R, atol=1e-13)
    assert rpy_of(rotation_rpy(rpy_of(R), 0.0)) == rpy_of(R)
    assert quaternion_of(rotation_of_quaternion(quaternion_of(R))) == quaternion_of(R)


@pytest.mark.parametrize("turns", range(-9, 10))
def test_multiples_of_a_quarter_turn_are_exact(turns):
    exact = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[turns % 4]
    assert cos_sin(turns * 1.57079632679) == exact  # the digits that URDF files print
    assert cos_sin(math.radians(90 * turns)) == exact


def test_angles_beyond_the_tolerance_are_left_alone():
    angle = math.pi / 2 + 1e-8
    assert cos_sin(angle) == (math.cos(angle), math.sin(angle))
    assert cos_sin(1.5708)[0] != 0.0
    assert cos_sin(1.5708, tolerance=1e-5) == (0.0, 1.0)


def test_elementary_rotations_turn_the_right_way():
    x, y, z = np.eye(3)
    assert (rotation_x(math.pi / 2) @ y == z).all()
    assert (rotation_y(math.pi / 2) @ z == x).all()
    assert (rotation_z(math.pi / 2) @ x == y).all()


def test_rpy_is_roll_first_about_fixed_axes():
    angles = 0.3, -0.7, 1.9
    np.testing.assert_allclose(rotation_rpy(angles), rpy_matrix(*angles), atol=1e-15)


def test_rpy_of_quarter_turns_has_no_negative_zeros():
    rotation = rotation_rpy((-math.pi / 2, math.pi, math.pi / 2))
    assert set(np.abs(rotation).ravel()) == {0.0, 1.0}
    assert not np.signbit(rotation[rotation == 0.0]).any()


def test_modified_dh_is_craigs_matrix():
    a, alpha, d, theta = 0.3, 0.4, -0.2, 1.1
    ca, sa, ct, st = math.cos(alpha), math.sin(alpha), math.cos(theta), math.sin(theta)
    expected = [  # Craig, eq. 3.6
        [ct, -st, 0, a],
        [st * ca, ct * ca, -sa, -sa * d],
        [st * sa, ct * sa, ca, ca * d],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(modified_dh(a, alpha, d, theta), expected, atol=1e-15)


def test_standard_dh_is_pauls_matrix():
    a, alpha, d, theta = 0.3, 0.4, -0.2, 1.1
    ca, sa, ct, st = math.cos(alpha), math.sin(alpha), math.cos(theta), math.sin(theta)
    expected = [  # Paul, eq. 2.34
        [ct, -st * ca, st * sa, a * ct],
        [st, ct * ca, -ct * sa, a * st],
        [0, sa, ca, d],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(standard_dh(a, alpha, d, theta), expected, atol=1e-15)


def test_rotation_about_an_axis_agrees_with_elementary_ones():
    np.testing.assert_allclose(rotation_about([0, 0, 1], 0.7), rotation_z(0.7), atol=1e-15)
    axis = np.array([1.0, -2.0, 0.5]) / math.sqrt(5.25)
    rotation = rotation_about(axis, 0.7)
    np.testing.assert_allclose(rotation @ axis, axis, atol=1e-15)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-15)
    assert np.trace(rotation) == pytest.approx(1 + 2 * math.cos(0.7), abs=1e-15)


def test_axes_are_normalised_and_snapped():
    assert unit_axis([0, 0, -3]).tolist() == [0.0, 0.0, -1.0]
    assert unit_axis([4.9e-12, 1.0, 0.0]).tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(unit_axis([3, 0, 4]), [0.6, 0, 0.8], atol=1e-16)


@pytest.mark.parametrize("axis", [[0, 0, 0], [math.nan, 0, 1], [math.inf, 0, 0]])
def test_an_axis_needs_a_direction(axis):
    with pytest.raises(ValueError, match="an axis needs a direction"):
        unit_axis(axis)
