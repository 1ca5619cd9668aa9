"""The contract of file formats: descriptions prepared for what a format can hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from casid.description import load_description
from casid.description.formats import Changes
from casid.description.formats._contract import Reading, base_beside_world, frames_as_links, links_at_joints


def test_frames_become_links_without_mass(arm: Path) -> None:
    description = load_description(arm)
    made = frames_as_links(description)
    assert not made.frames and len(made.joints) == len(description.joints) + len(description.frames)


def test_links_at_their_joints_move_as_before(arm: Path) -> None:
    description = load_description(arm)
    made, notes = links_at_joints(description)
    assert notes == () and made.moving == description.moving  # a URDF's links are there already
    np.testing.assert_allclose(made.robot().standard_parameters(), description.robot().standard_parameters())


def test_a_base_called_world_makes_way(arm: Path) -> None:
    description = load_description(arm)
    same, notes = base_beside_world(description)
    assert same.base.name == description.base.name and notes == ()


def test_nothing_changes_by_default() -> None:
    assert Changes().inertials == {} and Reading("robot.urdf").folder is None
