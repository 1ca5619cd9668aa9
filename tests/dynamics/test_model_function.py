"""Functions of a model: parameters by name, the robot's own where none are given, help, wrong inputs."""

from __future__ import annotations

import copy
import pickle
import pydoc

import casadi as ca
import numpy as np
import pytest

import casid
from casid.codegen import Function
from casid.errors import DatasetError
from casid.inertia import Parameters

MODEL = casid.Model("spatial_2r")
PI = np.arange(1.0, 21.0)
Q = np.array([0.3, -0.2])


@pytest.mark.claim("a missing pi counted as zero")
@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((Q, Q, Q), {}, r"pi missing; expected q \(2,\), dq \(2,\), ddq \(2,\), pi \(20,\); pi: the parameters"),
        ((), {"q": Q, "dq": Q, "ddq": Q, "p": PI}, "pi missing and no input p"),
        ((ca.DM(3), ca.DM(Q), ca.DM.zeros(2, 3), PI[:5]), {}, r"pi has shape \(5, 1\)"),
        ((Parameters(MODEL.parameter_names, PI), Q, Q, PI), {}, r"q has shape \(20,\)"),
    ],
)
def test_wrong_inputs_are_named(args: tuple, named: dict, message: str) -> None:
    with pytest.raises(DatasetError, match=f"inverse_dynamics: .*{message}"):
        MODEL.inverse_dynamics(*args, **named)


def test_parameters_go_by_their_names() -> None:
    f = MODEL.inverse_dynamics
    expected = f(Q, Q, Q, PI)
    turned = Parameters(MODEL.parameter_names[::-1], PI[::-1])
    for again in (f, pickle.loads(pickle.dumps(f)), copy.deepcopy(f), copy.copy(f)):
        np.testing.assert_array_equal(again(Q, Q, Q, turned), expected)
        np.testing.assert_array_equal(again(q=Q, dq=Q, ddq=Q, pi=turned)["tau"], expected)
    x = ca.MX.sym("x", 2)
    np.testing.assert_allclose(ca.Function("g", [x], [f(x, x, x, turned)])(Q).full()[:, 0], expected, rtol=1e-14)


@pytest.mark.claim("a robot that states its parameters needs none, and one that lacks some never takes zeros for them")
def test_the_robots_own_parameters_stand_for_pi() -> None:
    robot = casid.load_robot("panda")
    model, pi = casid.Model(robot), robot.standard_parameters()
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 4, 7))
    np.testing.assert_array_equal(model.inverse_dynamics(q, dq, ddq), model.inverse_dynamics(q, dq, ddq, pi))
    np.testing.assert_array_equal(model.mass_matrix(q=q)["M"], model.mass_matrix(q, pi))
    x = ca.SX.sym("x", 7)
    assert ca.Function("g", [x], [model.gravity(x)])(q[0]).full()[:, 0] == pytest.approx(model.gravity(q[0], pi))
    with pytest.raises(DatasetError, match="pi missing"):
        casid.Model(robot, ("viscous",)).inverse_dynamics(q, dq, ddq)
    stated = casid.Model(robot, ("viscous",)).named(np.insert(pi, range(10, 71, 10), 0.5))
    braked = casid.Model(robot.with_parameters(stated), ("viscous",))
    np.testing.assert_allclose(braked.inverse_dynamics(q, dq, ddq) - 0.5 * dq, model.inverse_dynamics(q, dq, ddq))


def test_help_shows_the_function() -> None:
    assert isinstance(MODEL.mass_matrix, Function)
    text = pydoc.render_doc(MODEL.mass_matrix)
    assert "symmetric joint-space mass matrix" in text
    assert "[kg.m^2" in text
