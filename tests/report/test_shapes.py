"""Shapes of links: found where they lie, placed on the link that moves, few enough triangles to draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.errors import RobotError
from casid.report import shapes
from casid.report.viewer import Page

trimesh = pytest.importorskip("trimesh", reason="needs the extra meshes")

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
    trimesh.creation.icosphere(4).export(tmp_path / "packages" / "my_arm" / "ball.stl")
    return path


def test_shapes_stand_in_the_frame_of_the_link_that_moves(arm: Path) -> None:
    base, moving = shapes(casid.load_robot(arm), [arm.parents[1] / "packages"])
    assert (base.joint, moving.joint) == (-1, 0)
    assert np.allclose(base.vertices.min(0), [-0.1, -0.1, 0.0]) and np.allclose(base.vertices.max(0), [0.1, 0.1, 0.1])
    low, high = moving.vertices.min(0), moving.vertices.max(0)
    assert np.allclose(low, [0.2, -0.1, -0.1], atol=5e-3)  # the ball, scaled and placed
    assert high[0] == pytest.approx(0.52, abs=1e-6)  # the cylinder of the fixed flange moves with the arm
    assert moving.faces.max() < len(moving.vertices)


def test_a_fine_mesh_is_drawn_with_few_triangles(arm: Path) -> None:
    assert len(trimesh.load(arm.parents[1] / "packages" / "my_arm" / "ball.stl").faces) > 5000
    moving = shapes(casid.load_robot(arm), [arm.parents[1] / "packages"])[1]
    assert len(moving.faces) < 700


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
    mine.write_text(text.replace("[0.0, 0.0, 1.0]", "[0.0, 1.0, 0.0]").replace("HEIGHT", "0.1"), encoding="utf-8")
    with pytest.raises(RobotError, match="move in other ways"):
        shapes(casid.load_robot(mine), folders)


def test_a_robot_of_no_file_has_none() -> None:
    assert shapes(casid.load_robot("spatial_2r")) == ()
