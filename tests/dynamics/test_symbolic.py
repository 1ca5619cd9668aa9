"""Equations with symbols: the textbook's for the planar arm, the numeric model's for any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description import Joint, Limits, Link, Robot
from casid.description._parts import Mimic
from casid.dynamics import symbolic
from casid.errors import RobotError
from casid.testing import random_robot

sp = pytest.importorskip("sympy", reason="needs sympy (pip install casid[teaching])")


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


@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_put_in_give_the_torques_of_the_numeric_model(seed: int) -> None:
    robot = random_robot(seed, 2) if seed else casid.load_robot("spatial_2r")
    found, model = symbolic(robot), casid.Model(robot, ())
    rng = np.random.default_rng(seed)
    q, dq, ddq, pi = rng.normal(size=2), rng.normal(size=2), rng.normal(size=2), rng.normal(size=20)
    values = dict(zip([*found.q, *found.dq, *found.ddq, *found.parameters], [*q, *dq, *ddq, *pi], strict=True))
    values |= found.lengths | {s: np.linalg.norm(robot.gravity) for s in found.tau.free_symbols if s.name == "g"}
    expected = np.array(model.inverse_dynamics(q, dq, ddq, pi)).ravel()
    assert np.allclose(np.array(found.tau.subs(values), dtype=float).ravel(), expected, atol=1e-9)


def test_base_parameters_are_those_of_the_numeric_model() -> None:
    robot = casid.load_robot("spatial_2r")
    found, base = symbolic(robot), casid.Model(robot, ()).base
    rows = sp.Matrix(found.base.subs(found.lengths)).jacobian(found.parameters)
    assert np.allclose(np.array(rows, dtype=float), base.K, atol=1e-9)
    assert str(found.base[0]) == "L_{yy1} + L_{yy2} - l_{2}**2*m_2"
    assert r"\beta &=" in found.latex()


def test_joints_that_follow_others_are_refused() -> None:
    arm = planar_arm()
    follower = replace(arm.joints[1], mimic=Mimic(0))
    with pytest.raises(RobotError, match="follow others"):
        symbolic(replace(arm, joints=(arm.joints[0], follower), limits=Limits.unlimited(1)))
