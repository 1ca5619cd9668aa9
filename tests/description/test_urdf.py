"""The URDF reader: all of origin, axis and inertial; fixed joints lumped; what casid cannot read refused by name."""

import math
import warnings
from importlib import metadata

import numpy as np
import pytest

from casid.description import Inertial, load_robot
from casid.description.formats import Changes, Urdf
from casid.errors import InertiaWarning, RobotError, RobotWarning

BODY = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name, content=""):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, kind="revolute", content=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{content}</joint>'


@pytest.fixture
def read(tmp_path):
    def read(*elements, **options):
        path = tmp_path / "arm.urdf"
        path.write_text('<?xml version="1.0"?><robot name="arm">' + "".join(elements) + "</robot>", encoding="utf-8")
        return load_robot(path, **options)

    return read


def test_origin_axis_and_limits(read):
    robot = read(
        link("base"),
        link("one", BODY),
        link("two", BODY),
        joint(
            "turn",
            "base",
            "one",
            content='<origin xyz="1 2 3" rpy="0 0 1.57079632679"/><axis xyz="0 0 -2"/>'
            '<limit lower="-1" upper="2" velocity="3" effort="4"/>',
        ),
        joint("slide", "one", "two", "prismatic", '<limit effort="5" velocity="6"/>'),
    )
    turn, slide = robot.joints
    assert turn.placement.tolist() == [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    assert turn.axis.tolist() == [0, 0, -1]
    assert slide.axis.tolist() == [1, 0, 0]  # URDF's default
    assert (slide.placement == np.eye(4)).all()
    assert [(j.type, j.parent) for j in robot.joints] == [("revolute", -1), ("prismatic", 0)]
    limits = robot.limits
    assert limits.lower.tolist() == [-1, -math.inf]
    assert limits.upper.tolist() == [2, math.inf]
    assert (limits.velocity.tolist(), limits.effort.tolist()) == ([3, 6], [4, 5])
    assert robot.gravity.tolist() == [0, 0, -9.80665]
    assert robot.name == "arm"


def test_inertia_is_rotated_into_the_link_frame(read):
    inertial = (
        '<inertial><origin xyz="0.1 0.2 0.3" rpy="0 0 1.57079632679"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/></inertial>'
    )
    body = read(link("base"), link("one", inertial), joint("j", "base", "one")).links[0].inertial
    assert (body.mass, body.com.tolist()) == (2, [0.1, 0.2, 0.3])
    # x' = y, y' = -x: Ixx' = Iyy, Ixy' = -Ixy, Ixz' = -Iyz, Iyz' = Ixz
    np.testing.assert_allclose(body.inertia_com, [[1.5, -0.1, -0.3], [-0.1, 1, 0.2], [-0.3, 0.2, 2]], atol=1e-16)


def test_links_without_inertials(read):
    robot = read(
        link("base"), link("one"), link("two"), link("tool", BODY),
        joint("a", "base", "one"), joint("b", "one", "two"), joint("c", "two", "tool", "fixed"),
    )  # fmt: skip
    assert robot.links[0].inertial is None
    assert robot.links[1].inertial.mass == 2  # of the tool
    with pytest.raises(RobotError, match=r"robot 'arm' gives no inertial values .* for link one;"):
        robot.standard_parameters()


ARM = (link("base"), link("one", BODY), link("two", BODY))
MIMIC = (
    *ARM, link("three"),
    joint("a", "base", "one"),
    joint("b", "one", "two", content='<origin xyz="0 0 1"/><axis xyz="0 1 0"/><mimic joint="a"/>'),
    joint("c", "two", "three", content='<mimic joint="a"/>'),
)  # fmt: skip


def test_mimic_joints_follow_and_can_be_locked(read):
    robot = read(*MIMIC)
    assert (robot.n, len(robot.joints), [joint.name for joint in robot.coordinates]) == (1, 3, ["a"])
    assert robot.coupling()[0].ravel().tolist() == [1, 1, 1]
    assert read(*MIMIC, lock=("b", "c")).n == 1
    robot = read(*MIMIC, lock={"b": math.pi / 2, "c": 0})
    frame = next(frame for frame in robot.frames if frame.name == "two")
    assert frame.placement.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 1], [0, 0, 0, 1]]


def test_joints_follow_a_locked_one_to_where_it_stands(read):
    extra = (link("four", BODY), joint("d", "three", "four"))
    scaled = [text.replace('<mimic joint="a"/>', '<mimic joint="a" multiplier="2" offset="0.5"/>') for text in MIMIC]
    robot = read(*scaled, *extra, lock={"a": 0.25})
    assert [joint.name for joint in robot.joints] == ["d"]
    frame = next(frame for frame in robot.frames if frame.name == "two")
    np.testing.assert_allclose(math.atan2(frame.placement[0, 2], frame.placement[0, 0]), 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("mimic", "words"),
    [
        ('<mimic joint="aa"/>', "joint 'b' mimics joint 'aa', which does not exist; did you mean 'a'"),
        ("<mimic/>", "joint 'b': <mimic> names no joint"),
        ('<mimic joint="c"/>', "mimic each other in a circle: "),
        ('<mimic joint="a" multiplier="nan"/>', "must be finite"),
    ],
)
def test_bad_mimic_joints(read, mimic, words):
    elements = list(MIMIC)
    elements[5] = elements[5].replace('<mimic joint="a"/>', mimic)
    elements[6] = elements[6].replace('<mimic joint="a"/>', '<mimic joint="b"/>')
    with pytest.raises(RobotError, match=words):
        read(*elements)


def test_a_floating_joint_can_be_locked_at_zero_only(read):
    elements = (*ARM, joint("root", "base", "one", "floating"), joint("b", "one", "two"))
    with pytest.raises(RobotError, match="joint 'root' is of type 'floating', which casid does not support"):
        read(*elements)
    assert [j.name for j in read(*elements, lock="root").joints] == ["b"]
    with pytest.raises(RobotError, match="joint 'root' of type 'floating' can only be locked at position 0, not 1"):
        read(*elements, lock={"root": 1.0})


def test_locking_what_is_not_there(read):
    with pytest.raises(RobotError, match=r"cannot lock joint 'elbw', .*did you mean 'elbow'"):
        read(*ARM, joint("a", "base", "one"), joint("elbow", "one", "two"), lock=["elbw"])
    with pytest.raises(RobotError, match="cannot lock joint 'a' at position nan"):
        read(*ARM, joint("a", "base", "one"), joint("b", "one", "two"), lock={"a": math.nan})


J = joint("j", "base", "one")
BAD = {
    "two bases": ((link("base"), link("one"), link("other"), J), "2 links are carried by no joint: base, other"),
    "whole loop": (
        (link("one"), link("two"), joint("a", "one", "two"), joint("b", "two", "one")),
        "arm.urdf: the joints form a loop that never reaches the base: a -> b -> a",
    ),
    "closed chain": (
        (*ARM, joint("a", "base", "one"), joint("b", "base", "two"), joint("c", "one", "two")),
        "link 'two' is carried by two joints, 'b' and 'c'; .*closed loop",
    ),
    "same link": ((link("base"), link("one"), link("one"), J), "two links are named 'one'"),
    "no name": (("<link/>",), "a <link> has no name"),
    "no joint": ((link("base"),), "robot 'arm' has no moving joint"),
    "nothing": ((), "there is no joint and no link"),
    "planar": ((*ARM, joint("j", "base", "one", "planar"), joint("k", "one", "two")), "joint 'j' is of type 'planar'"),
    "no inertia": (
        (link("base"), link("one", '<inertial><mass value="1"/></inertial>'), J),
        "link 'one': <inertial> has no <inertia>",
    ),
    "mass is text": ((link("base"), link("one", BODY.replace('"2"', '"two"')), J), 'value="two"> is not a number'),
    "short origin": (
        (link("base"), link("one"), joint("j", "base", "one", content='<origin xyz="0 1"/>')),
        "joint 'j': <origin xyz=\"0 1\"> must hold 3 numbers, got 2",
    ),
    "xacro": (
        ('<xacro:macro xmlns:xacro="http://www.ros.org/wiki/xacro" name="m"/>',),
        "contains <xacro:macro>; expand it first: xacro arm.urdf > robot.urdf",
    ),
    "too deep": (("<a>" * 600,), "nested more than 500 deep"),
    "broken": (("<link",), "arm.urdf: not well-formed XML"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, read):
    elements, words = BAD[case]
    with pytest.raises(RobotError, match=words) as caught:
        read(*elements)
    assert str(caught.value).startswith("arm.urdf")


def test_other_xml_is_refused(tmp_path):
    (tmp_path / "world.urdf").write_text("<sdf/>", encoding="utf-8")
    with pytest.raises(RobotError, match=r"world.urdf: not a URDF: its root element is <sdf>, expected <robot>"):
        load_robot(tmp_path / "world.urdf")


def test_inconsistent_links_warn_by_name(read):
    thin = BODY.replace('izz="1"', 'izz="3"')
    with pytest.warns(InertiaWarning, match=r"robot 'arm' \(arm.urdf\), link 'one': .*triangle inequality.* = -0.5 kg"):
        read(link("base"), link("one", thin), J)
    with pytest.warns(InertiaWarning, match="link 'tool': its mass is -1 kg"):
        read(
            link("base"), link("one", BODY), link("tool", BODY.replace('"2"', '"-1"')), J,
            joint("t", "one", "tool", "fixed"),
        )  # fmt: skip


def test_a_point_mass_fixed_to_a_link_is_no_reason_to_warn(read):
    point = BODY.replace('"1"', '"0"')
    robot = read(link("base"), link("one", BODY), link("tool", point), J, joint("t", "one", "tool", "fixed"))
    assert robot.links[0].inertial.mass == 4


def example(relative):
    """Pinocchio and a URDF of the example-robot-data package, which ships files only."""
    pinocchio = pytest.importorskip("pinocchio", reason="needs the extra peers")
    try:
        package = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        pytest.skip("needs the extra peers")
    return pinocchio, str(package.locate_file(f"cmeel.prefix/share/example-robot-data/robots/{relative}"))


@pytest.mark.parametrize(
    ("relative", "lock"),
    [
        ("tiago_description/robots/tiago_no_hand.urdf", ()),  # wheels, a torso that slides, many fixed sensors
        ("ur_description/urdf/ur5_robot.urdf", ()),
        ("kinova_description/robots/kinova.urdf", ()),
        ("talos_data/robots/talos_reduced.urdf", ()),  # a branched tree, fixed joints that claim to mimic
        ("baxter_description/urdf/baxter.urdf", "mimics"),
    ],
)
def test_lumping_and_kinematics_beside_pinocchio(relative, lock):
    pinocchio, path = example(relative)
    model = pinocchio.buildModelFromUrdf(path)
    if lock == "mimics":
        lock = [joint.name for joint in load_robot(path).joints if joint.mimic is not None]
        model = pinocchio.buildReducedModel(model, [model.getJointId(name) for name in lock], pinocchio.neutral(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # not the subject here
        robot = load_robot(path, lock=lock, angle_tolerance=0.0)  # as printed in the file, like Pinocchio
    assert robot.n == model.njoints - 1
    for k, joint in enumerate(robot.joints):
        index = model.getJointId(joint.name)
        parent = "universe" if joint.parent < 0 else robot.joints[joint.parent].name
        assert model.names[model.parents[index]] == parent
        np.testing.assert_allclose(joint.placement, model.jointPlacements[index].homogeneous, atol=1e-12)
        ours = robot.links[k].inertial
        theirs = model.inertias[index]
        if ours is None:
            assert theirs.mass == 0
            continue
        assert ours.mass == pytest.approx(theirs.mass, rel=1e-13)
        np.testing.assert_allclose(ours.com, theirs.lever, atol=1e-12)
        np.testing.assert_allclose(ours.inertia_com, theirs.inertia, atol=1e-12)
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, pinocchio.neutral(model))
    compared = 0
    for frame in robot.frames:
        if frame.joint >= 0:
            theirs = model.frames[model.getFrameId(frame.name, pinocchio.FrameType.BODY)]
            np.testing.assert_allclose(frame.placement, theirs.placement.homogeneous, atol=1e-12)
            compared += 1
    assert compared > 0


@pytest.mark.parametrize(("xyz", "good"), [("0.5, 0, -1", True), ("0.5,0,-1", True), ("0,5 0 -1", False)])
def test_commas_between_numbers_are_read_with_a_warning_and_decimal_commas_refused(read, xyz, good):
    elements = link("base"), link("one", BODY), joint("turn", "base", "one", content=f'<origin xyz="{xyz}"/>')
    if good:
        with pytest.warns(RobotWarning, match="joint 'turn'.*commas between its numbers"):
            robot = read(*elements)
        assert robot.joints[0].placement[:3, 3].tolist() == [0.5, 0, -1]
    else:
        with pytest.raises(RobotError, match="3 numbers separated by spaces"):
            read(*elements)


def test_an_edit_changes_one_inertial_in_its_own_indentation():
    content = b"""<robot name="arm">
   <link name="base"/>
   <link name="one">
      <inertial>
         <mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
      </inertial>
   </link>
   <joint name="turn" type="revolute"><parent link="base"/><child link="one"/></joint>
</robot>
"""
    body = Inertial(3.0, np.array([0.1, 0.0, 0.2]), np.diag([0.3, 0.4, 0.5]))
    made = Urdf().edit(content, Changes({"one": body, "base": body}), "arm.urdf").decode()
    assert '      <inertial>\n         <origin xyz="0.1 0 0.2" rpy="0 0 0"/>\n         <mass value="3"/>' in made
    assert made.count("<inertial>") == 2 and '   <link name="base">\n     <inertial>' in made
    assert made.endswith(content.decode().partition("</link>")[2])
    assert Urdf().edit(content, Changes({"one": None}), "arm.urdf").decode().count("inertial") == 0
