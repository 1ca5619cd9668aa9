"""Distances of segments, clearance of capsules, capsules fitted to points and robot files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import Capsule, Robot
from casid.errors import ProblemError, RobotError
from casid.excitation import CollisionConstraint, certify_clearance, fit_capsules
from casid.excitation.limits._collision import segment_distance
from casid.motion import Fourier, Trajectory

X, Y, Z, ORIGIN = np.eye(3)[0], np.eye(3)[1], np.eye(3)[2], np.zeros(3)


DEGENERATE = {
    "points": (ORIGIN, ORIGIN, X, X, 1.0),
    "point on segment": (ORIGIN, ORIGIN, -X, X, 0.0),
    "point beside segment": (Y, Y, -X, X, 1.0),
    "point beyond end": (2 * X + Y, 2 * X + Y, -X, X, np.sqrt(2)),
    "parallel, side by side": (ORIGIN, X, Y, X + Y, 1.0),
    "parallel, overlapping in part": (ORIGIN, X, 0.5 * X + Y, 3 * X + Y, 1.0),
    "parallel, apart": (ORIGIN, X, 2 * X + Y, 3 * X + Y, np.sqrt(2)),
    "antiparallel": (ORIGIN, X, X + Z, Z, 1.0),
    "collinear, apart": (ORIGIN, X, 3 * X, 5 * X, 2.0),
    "collinear, overlapping": (ORIGIN, 2 * X, X, 5 * X, 0.0),
    "the same": (ORIGIN, X, ORIGIN, X, 0.0),
    "crossing": (-X, X, -Y, Y, 0.0),
    "crossing above": (-X, X, Z - Y, Z + Y, 1.0),
    "T": (-X, X, Y, 3 * Y, 1.0),
    "sharing an end": (ORIGIN, X, X, X + Y, 0.0),
    "nearly parallel": (ORIGIN, X, 1e-9 * Y + 0.1 * Z, X + 2e-9 * Y + 0.1 * Z, 0.1),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_segments(case: str) -> None:
    p0, p1, q0, q1, expected = DEGENERATE[case]
    for a, b in (((p0, p1), (q0, q1)), ((p1, p0), (q0, q1)), ((q0, q1), (p1, p0))):
        distance, s, t = segment_distance(a[0], a[1], b[0], b[1])
        assert distance == pytest.approx(expected, abs=1e-12)
        apart = a[0] + s * (a[1] - a[0]) - b[0] - t * (b[1] - b[0])
        assert np.linalg.norm(apart) == pytest.approx(expected, abs=1e-12)


def test_clearance_is_that_of_points_on_the_capsules(random_motion, panda: Robot) -> None:
    """Against the smallest distance of points sampled on both segments, placed by the model's forward kinematics."""
    constraint = CollisionConstraint(panda)
    motion = random_motion(count=3)
    values = constraint.values(motion)
    placements = casid.Model(panda).forward_kinematics
    share = np.linspace(0, 1, 400)
    for sample in range(3):
        frames = [np.eye(4), *(np.array(T) for T in placements(motion.q[sample]))]
        for k, (a, b) in enumerate(constraint.pairs):
            points = []
            for capsule in (a, b):
                line = capsule.start[:, None] + share * (capsule.end - capsule.start)[:, None]
                T = frames[capsule.joint + 1]
                points.append(T[:3, :3] @ line + T[:3, 3:])
            distance = np.linalg.norm(points[0][:, :, None] - points[1][:, None, :], axis=0).min()
            assert values[k, sample] == pytest.approx(distance - a.radius - b.radius, abs=1e-4)


def test_certified_clearance_is_tight_and_never_too_large(panda: Robot) -> None:
    basis = Fourier(0.5, 3)
    rng = np.random.default_rng(2)
    trajectory = Trajectory(basis, np.array([0.3 * basis.random(rng) for _ in range(7)]))
    constraint = CollisionConstraint(panda)
    fine = constraint.values(trajectory.motion(np.linspace(*basis.span, 20001))).min(axis=1)
    for check, least in zip(certify_clearance(trajectory, constraint), fine, strict=True):
        assert least - 2e-3 - 0.11 * max(0.0, least) <= check.clearance <= least + 1e-9


def test_what_cannot_be_avoided_is_refused(panda: Robot) -> None:
    with pytest.raises(ProblemError, match="obstacle 'collar' touches 'link1'"):
        CollisionConstraint(panda, (Capsule("collar", -1, ORIGIN, Z, 0.3),))
    with pytest.raises(ProblemError, match="has no capsules"):
        CollisionConstraint(replace(panda, capsules=()))
    with pytest.raises(ProblemError, match="must be fixed to the base"):
        CollisionConstraint(panda, (Capsule("loose", 2, ORIGIN, Z, 0.3),))
    assert CollisionConstraint(panda).touching == ("link5 - link7",)


# ---------------------------------------------------------------------- capsules fitted to points and files


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
