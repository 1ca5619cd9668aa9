"""The MJCF reader beside MuJoCo: defaults, angles, frames, geoms, several joints a body; refusals name the element."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import load_description, load_robot, write_description, write_robot
from casid.dynamics import Model
from casid.errors import RobotError
from casid.testing import MuJoCo
from tests.description.conftest import FILES


def test_all_of_a_rich_file_is_as_mujoco_reads_it() -> None:
    pytest.importorskip("mujoco", reason="needs the extra peers")
    path = FILES / "rich.xml"
    robot = load_robot(path)
    assert [joint.name for joint in robot.joints] == ["pan", "tilt", "slide", "l", "r"]
    assert robot.n == 4
    assert dict(robot.joints[1].terms) == {"fv": 2.0, "fc": 0.3, "Ia": 0.02}
    assert robot.limits.effort[0] == 15
    np.testing.assert_allclose([robot.limits.lower[0], robot.limits.upper[0]], np.radians([-90, 120]))
    engine = MuJoCo(path, robot)
    engine.without_joint_terms()
    ours = Model(robot)
    assert robot.links[0].weightless  # between the two joints of one body
    pi = np.concatenate([np.zeros(10) if b.inertial is None else b.inertial.standard_parameters() for b in robot.links])
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, dq, ddq = rng.uniform(-1, 1, (3, robot.n))
        np.testing.assert_allclose(
            np.array(ours.inverse_dynamics(q, dq, ddq, pi)).ravel(),
            engine.inverse_dynamics(q, dq, ddq),
            rtol=1e-9,
            atol=1e-10,
        )
        tip = np.array(ours.frame_placement("tip")(q))[:3, 3]
        np.testing.assert_allclose(tip, engine.frame_position("tip"), atol=1e-12)


BODY = '<body name="a"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="j"/>%s</body>'
CASES = {
    "<equality><connect name='loop' body1='a' anchor='0 0 0'/></equality>": "equality connect 'loop'",
    "<equality><weld body1='a'/></equality>": "equality weld",
    "<equality><joint name='hold' joint1='j'/></equality>": "which holds joint 'j'",
    "<deformable><flex name='cloth'/></deformable>": "flex 'cloth' (deformable)",
    "<tendon><fixed name='cable' stiffness='3'><joint joint='j' coef='1'/></fixed></tendon>": "tendon 'cable' with",
    "<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon><equality><tendon tendon1='t'/></equality>": (
        "equality tendon"
    ),
}


def _file(folder, inside, behind="", ahead=""):
    path = folder / "arm.xml"
    path.write_text(f"<mujoco>{ahead}<worldbody>{inside}</worldbody>{behind}</mujoco>", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("inside", "beside", "words"),
    [
        *(("", beside, f"arm.xml: .*{re.escape(words)}.*casid does not model") for beside, words in CASES.items()),
        *((f'<{m} name="x"/>', "", f"<{m}> 'x'") for m in ("flexcomp", "composite", "replicate", "attach")),
        ('<body><freejoint name="f"/><geom size="0.1"/></body>', "", "joint 'f' is of type 'floating'"),
        ('<body><joint name="b" type="ball"/><geom size="0.1"/></body>', "", "joint 'b' is of type 'ball'"),
        ('<body name="m"><joint/><geom type="mesh" mesh="x"/></body>', "", "body 'm': there is no mesh 'x'"),
        ('<body name="m"><joint class="none"/><geom size="1"/></body>', "", "there is no default class 'none'"),
        ('<body name="m" quat="0 0 0 0"><geom size="1"/></body>', "", "a quaternion needs a direction"),
    ],
)
def test_what_is_not_modelled_or_wrong_is_refused_by_name(tmp_path: Path, inside: str, beside: str, words: str) -> None:
    path = _file(tmp_path, BODY % inside, beside)
    with pytest.raises(RobotError, match=words):
        load_robot(path)


def test_tendons_that_only_hand_on_actuators_are_noted(tmp_path: Path) -> None:
    tendon = '<tendon><fixed name="split"><joint joint="j" coef="1"/></fixed></tendon>'
    (note,) = load_robot(_file(tmp_path, BODY % "", tendon)).notes
    assert note.startswith("tendon 'split' is not modelled")


_I = '<inertial pos="{} 0 0" mass="{}" diaginertia="1 1 1"/>'


@pytest.mark.claim("MJCF that MuJoCo refuses for an element too many is refused by name, not read in part")
@pytest.mark.parametrize(
    ("body", "beside", "words"),
    [
        ("<joint/>" + 2 * _I.format(0, 1), "", "body 'b' has more than one <inertial>"),
        ("<freejoint/><freejoint/>" + _I.format(0, 1), "", "body 'b' has other joints beside a free one"),
        ("<joint/><freejoint/>" + _I.format(0, 1), "", "body 'b' has other joints beside a free one"),
        ("<joint/>" + _I.format(0, 1), '<default><joint damping="1"/><joint/></default>', "'main' has 2 .* <joint>"),
        ("<joint/>" + _I.format(0, 1), "<option><flag/><flag/></option>", "option has 2 elements <flag>"),
        (
            "<joint/>" + _I.format(0, 1),
            '<default><default class="a"/><default class="a"/></default>',
            "of another: 'a'",
        ),
        ("<joint/>" + _I.format(0, 1), "<worldbody><joint/></worldbody>", "<worldbody> holds a joint or an <inertial>"),
        ("<joint/>" + _I.format(0, 1), f"<worldbody>{_I.format(0, 1)}</worldbody>", "<worldbody> holds a joint"),
    ],
)
def test_elements_too_many_are_refused(tmp_path: Path, body: str, beside: str, words: str) -> None:
    path = _file(tmp_path, f'<body name="b">{body}</body>', beside)
    with pytest.raises(RobotError, match=f"arm.xml: .*{words}"):
        load_description(path)
    mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.claim("a body whose <inertial> stands in a <frame> is written with its new values")
def test_a_body_given_in_a_frame_is_written_as_changed(tmp_path: Path) -> None:
    body = f'<body name="b"><joint/><frame pos="1 0 0">{_I.format(0.5, 1)}</frame></body>'
    robot = load_robot(_file(tmp_path, body, '<compiler angle="radian"/>', "<compiler/>"))
    write_robot(robot.with_parameters(2.0 * robot.standard_parameters()), tmp_path / "heavier.xml")
    written = load_robot(tmp_path / "heavier.xml").standard_parameters()
    np.testing.assert_allclose(written, 2.0 * robot.standard_parameters())


def test_included_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "inner.xml").write_text(f"<mujoco>{BODY % ''}</mujoco>", encoding="utf-8")
    path = _file(tmp_path, '<include file="inner.xml"/>')
    assert load_robot(path).links[0].name == "a"
    (tmp_path / "inner.xml").write_text('<mujoco><include file="inner.xml"/></mujoco>', encoding="utf-8")
    with pytest.raises(RobotError, match="include each other in a circle"):
        load_robot(path)


_BODY = '<inertial pos="0 0 0.1" mass="1" diaginertia=".1 .1 .1"/>'


@pytest.mark.claim("a body that never moves needs no mass: its meshes are no reason to refuse a file")
def test_a_mesh_on_a_welded_body_is_no_obstacle(tmp_path):
    mesh = '<asset><mesh name="m" file="x.stl"/></asset>'
    arm = f'<body name="b">{_BODY}<joint name="j"/></body>'
    inside = f'<body name="base" pos="0 0 1"><geom type="mesh" mesh="m"/>{arm}</body>'
    robot = casid.load_robot(_file(tmp_path, inside, ahead=mesh))
    assert robot.n == 1 and robot.links[0].inertial.mass == 1
    assert any("never moves" in note for note in robot.notes)
    with pytest.raises(casid.CasidError, match=r"mesh 'm' of body 'b'.*x\.stl"):
        moving = '<body name="b"><joint name="j"/><geom type="mesh" mesh="m"/></body>'
        casid.load_robot(_file(tmp_path, moving, ahead=mesh))


@pytest.mark.claim("several joints of one body are simulated and exported")
@pytest.mark.parametrize("suffix", [".xml", ".urdf", ".sdf", ".toml"])
def test_several_joints_of_one_body_have_nothing_between_them(tmp_path, suffix):
    joints = '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide"/><joint name="y" axis="0 1 0"/>'
    robot = casid.load_robot(_file(tmp_path, f'<body name="b">{joints}{_BODY}</body>'))
    mass = casid.Model(robot).mass_matrix([0.1, 0.2, 0.0], robot.standard_parameters())
    assert mass == pytest.approx(np.array([[1, 0, 0.1], [0, 1, 0], [0.1, 0, 0.11]]))
    target = tmp_path / f"written{suffix}"
    casid.description.write_robot(robot, target)
    again = casid.load_robot(target)
    assert casid.Model(again).mass_matrix([0.1, 0.2, 0.0], again.standard_parameters()) == pytest.approx(mass)


@pytest.mark.claim("missing sizes, empty attributes and negative coefficients are read or refused by name")
@pytest.mark.parametrize(
    ("joint", "more", "behind", "message"),
    [
        ("", '<geom type="capsule" fromto="0 0 0 0 0 1"/>', "", "needs 2 positive sizes"),
        ('damping="-5"', _BODY, "", "damping is -5; it must not be negative"),
        ('armature="-5"', _BODY, "", "armature is -5; it must not be negative"),
        ("", _BODY, '<actuator><motor joint="j" gear="" ctrlrange="-2 1"/></actuator>', None),
    ],
)
def test_odd_attributes(tmp_path, joint, more, behind, message):
    path = _file(tmp_path, f'<body name="b"><joint name="j" {joint}/>{more}</body>', behind)
    if message is None:
        assert casid.load_robot(path).limits.effort == pytest.approx(2)
        return
    with pytest.raises(casid.CasidError, match=message):
        casid.load_robot(path)


@pytest.mark.claim("a link whose body is not known stays so through MJCF")
def test_links_without_a_body_between_joints_of_one_body_stay_unknown(tmp_path):
    (tmp_path / "hip.urdf").write_text(
        '<robot name="hip"><link name="base"/><link name="between"/>'
        '<link name="leg"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
        '<joint name="yaw" type="continuous"><parent link="base"/><child link="between"/><axis xyz="0 0 1"/></joint>'
        '<joint name="roll" type="continuous"><parent link="between"/><child link="leg"/><axis xyz="1 0 0"/></joint>'
        "</robot>"
    )
    given = load_description(tmp_path / "hip.urdf")
    written = write_description(given, tmp_path / "hip.xml")
    back = load_description(tmp_path / "hip.xml")
    assert [joint.link.inertial is None for joint in back.joints] == [j.link.inertial is None for j in given.joints]
    assert [link.name for link in back.links] == [link.name for link in given.links]
    assert "bodies that are not known: between" in written.sidecar
    sidecar = tmp_path / "hip.xml.casid.toml"
    sidecar.write_text(sidecar.read_text().replace("inertial = false", "inertial = 3"))
    with pytest.raises(RobotError, match=r"joint 'yaw'.*key 'inertial': false"):
        load_description(tmp_path / "hip.xml")


_FINGERS = """
<body name="palm"><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/><joint name="wrist" axis="0 0 1"/>
 <body name="one" pos="0 0.1 0"><joint name="j1" axis="0 1 0" ref="10"/><geom type="box" size="0.1 0.02 0.03"/>
  <body name="two" pos="0.2 0 0"><joint name="j2" axis="0 1 0" stiffness="3" springref="20"/>
   <geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.02"/></body></body></body>"""
_TENDON = """<tendon><fixed name="t" stiffness="5" springlength="0.2"><joint joint="j1" coef="0.5"/>
<joint joint="j2" coef="-0.25"/></fixed></tendon><equality><tendon tendon1="t" polycoef="0.05"/></equality>"""


@pytest.mark.claim("a fixed tendon of two joints whose length is held couples them as in MuJoCo")
def test_a_held_tendon_couples_two_joints(tmp_path):
    path = _file(tmp_path, _FINGERS, _TENDON)
    robot = casid.load_robot(path)
    assert robot.n == 2 and [joint.name for joint in robot.joints if joint.mimic] == ["j2"]
    assert any("couples two joints" in note for note in robot.notes)
    rule = robot.joints[2].mimic
    mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
    engine = mujoco.MjModel.from_xml_path(str(path))
    state = mujoco.MjData(engine)
    state.qpos[:] = [0.3, 0.7, rule.multiplier * 0.7 + rule.offset]
    mujoco.mj_forward(engine, state)
    assert np.abs(state.efc_pos[0]) < 1e-14  # the equality holds there
    state.qpos[1] = 0.8
    mujoco.mj_forward(engine, state)
    assert np.abs(state.efc_pos[0]) > 1e-3


@pytest.mark.claim("springs that rest elsewhere than at 0 push as in MuJoCo")
def test_a_spring_at_rest_elsewhere_is_a_spring_and_an_offset(tmp_path):
    path = _file(tmp_path, _FINGERS)
    robot = casid.load_robot(path)
    terms = dict(robot.joints[2].terms)
    assert terms == {"ks": 3.0, "fo": pytest.approx(-3 * np.radians(20))}
    mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
    engine = mujoco.MjModel.from_xml_path(str(path))
    state = mujoco.MjData(engine)
    state.qpos[2] = 0.5
    mujoco.mj_forward(engine, state)
    assert -state.qfrc_passive[2] == pytest.approx(terms["ks"] * 0.5 + terms["fo"])


@pytest.mark.parametrize("new", [{"ks": 4.0, "fo": 0.7}, {"ks": 4.0}, {"fv": 1.0}])
def test_an_edited_spring_keeps_its_offset(tmp_path, new):
    robot = casid.load_robot(_file(tmp_path, _FINGERS))
    joints = tuple(replace(joint, terms=new) if joint.name == "j2" else joint for joint in robot.joints)
    changed = replace(robot, joints=joints)
    write_robot(changed, tmp_path / "changed.xml")
    again = casid.load_robot(tmp_path / "changed.xml")
    assert dict(again.joints[2].terms) == new


@pytest.mark.claim("settotalmass scales all bodies as in MuJoCo, and a file with it is written anew")
def test_a_total_mass_scales_all_bodies(tmp_path):
    path = _file(tmp_path, _FINGERS, ahead='<compiler settotalmass="7"/>')
    robot = casid.load_robot(path)
    masses = [link.inertial.mass for link in robot.links]
    assert sum(masses) == pytest.approx(7.0)
    mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
    engine = mujoco.MjModel.from_xml_path(str(path))
    np.testing.assert_allclose(masses, engine.body_mass[1:], rtol=1e-12)
    moments = [np.linalg.eigvalsh(link.inertial.inertia_com) for link in robot.links]
    np.testing.assert_allclose(moments, np.sort(engine.body_inertia[1:]), rtol=1e-9)
    heavier = robot.with_parameters(2 * np.concatenate([link.inertial.standard_parameters() for link in robot.links]))
    write_robot(heavier, tmp_path / "heavier.xml")
    again = casid.load_robot(tmp_path / "heavier.xml")
    np.testing.assert_allclose([link.inertial.mass for link in again.links], 2 * np.array(masses), rtol=1e-12)
    unknown = f'<body name="base"><geom type="mesh" mesh="none"/></body>{_FINGERS}'
    with pytest.raises(RobotError, match=r"settotalmass.*'base'"):
        casid.load_robot(_file(tmp_path, unknown, ahead='<compiler settotalmass="7"/>'))


@pytest.mark.claim("a file that switches gravity off has none")
def test_gravity_that_is_switched_off(tmp_path):
    path = _file(tmp_path, _FINGERS, ahead='<option gravity="0 0 -9"><flag gravity="disable"/></option>')
    assert not np.any(casid.load_robot(path).gravity)


@pytest.mark.claim("a file in which two shapes have one name is converted to one that MuJoCo loads")
def test_the_first_of_a_name_keeps_it(tmp_path):
    ball = '<geom name="ball" size="0.1"/>'
    body = f'<body name="b"><joint name="j"/>{ball}<camera name="ball"/>{ball}</body>'
    for count, inside in ((2, body + ball), (0, body.replace(ball, "", 1))):
        source = _file(tmp_path, inside)
        found = casid.description.convert(source, tmp_path / "again.xml")
        notes = [note for note in found.notes if "stands twice: only the first keeps it, of geom 'ball'" in note]
        text = (tmp_path / "again.xml").read_text()
        assert text == source.read_text().replace(ball, ball.replace(' name="ball"', "")).replace(
            "<geom size", '<geom name="ball" size', 1
        )
        assert len(notes) == bool(count) and text.count("<geom size") == count
        mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
        mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
