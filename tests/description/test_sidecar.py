"""Sidecar files: what the format of a robot file cannot hold."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import convert, load_description, load_robot
from casid.description._sidecar import SUFFIX, fixed_name, lost, words
from casid.description.formats import Toml, Urdf
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


def test_a_sidecar_holds_what_the_format_cannot(arm: Path) -> None:
    description = load_description(arm)
    assert lost(description, Toml()) == {}
    tables = lost(description, Urdf())
    assert len(words(tables)) == len([line for line in words(tables) if line])
    assert SUFFIX.endswith(".toml") and fixed_name("tool") != "tool"
