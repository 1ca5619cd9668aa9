"""The catalogue of joint parameters, and files of robots that hold every symbol of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from casid.description import load_robot, write_robot
from casid.description.joint_parameters import JOINT_PARAMETERS, joint_parameter, symbol_and_joint
from casid.inertia import Parameters, read_parameters, write_parameters

SYMBOLS = [symbol if not entry.family else f"{symbol}2" for symbol, entry in JOINT_PARAMETERS.items()]


@pytest.fixture
def identified() -> Parameters:
    """Parameters of a robot with every term at every joint."""
    robot = load_robot("ur10e")
    terms = {f"{s}{k + 1}": 0.25 + i + 0.125 * k for i, s in enumerate(SYMBOLS) for k in range(robot.n)}
    return Parameters.of_links(robot.standard_parameters(), tuple(link.name for link in robot.links), terms)


@pytest.mark.claim("house c: every robot file that casid writes with joint terms is one that casid reads")
@pytest.mark.parametrize("suffix", [".toml", ".urdf", ".xml", ".sdf"])
@pytest.mark.parametrize("shipped", [True, False], ids=["edited", "new"])
def test_robots_with_every_symbol_survive_their_files(
    tmp_path: Path, identified: Parameters, suffix: str, shipped: bool
) -> None:
    robot = load_robot("ur10e").with_parameters(identified)
    path = tmp_path / f"robot{suffix}"
    written = write_robot(robot if shipped else replace(robot, origin=None), path)
    assert not any("left out" in note for note in written.notes)
    back = load_robot(path)
    for joint, again in zip(robot.joints, back.joints, strict=True):
        assert dict(again.terms) == dict(joint.terms) and set(joint.terms) == set(SYMBOLS)
    write_robot(back, path)  # and the file edited in place
    assert load_robot(path).parameters.to_dict() == back.parameters.to_dict()


@pytest.mark.claim("house c: every robot file that casid writes with joint terms is one that casid reads")
@pytest.mark.parametrize("name", ["parameters.csv", "parameters.json"])
def test_parameter_files_with_every_symbol_give_the_robot(tmp_path: Path, identified: Parameters, name: str) -> None:
    read = read_parameters(write_parameters(tmp_path / name, identified))
    robot = load_robot("ur10e").with_parameters(read)
    assert all(set(joint.terms) == set(SYMBOLS) for joint in robot.joints)
    assert robot.parameters.to_dict() == pytest.approx(identified.to_dict(), rel=1e-12)


@pytest.mark.parametrize("suffix", [".toml", ".urdf"])
def test_terms_without_an_entry_are_left_out_with_a_note(tmp_path: Path, suffix: str) -> None:
    robot = load_robot("panda")
    own = Parameters.of_links(robot.standard_parameters(), (), {"zz1": 1.0, "fv1": 0.5})
    path = tmp_path / f"robot{suffix}"
    written = write_robot(robot.with_parameters(own), path)
    assert any("zz" in note and "left out" in note for note in written.notes)
    assert dict(load_robot(path).joints[0].terms) == {"fv": 0.5}


def test_names_of_parameters_are_taken_apart() -> None:
    assert symbol_and_joint("fs7", 7) == ("fs", 6) and symbol_and_joint("fs8", 7) is None
    assert symbol_and_joint("f31", 7) == ("f3", 0) and symbol_and_joint("hs12", 7) == ("hs1", 1)
    assert symbol_and_joint("own3", 7) == ("own", 2) and symbol_and_joint("own", 7) is None
    assert joint_parameter("hs") is None and joint_parameter("hs3") is JOINT_PARAMETERS["hs"]
    assert joint_parameter("fv1") is None and joint_parameter("vf") is None


def test_entries_are_complete() -> None:
    for symbol, entry in JOINT_PARAMETERS.items():
        assert entry.symbol == symbol and entry.unit and entry.meaning
        assert not (entry.inertial and entry.dissipative) and (entry.dissipative or not entry.dry)
