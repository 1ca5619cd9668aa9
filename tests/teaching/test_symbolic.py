"""Equations with symbols: the textbook's for the planar arm, the numeric model's for any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description import Joint, Limits, Link, Mimic, Robot
from casid.errors import RobotError
from casid.inertia import to_standard
from casid.teaching import symbolic
from casid.testing import random_robot

sp = pytest.importorskip("sympy", reason="needs the extra teaching")


def planar_arm() -> Robot:
    elbow = np.eye(4)
    elbow[0, 3] = 0.5
    joints = (Joint("one", "revolute", -1, Link("link1")), Joint("two", "revolute", 0, Link("link2"), elbow))
    return Robot("planar", joints, gravity=np.array([0, -9.81, 0]))


def test_the_planar_arm_has_the_textbook_s_equations() -> None:
    """Siciliano et al., Robotics, 2009, Sec. 7.3.2, without motors; centres of mass on the links' axes."""
    found = symbolic(planar_arm(), barycentric=True)
    at = {s.name: s for s in found.tau.free_symbols}
    m1, m2, l1, c1, c2 = (at[name] for name in ("m_1", "m_2", "l_{1}", "c_{x1}", "c_{x2}"))
    I1, I2, g, q1, q2 = at["I_{zz1}"], at["I_{zz2}"], at["g"], *found.q
    on_axis = {at["c_{y1}"]: 0, at["c_{y2}"]: 0}
    m12, h = I2 + m2 * (c2**2 + l1 * c2 * sp.cos(q2)), -m2 * l1 * c2 * sp.sin(q2)
    m11 = I1 + m1 * c1**2 + I2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * sp.cos(q2))
    M = sp.Matrix([[m11, m12], [m12, I2 + m2 * c2**2]])
    C = sp.Matrix([[h * found.dq[1], h * (found.dq[0] + found.dq[1])], [-h * found.dq[0], 0]])
    turn = m2 * c2 * sp.cos(q1 + q2)
    gravity = g * sp.Matrix([(m1 * c1 + m2 * l1) * sp.cos(q1) + turn, turn])
    for mine, book in ((found.M, M), (found.C, C), (found.g, gravity)):
        assert sp.simplify(mine.subs(on_axis) - book) == sp.zeros(*book.shape)
    assert found.lengths == {l1: 0.5}
    assert sp.cos(q1 + q2) in found.g.atoms(sp.cos)


def test_base_parameters_are_those_of_the_numeric_model() -> None:
    robot = casid.load_robot("spatial_2r")
    found, base = symbolic(robot), casid.Model(robot, ()).base
    rows = sp.Matrix(found.base.subs(found.lengths)).jacobian(found.parameters)
    assert np.allclose(np.array(rows, dtype=float), base.K, atol=1e-9)
    assert str(found.base[0]) == "L_{yy1} + L_{yy2} - l_{2}**2*m_2"
    lines = found.latex().splitlines()
    assert lines[0] == r"\begin{align*}" and lines[-1] == r"\end{align*}"
    assert [line.split(" &= ")[0] for line in lines[1:-1]] == ["M", "C", "g", r"\beta"]
    assert all(line.endswith(r" \\") for line in lines[1:-2]) and not lines[-2].endswith(r" \\")


def test_joints_that_follow_others_are_refused() -> None:
    arm = planar_arm()
    follower = replace(arm.joints[1], mimic=Mimic(0))
    with pytest.raises(RobotError, match="follow others"):
        symbolic(replace(arm, joints=(arm.joints[0], follower), limits=Limits.unlimited(1)))
    with pytest.raises(RobotError, match=r"robot 'panda': 7 joints; .* lock some, load_robot"):
        symbolic(casid.load_robot("panda"))


def torques(found, robot: Robot, motion: np.ndarray, parameters: dict) -> np.ndarray:
    """Torques with numbers in place of all symbols."""
    values = dict(zip([*found.q, *found.dq, *found.ddq], motion.ravel(), strict=True)) | parameters | found.lengths
    values |= {s: np.linalg.norm(robot.gravity) for s in found.tau.free_symbols if s.name == "g"}
    return np.array(found.tau.subs(values), dtype=float).ravel()


def test_offsets_are_named_after_their_link_axis_and_branch_and_keep_their_sign() -> None:
    """Two arms on one base, the second of which slides: offsets of two components, of one, and a negative one."""
    places = [np.eye(4), np.eye(4), np.eye(4)]
    places[0][:3, 3], places[1][:3, 3], places[2][:3, 3] = (0.1, -0.2, 0.0), (0.0, 0.0, 0.3), (-0.4, 0.0, 0.0)
    up = np.array([0.0, 0.0, 1.0])
    joints = (
        Joint("a", "revolute", -1, Link("link1"), places[0]),
        Joint("b", "prismatic", -1, Link("link2"), places[1], axis=up),
        Joint("c", "revolute", 1, Link("link3"), places[2], axis=np.array([0.0, 1.0, 0.0])),
    )
    robot = Robot("pair", joints, gravity=np.array([0.0, 0.0, -9.81]))
    found = symbolic(robot)
    named = {symbol.name: value for symbol, value in found.lengths.items()}
    assert named == {"l_{0/1x}": 0.1, "l_{0/1y}": 0.2, "l_{0/2}": 0.3, "l_{2}": 0.4}
    rng = np.random.default_rng(4)
    motion, pi = rng.normal(size=(3, 3)), rng.normal(size=30)
    expected = np.array(casid.Model(robot, ()).inverse_dynamics(*motion, pi)).ravel()
    got = torques(found, robot, motion, dict(zip(found.parameters, pi, strict=True)))
    np.testing.assert_allclose(got, expected, atol=1e-9)
    still = symbolic(replace(robot, gravity=np.zeros(3)))
    assert still.g == sp.zeros(3, 1)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_offsets_that_are_rounding_of_the_robot_s_size_are_none(size: float) -> None:
    places = [np.eye(4), np.eye(4)]
    places[0][:3, 3], places[1][:3, 3] = (0.0, 1e-10 * size, size), (0.5 * size, 1e-13 * size, 0.0)
    joints = tuple(Joint(f"j{k}", "revolute", k - 1, Link(f"link{k}"), place) for k, place in enumerate(places))
    joints = tuple(replace(joint, axis=np.array([0.0, 0.0, 1.0])) for joint in joints)
    named = {symbol.name for symbol in symbolic(Robot("pair", joints, gravity=np.zeros(3))).lengths}
    assert named == {"l_{0y}", "l_{0z}", "l_{1}"}


def test_masses_centres_and_inertias_stand_for_the_standard_parameters() -> None:
    robot = random_robot(1, 2)
    found, rng = symbolic(robot, barycentric=True), np.random.default_rng(7)
    at = {s.name: s for s in found.parameters.free_symbols}
    parameters, pi = {}, []
    for k in (1, 2):
        mass, centre, A = rng.uniform(1, 3), rng.normal(size=3), rng.normal(size=(3, 3))
        inertia = A @ A.T
        pi += list(to_standard(mass, centre, inertia))
        parameters |= {at[f"m_{k}"]: mass} | {at[f"c_{{{a}{k}}}"]: c for a, c in zip("xyz", centre, strict=True)}
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            parameters[at[f"I_{{{'xyz'[i]}{'xyz'[j]}{k}}}"]] = inertia[i, j]
    motion = rng.normal(size=(3, 2))
    expected = np.array(casid.Model(robot, ()).inverse_dynamics(*motion, np.array(pi))).ravel()
    np.testing.assert_allclose(torques(found, robot, motion, parameters), expected, atol=1e-9)
    rate = sum((found.M.diff(q) * dq for q, dq in zip(found.q, found.dq, strict=True)), sp.zeros(2, 2))
    skew = rate - 2 * found.C
    values = dict(zip([*found.q, *found.dq], rng.normal(size=4), strict=True)) | parameters | found.lengths
    numeric = np.array((skew + skew.T).subs(values), dtype=float)
    np.testing.assert_allclose(numeric, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("angle", "exact"),
    [(np.pi / 6, True), (-np.pi / 4, True), (np.pi / 2, True), (0.3, False), (np.arctan2(3, 4), False)],
)
def test_numbers_that_are_roots_of_fractions_stay_exact(angle: float, exact: bool) -> None:
    arm = planar_arm()
    turned = np.eye(4)
    turned[:3, :3] = [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    turned[0, 3] = 0.5
    found = symbolic(replace(arm, joints=(arm.joints[0], replace(arm.joints[1], placement=turned))))
    assert bool(found.M.atoms(sp.Float)) is not exact


def test_symbols_are_real_and_masses_and_lengths_positive() -> None:
    found = symbolic(planar_arm(), barycentric=True)
    for symbol in found.tau.free_symbols:
        assert symbol.is_real, symbol
        assert bool(symbol.is_positive) == (symbol.name[:2] in ("m_", "l_") or symbol.name == "g"), symbol
