"""Plausible bodies that follow the shapes of links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.identification._bounds import GROWTH, shaped_bodies
from casid.inertia import consistency, from_standard
from casid.retrieval.plausible import plausible_bodies
from tests.description.test_volumes import URDF


def bodies(tmp_path: Path, text: str = URDF):
    path = tmp_path / "two.urdf"
    path.write_text(text)
    robot = casid.load_robot(path)
    return robot, plausible_bodies(robot)


@pytest.mark.claim("links without inertial values have masses in the proportions of their shapes in the robot's file")
def test_masses_follow_the_volumes(tmp_path: Path) -> None:
    robot, plain = bodies(tmp_path)
    made = shaped_bodies(robot, plain)
    assert made.origins == ("shape", "shape", "skeleton") and made.boxes.all() and not made.weighed
    tens, before = made.parameters.reshape(-1, 10), plain.parameters.reshape(-1, 10)
    ball = 4 / 3 * np.pi * 1e-3
    assert tens[1, 9] / tens[0, 9] == pytest.approx(((0.006 + ball) / 0.006) ** GROWTH, rel=0.02)
    mass, com, inertia = from_standard(tens[0])
    np.testing.assert_allclose(com, [0.3, 0.0, 0.0], atol=1e-12)
    assert inertia[0, 0] == pytest.approx(mass * (0.01 + 0.01) / 12, rel=1e-9)
    assert all(consistency(ten).full for ten in tens)
    factor = np.sqrt(np.prod(tens[:2, 9] / before[:2, 9]))  # median of two logarithms
    np.testing.assert_allclose(tens[2], factor * before[2], rtol=1e-9)


def test_few_shapes_or_known_masses_change_nothing(tmp_path: Path) -> None:
    robot, plain = bodies(tmp_path, URDF.replace('<sphere radius="0.1"/>', '<sphere radius="0"/>').replace(
        '<box size="0.1 0.2 0.3"/>', '<box size="0 0 0"/>'))  # fmt: skip
    assert shaped_bodies(robot, plain) is plain  # one link of three
    robot, plain = bodies(tmp_path)
    weighed = plain.weighing(5.0)
    assert shaped_bodies(robot, weighed) is weighed
    described = casid.load_robot("kuka_iiwa")
    given = plausible_bodies(described)
    assert shaped_bodies(described, given) is given
