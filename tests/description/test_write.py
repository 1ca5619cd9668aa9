"""Writing robots: files edited in place, masses of fixed links restored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import convert, load_description, load_robot, write_description, write_robot
from casid.errors import RobotError
from casid.identification.repair import check_file
from casid.inertia import Parameters, consistency
from tests.description.conftest import URDF


def test_a_file_of_the_same_format_is_edited_in_place(arm: Path) -> None:
    robot = load_robot(arm)
    names = [*robot.parameter_names(), "fv1", "fc1", "Ia1"]
    values = [*(1.1 * robot.standard_parameters()), 0.9, 0.3, 0.05]
    done = write_robot(robot.with_parameters(Parameters(tuple(names), values)), arm.parent / "new.urdf")
    text = (arm.parent / "new.urdf").read_text(encoding="utf-8")
    for kept in (
        "<!-- a comment before -->",
        "<!-- from CAD -->",
        "package://arm/upper.stl",
        "<!-- a comment behind -->",
    ):
        assert kept in text
    assert 'damping="0.9" friction="0.3"' in text
    assert [line for line in text.splitlines() if "<joint" in line] == [
        line for line in URDF.splitlines() if "<joint" in line
    ]
    assert 'rpy="0 0 0"' in text
    assert done.sidecar == ("terms of joints: Ia",)  # a URDF has no rotor inertia
    back = load_robot(arm.parent / "new.urdf")
    np.testing.assert_allclose(back.standard_parameters(), 1.1 * robot.standard_parameters(), rtol=1e-12)
    assert dict(back.joints[0].terms) == {"fv": 0.9, "fc": 0.3, "Ia": 0.05}


def test_nothing_changes_in_a_file_where_nothing_has_changed(arm: Path) -> None:
    write_robot(load_robot(arm), arm.parent / "same.urdf")
    assert (arm.parent / "same.urdf").read_bytes() == arm.read_bytes()


def test_fixed_links_get_their_mass_back(arm: Path) -> None:
    robot = load_robot(arm)
    heavier = robot.standard_parameters().copy()
    heavier[9] += 0.25
    write_robot(robot.with_parameters(heavier), arm.parent / "new.urdf")
    links = {link.name: link.inertial for link in load_description(arm.parent / "new.urdf").links}
    assert links["tool"] is not None and links["upper"] is not None
    assert links["tool"].mass == 0.5
    assert links["upper"].mass == pytest.approx(2.75, rel=1e-14)


@pytest.mark.claim("what is fixed to a moving link, a locked joint's link too, keeps a mass in every written file")
@pytest.mark.parametrize("suffix", ["urdf", "xml", "sdf", "toml"])
def test_a_fixed_link_heavier_than_the_whole_gets_lighter(arm: Path, suffix: str) -> None:
    robot = load_robot(arm)
    lighter = robot.standard_parameters().copy()
    lighter[:10] *= 0.1
    done = write_robot(robot.with_parameters(lighter), arm.parent / f"new.{suffix}")
    assert any("the body of tool is" in note for note in done.notes)
    back = load_robot(arm.parent / f"new.{suffix}")
    np.testing.assert_allclose(back.standard_parameters(), lighter, rtol=1e-12, atol=1e-15)
    bodies = [link.inertial for link in load_description(arm.parent / f"new.{suffix}").links if link.name != "base"]
    assert len(bodies) == 4
    assert all(body is not None and consistency(body.standard_parameters()).full for body in bodies)


def test_a_locked_joint_stays_a_joint_of_the_file(arm: Path) -> None:
    robot = load_robot(arm, lock={"slide": 0.02})
    assert robot.n == 1
    write_robot(robot.with_parameters(1.2 * robot.standard_parameters()), arm.parent / "new.urdf")
    assert load_robot(arm.parent / "new.urdf").n == 2
    again = load_robot(arm.parent / "new.urdf", lock={"slide": 0.02})
    np.testing.assert_allclose(again.standard_parameters(), 1.2 * robot.standard_parameters(), rtol=1e-12)


@pytest.mark.parametrize("suffix", [".toml", ".xml", ".sdf"])
def test_other_formats_are_edited_in_place_too(arm: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"own{suffix}"
    convert(arm, path)
    mark = "# mine\n" if suffix == ".toml" else "<!-- mine -->\n"
    path.write_text(path.read_text(encoding="utf-8") + mark, encoding="utf-8")
    robot = load_robot(path)
    terms = {"fv1": 0.4, "fc1": 0.1}
    new = Parameters.of_links(1.3 * robot.standard_parameters(), terms=terms)
    write_robot(robot.with_parameters(new), path)
    assert path.read_text(encoding="utf-8").endswith(mark)
    back = load_robot(path)
    np.testing.assert_allclose(back.standard_parameters(), 1.3 * robot.standard_parameters(), rtol=1e-12)
    assert dict(back.joints[0].terms) == {"fv": 0.4, "fc": 0.1}


def test_an_object_that_does_not_move_is_converted_but_is_no_robot(tmp_path: Path) -> None:
    body = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    (tmp_path / "cube.urdf").write_text(f'<robot name="cube"><link name="cube">{body}</link></robot>')
    for suffix in (".toml", ".xml", ".sdf"):
        convert(tmp_path / "cube.urdf", tmp_path / f"cube{suffix}")
        found = load_description(tmp_path / f"cube{suffix}")
        assert found.base.name == "cube" and found.base.inertial is not None and found.base.inertial.mass == 2
    with pytest.raises(RobotError, match="has no moving joint"):
        load_robot(tmp_path / "cube.xml")


_URDF = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="{mass}"/>
<inertia ixx="0.1" iyy="0.1" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="c"/>
<joint name="j" type="{type}"><parent link="a"/><child link="b"/>{limit}</joint>
<joint name="{other}" type="fixed"><parent link="a"/><child link="c"/></joint></robot>"""
_GOOD = {"mass": "1", "izz": "0.1", "type": "continuous", "limit": "", "other": "k"}


@pytest.mark.claim("nothing is converted that casid would not load")
@pytest.mark.parametrize("suffix", [".xml", ".sdf", ".toml"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"other": "j"}, "two joints are named 'j'"),
        ({"type": "revolute", "limit": '<limit lower="1" upper="-1" effort="1" velocity="1"/>'}, "cross"),
        ({"type": "revolute", "limit": '<limit lower="-1" upper="1" effort="1" velocity="-2"/>'}, "cannot be negative"),
        ({"mass": "1e308", "izz": "1e308"}, "too large to compute with"),
    ],
)
def test_a_robot_that_does_not_load_is_not_converted(tmp_path, change, message, suffix):
    source, target = tmp_path / "a.urdf", tmp_path / f"b{suffix}"
    source.write_text(_URDF.format(**_GOOD | change))
    with pytest.raises(casid.CasidError, match=message):
        casid.description.convert(source, target)
    assert not target.exists()


@pytest.mark.claim("bodies that MuJoCo refuses are named when they are written to MJCF")
def test_bodies_that_mujoco_refuses_are_named(tmp_path):
    source = tmp_path / "a.urdf"
    source.write_text(_URDF.format(**_GOOD | {"izz": "9"}))
    with pytest.warns(casid.errors.InertiaWarning):
        casid.load_robot(source)
    (note,) = [n for n in casid.description.convert(source, tmp_path / "b.xml").notes if "MuJoCo refuses" in n]
    again = casid.description.convert(tmp_path / "b.xml", tmp_path / "c.xml")  # edited in place, not written anew
    assert note in again.notes
    assert "here b: casid check repairs them" in note
    source.write_text(_URDF.format(**_GOOD))
    assert not [n for n in casid.description.convert(source, tmp_path / "b.xml").notes if "MuJoCo refuses" in n]


@pytest.mark.claim("a byte order mark, as Notepad writes it, is no part of a robot file")
def test_a_byte_order_mark_is_skipped(tmp_path):
    for name in ("a.urdf", "b.xml"):
        text = _URDF.format(**_GOOD).encode()
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + b'<?xml version="1.0"?>\n' + text)
        assert casid.load_robot(tmp_path / name).n == 1


@pytest.mark.claim("a robot with another gravity than its file's is written with its own")
@pytest.mark.parametrize("suffix", [".toml", ".xml", ".urdf", ".sdf"])
def test_gravity_of_the_robot_is_written(suffix: str, tmp_path: Path) -> None:
    robot = replace(load_robot("panda"), gravity=np.array([0.0, 1.0, -9.81]))
    write_robot(robot, tmp_path / f"new{suffix}")
    again = load_robot(tmp_path / f"new{suffix}")
    np.testing.assert_array_equal(again.gravity, robot.gravity)
    done = write_robot(replace(again, gravity=np.array([0.0, 0.0, -1.62])), tmp_path / f"again{suffix}")  # same format
    assert ("without its comments" in " ".join(done.notes)) == (suffix in (".toml", ".xml"))
    np.testing.assert_array_equal(load_robot(tmp_path / f"again{suffix}").gravity, [0.0, 0.0, -1.62])


@pytest.mark.claim("bodies that were taken away stayed in the file")
@pytest.mark.parametrize("suffix", ["urdf", "toml", "xml", "sdf"])
def test_bodies_that_were_taken_away_leave_the_file(arm: Path, tmp_path: Path, suffix: str) -> None:
    write_description(load_description(arm), tmp_path / f"source.{suffix}")
    robot = load_robot(tmp_path / f"source.{suffix}")
    assert any(link.inertial is not None for link in robot.links)
    bare = replace(robot, joints=tuple(replace(j, link=replace(j.link, inertial=None)) for j in robot.joints))
    write_robot(bare, tmp_path / f"bare.{suffix}")
    again = load_robot(tmp_path / f"bare.{suffix}")
    assert [link.name for link in again.links] == [link.name for link in robot.links]
    assert all(link.inertial is None for link in again.links)


@pytest.mark.claim("links of one name are refused, not followed for ever")
def test_links_of_one_name_are_refused_where_bodies_are_gathered(tmp_path):
    body = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="{}" axis="0 0 1"/>'
    text = f"""<mujoco><worldbody><body name="a">{body.format("one")}<body name="b">{body.format("two")}
    <body name="b">{body.format("three")}</body></body></body></worldbody></mujoco>"""
    path = tmp_path / "loop.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RobotError, match="carried by two joints"):
        check_file(path)
