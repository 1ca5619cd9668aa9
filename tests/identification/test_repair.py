"""Repair of unphysical files: the dynamics stay where a consistent set has them, else the nearest is proven nearest."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import Inertial, description_of, load_description, load_robot
from casid.dynamics import Model
from casid.identification.repair import FileCheck, check_file, nearest_feasible, repair
from casid.identification.repair._check import LinkCheck
from casid.identification.repair._repair import Body
from casid.inertia import consistency
from tests.helpers import run

ARM = """<robot name="arm">
  <!-- kept -->
  <link name="base"/>
  <link name="one"><inertial><origin xyz="0 0 0.1"/><mass value="1.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="%s"/></inertial></link>
  <link name="two"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="%s" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="tool"><inertial><mass value="0.2"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="%s"/></inertial></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
  <joint name="b" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="c" type="fixed"><parent link="two"/><child link="tool"/><origin xyz="0.2 0 0"/></joint>
</robot>
"""


def described(tmp_path: Path, izz: float = 0.01, ixx: float = 0.01, tool: float = 1e-3) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM % (izz, ixx, tool), encoding="utf-8")
    return path


def base_values(path: Path) -> np.ndarray:
    robot = load_robot(path)
    return np.asarray(casid.Model(robot).base.values(robot.standard_parameters()))


@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
@pytest.mark.parametrize("change", [{"izz": 0.05}, {"ixx": 0.03}, {"tool": 0.01}, {"izz": 0.05, "tool": 0.01}])
def test_the_dynamics_stay_where_a_consistent_set_has_them(tmp_path: Path, change: dict[str, float]) -> None:
    path = described(tmp_path, **change)
    result = check_file(path)
    assert len(result.unphysical) == len(change)
    assert result.repair is not None and result.repair.verdict == "virtually feasible"
    (tmp_path / result.repaired_name).write_bytes(result.repaired)
    np.testing.assert_allclose(base_values(tmp_path / result.repaired_name), base_values(path), rtol=1e-10, atol=1e-13)
    again = check_file(tmp_path / result.repaired_name)
    assert not again.unphysical
    assert b"<!-- kept -->" in result.repaired
    assert result.verdict.startswith("virtually feasible")


@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
def test_a_proven_distance_where_no_consistent_set_has_them(tmp_path: Path) -> None:
    path = described(tmp_path, tool=-0.2)  # the whole of link two turns backwards
    result = repair(load_description(path))
    assert result.verdict == "infeasible"
    assert all(consistency(ten).full for ten in result.repaired)
    assert 0.5 * result.base_change < result.proven_distance <= result.base_change * (1 + 1e-9)
    robot = load_robot(path)
    base = casid.Model(robot).base  # the same question to the certified program
    other = nearest_feasible(robot, base.K, base.values(robot.standard_parameters()))
    assert result.base_change == pytest.approx(other.distance, rel=0.05)  # an infimum: larger bodies come nearer


@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
def test_a_shifted_set_is_virtually_feasible() -> None:
    robot = load_robot("panda")
    base, given = casid.Model(robot).base, robot.standard_parameters()
    null = np.linalg.svd(base.K)[2][base.rank :]
    shifted = given + null.T @ (4.0 * np.random.default_rng(0).standard_normal(len(null)))
    wrong = sum(not consistency(ten).full for ten in shifted.reshape(-1, 10))
    assert wrong > 3
    result = repair(description_of(robot.with_parameters(shifted)))
    assert len(result.unphysical) == wrong
    assert result.verdict == "virtually feasible"
    assert result.relative_base_change < 1e-9
    np.testing.assert_allclose(base.values(result.repaired.ravel()), base.values(given), atol=1e-9)
    assert all(consistency(ten).full for ten in result.repaired)


def test_bodies_that_can_exist_are_left_alone_where_that_suffices(tmp_path: Path) -> None:
    result = repair(load_description(described(tmp_path, izz=0.05)))
    assert [result.bodies[k].link for k in result.changed] == ["one"]
    assert repair(load_description("kuka_iiwa")).verdict == "feasible"


def test_objects_and_bodies_of_nothing(tmp_path: Path) -> None:
    described(tmp_path)
    description = load_description(tmp_path / "arm.urdf")
    bad = Inertial(1.0, [0, 0, 0], np.diag([1.0, 1.0, 5.0]))
    alone = replace(description, joints=(), base=replace(description.base, inertial=bad))
    result = repair(alone)
    assert result.verdict == "virtually feasible" and consistency(result.repaired[0]).full
    assert result.repaired[0][9] == pytest.approx(1.0, rel=1e-6)
    point = Inertial(2.0, [0, 0, 0.1], np.zeros((3, 3)))
    assert consistency(repair(replace(alone, base=replace(alone.base, inertial=point))).repaired[0]).full


@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
def test_the_command_prints_the_verdict_and_writes_the_file(tmp_path: Path) -> None:
    """Of an arm with links of no mass, one that moves and one that is fixed."""
    path = described(tmp_path, izz=0.05)
    zeros = " ".join(f'{name}="0"' for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    nothing = f'<link name="%s"><inertial><mass value="0"/><inertia {zeros}/></inertial></link>'
    more = [nothing % "frame", '<joint name="d" type="continuous"><parent link="frame"/><child link="two"/></joint>']
    more += [nothing % "tip", '<joint name="e" type="fixed"><parent link="two"/><child link="tip"/></joint></robot>']
    text = path.read_text().replace('<child link="two"/><origin', '<child link="frame"/><origin')
    path.write_text(text.replace("</robot>", "".join(more)), encoding="utf-8")
    result = check_file(path)
    assert [link.name for link in result.unphysical] == ["one"] and result.massless == ("frame",)
    assert result.unphysical[0].state.triangle_margin == pytest.approx(-0.015)
    told = run("check", path, "--out", tmp_path / "out", code=1)
    assert "virtually feasible" in told and "1 of 3 links unphysical" in told
    repaired = tmp_path / "out" / "arm_repaired.urdf"
    run("check", repaired)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_robot(repaired).links[0].inertial.mass == 1.5


@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
def test_parameters_are_repaired_with_their_robot(tmp_path: Path) -> None:
    path = described(tmp_path, izz=0.05)
    robot = load_robot(path)
    rows = "".join(f"{n},{v!r}\n" for n, v in robot.parameters.to_dict().items())
    (tmp_path / "p.csv").write_text("parameter,value\n" + rows, encoding="utf-8")
    assert check_file(tmp_path / "p.csv").repair is None
    with_robot = check_file(tmp_path / "p.csv", robot)
    assert with_robot.repair is not None and with_robot.repair.verdict == "virtually feasible"
    assert "virtually feasible" in run("check", tmp_path / "p.csv", "--robot", path, code=1)


@pytest.mark.claim("'infeasible' is stated only where it is proven; else the verdict is 'marginal'")
def test_what_is_not_proven_is_marginal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("casid.identification.repair._repair")
    body = Body("one", np.ones(10), 0, np.eye(4))
    A, beta = np.eye(1, 10), np.array([1.0])
    moved = np.zeros((1, 10))
    for bound, verdict in ((0.9, "infeasible"), (0.4, "marginal"), (0.0, "marginal")):
        monkeypatch.setattr(module, "nearest_right_side", lambda *given, b=bound: (moved, b))
        found = module._nearest((body,), np.zeros((1, 10)), A, beta)
        assert found.verdict == verdict and found.proven_distance == (bound if verdict == "infeasible" else 0.0)
    link = LinkCheck("one", np.ones(10), np.ones(10), consistency(np.ones(10)))
    check = FileCheck((link,), (), "", b"", found)
    assert check.verdict.startswith("marginal: 1 of 1 bodies cannot exist, and consistent sets only approach")


@pytest.mark.filterwarnings("ignore::casid.errors.InertiaWarning")
@pytest.mark.claim("a file that includes others is checked, and its repair is written anew")
@pytest.mark.parametrize("how", ["include", "settotalmass"])
def test_what_cannot_be_edited_is_written_anew(tmp_path: Path, how: str) -> None:
    bad = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.03"/>'
    arm = f'<body name="a"><joint name="j"/>{bad}<body name="b" pos="0 0 1"><joint name="k"/>{bad}</body></body>'
    path = tmp_path / "arm.xml"
    if how == "include":
        (tmp_path / "inner.xml").write_text(f"<mujoco><worldbody>{arm}</worldbody></mujoco>", encoding="utf-8")
        path.write_text('<mujoco><include file="inner.xml"/></mujoco>', encoding="utf-8")
    else:
        path.write_text(f'<mujoco><compiler settotalmass="4"/><worldbody>{arm}</worldbody></mujoco>', encoding="utf-8")
    result = check_file(path)
    assert len(result.unphysical) == 2 and result.repaired_name == "arm_repaired.xml"
    (tmp_path / result.repaired_name).write_bytes(result.repaired)
    again = casid.load_robot(tmp_path / "arm_repaired.xml")
    assert all(consistency(link.inertial.standard_parameters()).full for link in again.links)
    given = casid.load_robot(path)
    assert given.links[0].inertial.mass == (1.0 if how == "include" else 2.0)
    old, new = (Model(robot).inverse_dynamics for robot in (given, again))
    state = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    torques = [np.array(f(*state, robot.standard_parameters())) for f, robot in ((old, given), (new, again))]
    np.testing.assert_allclose(*torques, atol=1e-6)
