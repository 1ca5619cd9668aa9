"""Shapes of links: found where they lie, placed on the link that moves, few enough triangles to draw."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import casid
from casid.description import Capsule, capsule_surface, triangles
from casid.description._solids import filled
from casid.errors import RobotError
from casid.report import shapes
from casid.report._shapes import shapes_found
from casid.report.viewer import Page, view

_URDF = """<robot name="arm">
<link name="base"><visual><origin xyz="0 0 0.05"/><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0.3 0 0"/><geometry>
<mesh filename="package://my_arm/ball.stl" scale="0.1 0.1 0.1"/></geometry></visual>
</link>
<joint name="flange_joint" type="fixed"><parent link="arm"/><child link="flange"/><origin xyz="0.5 0 0"/></joint>
<link name="flange"><visual><geometry><cylinder radius="0.02" length="0.04"/></geometry></visual></link></robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    (tmp_path / "robots").mkdir()
    (tmp_path / "packages" / "my_arm").mkdir(parents=True)
    path = tmp_path / "robots" / "arm.urdf"
    path.write_text(_URDF, encoding="utf-8")
    write_stl(tmp_path / "packages" / "my_arm" / "ball.stl", *fine_ball())
    return path


def fine_ball():
    """Of radius 1, 5,600 triangles."""
    vertices, faces = capsule_surface(1.0, 0.0)
    for _ in range(2):  # each triangle becomes four
        middles = [(vertices[faces[:, k]] + vertices[faces[:, (k + 1) % 3]]) / 2 for k in range(3)]
        corners = [vertices[faces[:, k]] for k in range(3)]
        parts = [np.stack([corners[k], middles[k], middles[k - 1]], axis=1) for k in range(3)]
        soup = np.concatenate([*parts, np.stack(middles, axis=1)]).reshape(-1, 3)
        vertices, faces = soup / np.linalg.norm(soup, axis=1, keepdims=True), np.arange(len(soup)).reshape(-1, 3)
    return vertices, faces


def write_stl(path: Path, vertices, faces) -> None:
    triangle = np.zeros(len(faces), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    triangle["corners"] = vertices[faces]
    path.write_bytes(b" " * 80 + len(faces).to_bytes(4, "little") + triangle.tobytes())


def test_shapes_stand_in_the_frame_of_the_link_that_moves(arm: Path) -> None:
    base, moving = shapes(casid.load_robot(arm), [arm.parents[1] / "packages"])
    assert (base.joint, moving.joint) == (-1, 0)
    assert np.allclose(base.vertices.min(0), [-0.1, -0.1, 0.0]) and np.allclose(base.vertices.max(0), [0.1, 0.1, 0.1])
    low, high = moving.vertices.min(0), moving.vertices.max(0)
    assert np.allclose(low, [0.2, -0.1, -0.1], atol=5e-3)  # the ball, scaled and placed
    assert high[0] == pytest.approx(0.52, abs=1e-6)  # the cylinder of the fixed flange moves with the arm
    assert moving.faces.max() < len(moving.vertices)


@pytest.mark.parametrize("package", ["fast_simplification", "trimesh"])
def test_a_fine_mesh_is_drawn_with_few_triangles(arm: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # either is an extra
    assert len(fine_ball()[1]) > 5000
    moving = shapes(casid.load_robot(arm), [arm.parents[1] / "packages"])[1]
    assert 300 < len(moving.faces) < 700
    distance = np.linalg.norm((moving.vertices - [0.3, 0.0, 0.0])[moving.vertices[:, 0] < 0.4 - 1e-9], axis=1)
    assert np.allclose(distance, 0.1, atol=0.01)


@pytest.mark.parametrize(
    ("geometry", "volume"),
    [
        ('<box size="0.2 0.3 0.5"/>', 0.03),
        ('<cylinder radius="0.2" length="0.5"/>', np.pi * 0.02),
        ('<sphere radius="0.2"/>', np.pi * 0.032 / 3),
    ],
)
def test_boxes_cylinders_and_balls_are_closed_and_face_outwards(geometry: str, volume: float) -> None:
    body = ElementTree.fromstring(f'<visual><origin xyz="1 2 3"/><geometry>{geometry}</geometry></visual>')
    found, centre, _ = filled(*triangles(body, "arm", None, (), "link"), signed=True)
    assert found == pytest.approx(volume, rel=0.03)
    assert np.allclose(centre, [1.0, 2.0, 3.0])


def test_collision_meshes_of_their_own_are_drawn_where_there_are_any(arm: Path) -> None:
    visual = '<mesh filename="package://my_arm/ball.stl" scale="0.1 0.1 0.1"/></geometry></visual>'
    collision = visual.replace("visual", "collision")
    fat = collision.replace("0.1 0.1 0.1", "0.2 0.2 0.2")
    packages = arm.parents[1] / "packages"
    write_stl(packages / "my_arm" / "coarse.stl", *capsule_surface(1.0, 0.0))
    for address, radius in (("ball.stl", 0.1), ("coarse.stl", 0.2), ("gone.stl", 0.1)):
        own = f"<collision><geometry>{fat.replace('ball.stl', address)}"
        arm.write_text(_URDF.replace("\n</link>", f"\n{own}\n</link>"), encoding="utf-8")
        vertices = shapes(casid.load_robot(arm), [packages])[1].vertices
        assert np.ptp(vertices[:, 2]) == pytest.approx(2 * radius, rel=0.02), address


def test_a_robot_whose_meshes_are_not_found_is_drawn_as_its_capsules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casid.report._shapes.found", lambda *_: None)
    robot = casid.load_robot("panda")
    assert [shape.joint for shape in shapes_found(robot)] == [-1, *range(7)]
    assert "Drawn with capsules: robot" in view("panda")
    ends = np.array([0.1, 0.2, -0.1]), np.array([0.3, -0.2, 0.1])
    (shape,) = shapes(replace(robot, origin=None, capsules=(Capsule("", 3, *ends, 0.05),)))
    along = (shape.vertices - ends[0]) @ (ends[1] - ends[0]) / ((ends[1] - ends[0]) ** 2).sum()
    nearest = ends[0] + np.clip(along, 0, 1)[:, None] * (ends[1] - ends[0])
    assert shape.joint == 3
    assert np.allclose(np.linalg.norm(shape.vertices - nearest, axis=1), 0.05)
    assert filled(shape.vertices, shape.faces, signed=True)[0] == pytest.approx(
        np.pi * (0.05**2 * np.linalg.norm(ends[1] - ends[0]) + 4 / 3 * 0.05**3), rel=0.03
    )


def test_a_mesh_that_is_not_found_is_an_error_or_no_shapes(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = casid.load_robot(arm)
    with pytest.raises(RobotError, match=r"link 'arm': mesh 'package://my_arm/ball.stl' not found"):
        shapes(robot)
    page = Page("arm")
    page.robot(robot)
    assert "shapes" not in page.robots["robot1"]
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(arm.parents[1] / "packages"))
    page.robot(robot)
    assert len(page.robots["robot2"]["shapes"]) == 2


def test_a_toml_robot_takes_the_shapes_of_a_urdf_that_moves_alike(arm: Path) -> None:
    text = f"""schema = 1
name = "mine"
convention = "placement"
[source]
shapes = "{arm.as_posix()}"
[[joint]]
name = "turn"
type = "revolute"
axis = [0.0, 0.0, 1.0]
xyz = [0.0, 0.0, HEIGHT]
[joint.link]
name = "other"
"""
    folders = [arm.parents[1] / "packages"]
    mine = arm.with_name("mine.toml")
    mine.write_text(text.replace("HEIGHT", "0.3"), encoding="utf-8")
    moving = shapes(casid.load_robot(mine), folders)[1]
    assert moving.vertices.max(0)[0] == pytest.approx(0.52, abs=1e-6)
    assert moving.vertices.mean(0)[2] == pytest.approx(-0.2, abs=0.01)  # its link frame is 0.2 m higher
    gripper = """<joint name="mount" type="fixed"><parent link="flange"/><child link="hand"/></joint>
<link name="hand"><visual><geometry><box size="2 2 2"/></geometry></visual></link>
<joint name="grip" type="prismatic"><parent link="hand"/><child link="finger"/><axis xyz="0 1 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint>
<link name="finger"><visual><geometry><box size="2 2 2"/></geometry></visual></link></robot>"""
    arm.write_text(_URDF.replace("</robot>", gripper), encoding="utf-8")
    without = shapes(casid.load_robot(mine), folders)[1]  # and without what carries only joints that it has not
    assert np.array_equal(np.ptp(without.vertices, axis=0)[2:], np.ptp(moving.vertices, axis=0)[2:])
    mine.write_text(text.replace("[0.0, 0.0, 1.0]", "[0.0, 1.0, 0.0]").replace("HEIGHT", "0.1"), encoding="utf-8")
    with pytest.raises(RobotError, match="move in other ways"):
        shapes(casid.load_robot(mine), folders)


def test_a_robot_of_no_file_has_none() -> None:
    assert shapes(casid.load_robot("spatial_2r")) == ()
