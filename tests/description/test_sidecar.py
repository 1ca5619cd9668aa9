"""Sidecar files: what the format of a robot file cannot hold."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import convert, load_description, load_robot
from casid.errors import InertiaWarning, RobotError


def test_a_coupled_transmission_goes_to_the_sidecar_and_is_named(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)
        done = convert("wam7", tmp_path / "wam.urdf")
        assert "the transmission matrix (coupled drive trains)" in done.sidecar
        back, ours = load_robot(tmp_path / "wam.urdf"), load_robot("wam7")
    assert back.transmission is not None and ours.transmission is not None
    np.testing.assert_array_equal(back.transmission, ours.transmission)


def test_an_unknown_suffix_and_a_broken_sidecar_are_named(arm: Path) -> None:
    with pytest.raises(RobotError, match="is no robot file: known are TOML"):
        convert(arm, arm.parent / "arm.step")
    (arm.parent / "arm.urdf.casid.toml").write_text("schema = 1\n[joint]\nelbow = { limits = { jerk = 1 } }\n")
    with pytest.raises(RobotError, match=r"arm.urdf.casid.toml: joint 'elbow': the robot has no such joint"):
        load_robot(arm)


@pytest.mark.claim("a sidecar whose tables are no tables is refused by the name of its key")
@pytest.mark.parametrize(
    "text",
    ['joint = "x"', "[joint]\nj = 1", "[joint]\nschema = 1", "order = 1", "order = [1]", 'source = "x"', "bounds = 1",
     "[bounds]\nlink = 1"],
)  # fmt: skip
def test_keys_of_another_type_are_refused(tmp_path, text):
    path = tmp_path / "arm.toml"
    casid.description.convert("spatial_2r", tmp_path / "arm.urdf")
    path = tmp_path / "arm.urdf"
    (tmp_path / "arm.urdf.casid.toml").write_text(f"schema = 1\n{text}\n")
    with pytest.raises(casid.CasidError, match=f"key '{text.split()[0].strip('[]')}'"):
        casid.load_robot(path)


@pytest.mark.parametrize("suffix", [".xml", ".sdf"])
def test_a_base_called_world_makes_way_where_the_name_is_taken(tmp_path: Path, suffix: str) -> None:
    text = """schema = 1
        name = "m"
        convention = "placement"
        base = { name = "world", mass = 2, com = [0, 0, 0], inertia_com = [1, 0, 0, 1, 0, 1] }
        [[joint]]
        type = "revolute"
        [[frame]]
        name = "desk"
        link = "world"
        xyz = [1, 2, 3]"""
    (tmp_path / "m.toml").write_text(text)
    done = convert(tmp_path / "m.toml", tmp_path / f"m{suffix}")
    assert any("'world' is now called 'world_link'" in note for note in done.notes)
    back = load_description(tmp_path / f"m{suffix}")
    assert back.base.name == "world_link" and back.base.inertial is not None and back.base.inertial.mass == 2
    np.testing.assert_array_equal(back.robot().frame("desk").placement[:3, 3], [1, 2, 3])


@pytest.mark.claim("a moving link called world is written under another name: MuJoCo refuses a second world")
@pytest.mark.parametrize("suffix", [".xml", ".sdf"])
def test_a_moving_link_called_world_makes_way(tmp_path: Path, suffix: str) -> None:
    body = "link = { name = 'world', mass = 2, com = [0, 0, 1], inertia_com = [1, 0, 0, 1, 0, 1] }"
    joints = f"joint = [{{ type = 'revolute', {body} }}, {{ type = 'revolute', parent = 'world' }}]"
    (tmp_path / "m.toml").write_text(f"schema = 1\nname = 'm'\nconvention = 'placement'\nbase = 'root'\n{joints}")
    done = convert(tmp_path / "m.toml", tmp_path / f"m{suffix}")
    assert any("'world' is now called 'world_link'" in note for note in done.notes)
    back = load_description(tmp_path / f"m{suffix}")
    first, second = back.joints
    assert first.link.name == second.parent == "world_link" and back.base.name == "root"
    assert first.link.inertial is not None and first.link.inertial.mass == 2
