"""Files of robots in four formats: what is written reads back, edits keep the rest, refusals name their reason."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import convert, load_robot, write_robot
from casid.description._document import Description
from casid.description._load import load_description
from casid.description._placement import quaternion_of, rotation_of_quaternion, rotation_rpy, rpy_of
from casid.description._write import write_description
from casid.errors import InertiaWarning, RobotError, RobotWarning
from casid.inertia import Parameters, consistency

FORMATS = (".toml", ".urdf", ".xml", ".sdf")

URDF = """<?xml version="1.0"?>
<!-- a comment before -->
<robot name="arm">
  <link name="base"><inertial><mass value="4"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="upper">
    <!-- from CAD -->
    <visual><geometry><mesh filename="package://arm/upper.stl"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 1.1"/>
      <mass value="2.5"/>
      <inertia ixx="0.11" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0.005" izz="0.09"/>
    </inertial>
  </link>
  <link name="tool"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.001"/></inertial></link>
  <link name="finger1"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <link name="finger2"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.333" rpy="0.1 0.2 -2.9"/><parent link="base"/><child link="upper"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-2.1" upper="2.2" effort="80" velocity="2.175"/>
    <dynamics damping="0.7" friction="0.2"/>
  </joint>
  <joint name="weld" type="fixed"><origin xyz="0.4 0 0" rpy="0 1.5707963267948966 0"/><parent link="upper"/>
    <child link="tool"/></joint>
  <joint name="slide" type="prismatic"><origin xyz="0.05 0 0"/><parent link="tool"/><child link="finger1"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/></joint>
  <joint name="slide2" type="prismatic"><origin xyz="0.05 0 0"/><parent link="tool"/><child link="finger2"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
    <mimic joint="slide" multiplier="0.5" offset="0.01"/></joint>
</robot>
<!-- a comment behind -->
"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


def differences(a: Description, b: Description) -> list[str]:
    """Names of what is not the same in two descriptions, to 1e-12."""
    found = [] if [link.name for link in a.links] == [link.name for link in b.links] else ["links"]
    for one, two in zip(a.links, b.links, strict=True):
        if (one.inertial is None) != (two.inertial is None):
            found.append(one.name)
        elif one.inertial is not None and two.inertial is not None:
            ours, theirs = one.inertial.standard_parameters(), two.inertial.standard_parameters()
            if np.abs(ours - theirs).max() > 1e-12 * np.abs(ours).max():
                found.append(one.name)
    for one, two in zip(a.joints, b.joints, strict=True):
        same = (one.name, one.type, one.parent, one.mimic, dict(one.terms)) == (
            two.name, two.type, two.parent, two.mimic, dict(two.terms),
        )  # fmt: skip
        close = np.allclose(one.placement, two.placement, atol=1e-12, rtol=0)
        close &= np.allclose(one.link_placement, two.link_placement, atol=1e-12, rtol=0)
        close &= one.type == "fixed" or np.allclose(one.axis, two.axis, atol=1e-12, rtol=0)
        if not (same and close and one.limits == two.limits):
            found.append(one.name)
    return found


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_machine_reads_back_from_every_format_and_the_second_writing_repeats_the_first(
    arm: Path, tmp_path: Path, suffix: str
) -> None:
    given = replace(load_description(arm), format="", content=b"")
    target = tmp_path / "out" / f"arm{suffix}"
    target.parent.mkdir()
    write_description(given, target)
    first = {path.name: path.read_bytes() for path in target.parent.iterdir()}
    back = load_description(target)
    assert differences(given, back) == []
    write_description(replace(back, format="", content=b""), target)
    assert {path.name: path.read_bytes() for path in target.parent.iterdir()} == first


@pytest.mark.parametrize("suffix", FORMATS)
def test_dynamics_survive_every_format(arm: Path, tmp_path: Path, suffix: str) -> None:
    convert(arm, tmp_path / f"copy{suffix}")
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1, 1, (3, 2))
    torques = []
    for path in (arm, tmp_path / f"copy{suffix}"):
        robot = load_robot(path)
        torques.append(np.array(casid.Model(robot).inverse_dynamics(q, dq, ddq, robot.standard_parameters())))
    np.testing.assert_allclose(torques[0], torques[1], rtol=1e-12)


@pytest.mark.parametrize("robot", casid.robot_names())
@pytest.mark.parametrize("suffix", FORMATS)
def test_shipped_robots_keep_their_dynamics_in_every_format(robot: str, suffix: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # not the subject here
        ours = load_robot(robot)
        if any(link.inertial is None for link in ours.links):
            pytest.skip("has no nominal bodies")
        convert(robot, tmp_path / f"robot{suffix}")
        theirs = load_robot(tmp_path / f"robot{suffix}")
    assert ours.total_mass == theirs.total_mass
    assert len(ours.capsules) == len(theirs.capsules)
    for key in ("lower", "upper", "velocity", "acceleration", "jerk", "effort"):
        np.testing.assert_allclose(getattr(ours.limits, key), getattr(theirs.limits, key), rtol=1e-15)
    q, dq, ddq = np.random.default_rng(1).uniform(-1, 1, (3, ours.n))
    a, b = (np.array(casid.Model(r).inverse_dynamics(q, dq, ddq, r.standard_parameters())) for r in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * np.abs(a).max())


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


def test_a_fixed_link_heavier_than_the_whole_is_merged(arm: Path) -> None:
    robot = load_robot(arm)
    lighter = robot.standard_parameters().copy()
    lighter[:10] *= 0.1
    done = write_robot(robot.with_parameters(lighter), arm.parent / "new.urdf")
    assert done.notes == ("the mass of tool is now that of the moving link that carries it",)
    back = load_robot(arm.parent / "new.urdf")
    np.testing.assert_allclose(back.standard_parameters(), lighter, rtol=1e-12, atol=1e-15)
    assert consistency(lighter[:10]).full


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


def test_a_coupled_transmission_goes_to_the_sidecar_and_is_named(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)
        done = convert("wam7", tmp_path / "wam.urdf")
        assert "the transmission matrix (coupled drive trains)" in done.sidecar
        back, ours = load_robot(tmp_path / "wam.urdf"), load_robot("wam7")
    assert back.transmission is not None and ours.transmission is not None
    np.testing.assert_array_equal(back.transmission, ours.transmission)


@pytest.mark.parametrize("angles", [(0.3, -1.2, 2.9), (1.0, math.pi / 2, 0.0), (0.2, 1.5708, -0.7), (0, -1.5707, 3.1)])
def test_rotations_survive_as_angles_and_as_quaternions(angles: tuple[float, float, float]) -> None:
    R = rotation_rpy(angles, 0.0)
    np.testing.assert_allclose(rotation_rpy(rpy_of(R), 0.0), R, atol=1e-13)
    np.testing.assert_allclose(rotation_of_quaternion(quaternion_of(R)), R, atol=1e-13)
    assert rpy_of(rotation_rpy(rpy_of(R), 0.0)) == rpy_of(R)
    assert quaternion_of(rotation_of_quaternion(quaternion_of(R))) == quaternion_of(R)


@pytest.mark.claim("degrees and millimetres in robot files pass silently")
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            "mdh = { a = 0, alpha_deg = -1.5708, d = 0, theta_deg = 0 }",
            "-1.5708 degrees looks like an angle in rad",
        ),
        ("mdh = { a = 400, alpha_deg = -90, d = 0, theta_deg = 0 }", "400 m from its parent, which looks like millim"),
        ("mdh = [0, 0, 0, 0]\nlimits = { lower = -170, upper = 170 }", "170 rad looks like degrees"),
    ],
)
def test_slips_of_units_are_noticed(tmp_path: Path, row: str, words: str) -> None:
    head = 'schema = 1\nname = "x"\nconvention = "modified-dh"\n[[joint]]\ntype = "revolute"\n'
    (tmp_path / "x.toml").write_text(head + row + "\n", encoding="utf-8")
    with pytest.warns(RobotWarning, match=words):
        load_robot(tmp_path / "x.toml")


@pytest.mark.claim("an angle printed as 1.5708 passes silently")
def test_a_printed_pi_is_noticed(arm: Path) -> None:
    arm.write_text(URDF.replace('"0 1.5707963267948966 0"', '"0 1.5708 0"'), encoding="utf-8")
    (note,) = load_robot(arm).notes
    assert "joint 'weld', rpy: 1.5708 is 3.7e-06 rad from a multiple of pi/2" in note
    assert load_robot(arm, angle_tolerance=1e-5).notes == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.replace("</robot>", ""), "arm.urdf: not well-formed XML"),
        (lambda t: t.replace('<?xml version="1.0"?>', '<!DOCTYPE r [<!ENTITY a "b">]>'), "document type definition"),
        (lambda t: t.replace('"package://arm/upper.stl"', '"&lt;' + "x" * 20 + '"'), ""),
        (lambda t: "<a>" * 600, "nested more than 500 deep"),
        (lambda t: t.replace('mass value="2.5"', 'mass value="inf"'), "must be finite"),
        (lambda t: t.replace('type="revolute"', 'type="planar"'), "of type 'planar', which casid does not support"),
    ],
)
def test_bad_files_say_what_is_wrong(arm: Path, change: object, words: str) -> None:
    arm.write_text(change(URDF), encoding="utf-8")  # type: ignore[operator]
    if not words:
        assert load_robot(arm).n == 2
        return
    with pytest.raises(RobotError, match=words):
        load_robot(arm)


def test_names_that_are_no_identifiers_survive(arm: Path, tmp_path: Path) -> None:
    arm.write_text(URDF.replace('"upper"', '"upper &amp; &lt;arm&gt; &quot;1&quot;"'), encoding="utf-8")
    for suffix in FORMATS:
        convert(arm, tmp_path / f"odd{suffix}")
        assert 'upper & <arm> "1"' in [link.name for link in load_robot(tmp_path / f"odd{suffix}").links]


def test_an_unknown_suffix_and_a_broken_sidecar_are_named(arm: Path) -> None:
    with pytest.raises(RobotError, match="is no robot file: known are TOML"):
        convert(arm, arm.parent / "arm.step")
    (arm.parent / "arm.urdf.casid.toml").write_text("schema = 1\n[joint]\nelbow = { limits = { jerk = 1 } }\n")
    with pytest.raises(RobotError, match=r"arm.urdf.casid.toml: joint 'elbow': the robot has no such joint"):
        load_robot(arm)


def test_an_object_that_does_not_move_is_converted_but_is_no_robot(tmp_path: Path) -> None:
    body = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    (tmp_path / "cube.urdf").write_text(f'<robot name="cube"><link name="cube">{body}</link></robot>')
    for suffix in (".toml", ".xml", ".sdf"):
        convert(tmp_path / "cube.urdf", tmp_path / f"cube{suffix}")
        found = load_description(tmp_path / f"cube{suffix}")
        assert found.base.name == "cube" and found.base.inertial is not None and found.base.inertial.mass == 2
    with pytest.raises(RobotError, match="has no moving joint"):
        load_robot(tmp_path / "cube.xml")


def test_a_robot_whose_joints_follow_others_has_consistent_dynamics(arm: Path) -> None:
    robot = load_robot(arm)
    model = casid.Model(robot)
    rng = np.random.default_rng(3)
    q, dq, ddq = rng.uniform(-1, 1, (3, robot.n))
    pi = robot.standard_parameters()
    tau = model.inverse_dynamics(q, dq, ddq, pi)
    np.testing.assert_allclose(model.forward_dynamics(q, dq, tau, pi), ddq.reshape(-1, 1), rtol=1e-9)
    np.testing.assert_allclose(model.regressor(q, dq, ddq) @ pi, np.array(tau), rtol=1e-9)
    np.testing.assert_allclose(model.base_regressor(q, dq, ddq) @ model.base.values(pi), np.array(tau), rtol=1e-9)
    M = np.array(model.mass_matrix(q, pi))
    assert M.shape == (2, 2)
    energy = float(model.kinetic_energy(q, dq, pi))
    np.testing.assert_allclose(energy, dq @ M @ dq / 2, rtol=1e-12)
    step = 1e-7  # the frames' velocities follow from all joints
    moved = np.array(model.frame_placement("finger2")(q + step * dq)) - np.array(model.frame_placement("finger2")(q))
    jacobian = np.array(model.frame_jacobian("finger2")(q))
    np.testing.assert_allclose(jacobian[:3] @ dq, moved[:3, 3] / step, atol=1e-6)
