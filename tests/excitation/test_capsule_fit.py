"""Capsules fitted to points and robot files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.errors import RobotError
from casid.excitation import fit_capsules
from casid.excitation.limits._capsule_fit import fit_capsule
from casid.excitation.limits._collision import segment_distance


def test_a_fitted_capsule_holds_its_points_and_is_not_wasteful() -> None:
    rng = np.random.default_rng(3)
    axis = np.array([0.3, -0.2, 0.25])
    for length in (0.0, 1.0):
        along = rng.uniform(0, length, (3000, 1)) * axis
        sphere = rng.normal(size=(3000, 3))
        points = along + 0.07 * sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
        start, end, radius = fit_capsule(points)
        distance, _, _ = segment_distance(start[:, None], end[:, None], points.T, points.T)
        assert distance.max() <= radius
        assert radius <= 0.07 * 1.02
        assert np.linalg.norm(end - start) <= length * np.linalg.norm(axis) + 0.01


def test_capsules_fitted_to_a_urdf_hold_its_boxes_and_cylinders(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text("""<robot name="arm">
      <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
      <link name="arm"><collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry>
      </collision></link>
      <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>""")
    robot = casid.load_robot(tmp_path / "arm.urdf")
    base, arm = fit_capsules(tmp_path / "arm.urdf", robot)
    assert (base.joint, arm.joint) == (-1, 0)
    rim = np.array([[0.05, 0, 0.4], [0, -0.05, 0.0]]).T
    distance, _, _ = segment_distance(arm.start[:, None], arm.end[:, None], rim, rim)
    assert (distance <= arm.radius).all()
    assert arm.radius <= 0.08
    (tmp_path / "mesh.urdf").write_text("""<robot name="arm"><link name="base"/>
      <link name="arm"><collision><geometry><mesh filename="package://nowhere/arm.stl"/></geometry></collision></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>""")
    with pytest.raises(RobotError, match=r"package://nowhere/arm.stl' not found"):
        fit_capsules(tmp_path / "mesh.urdf", casid.load_robot(tmp_path / "mesh.urdf"))


def test_the_pandas_capsules_hold_its_meshes() -> None:
    pytest.importorskip("trimesh", reason="needs the extra meshes")
    import importlib.metadata

    import trimesh

    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs example-robot-data")
    meshes = {
        Path(str(file)).name: str(file.locate()) for file in files if "panda_description/meshes/collision" in str(file)
    }
    robot = casid.load_robot("panda")
    names = ["link0", *(joint.link.name for joint in robot.joints)]
    for capsule in robot.capsules:
        mesh = trimesh.load(meshes[f"{names[capsule.joint + 1]}.stl"], force="mesh")
        points = np.asarray(mesh.vertices).T
        distance, _, _ = segment_distance(capsule.start[:, None], capsule.end[:, None], points, points)
        assert distance.max() <= capsule.radius, capsule.name
