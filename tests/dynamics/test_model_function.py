"""Functions of a model: wrong inputs are named, and they stay CasADi functions."""

from __future__ import annotations

import copy
import pickle

import casadi as ca
import numpy as np
import pytest

import casid
from casid.dynamics._model_function import ModelFunction
from casid.errors import DatasetError
from casid.inertia import Parameters

MODEL = casid.Model("spatial_2r")
PI = np.arange(1.0, 21.0)
Q = np.array([0.3, -0.2])


def same(a: ca.DM, b: ca.DM) -> bool:
    return a.shape == b.shape and np.allclose(a.full(), b.full())


@pytest.mark.claim("a missing pi counted as zero")
@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((Q, Q, Q), {}, r"pi missing; expected q \(2,\), dq \(2,\), ddq \(2,\), pi \(20,\); pi: the parameters"),
        ((), {"q": Q, "dq": Q, "ddq": Q}, "pi missing"),
        ((), {"q": Q, "dq": Q, "ddq": Q, "p": PI}, "pi missing and no input p"),
        ((Q, Q, Q, PI, Q), {}, "no input number 5"),
        ((np.zeros(3), Q, Q, PI), {}, r"q has shape \(3,\); expected"),
        ((Q, Q, Q, PI[:5]), {}, r"pi has shape \(5,\)"),
        ((np.zeros((50, 2)), Q, Q, PI), {}, r"q has shape \(50, 2\); it is transposed, give q.T"),
        (("q", Q, Q, PI), {}, "q is no array of numbers but str"),
        ((np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(5), PI), {}, r"ddq has shape \(5,\)"),
    ],
)
def test_wrong_inputs_are_named(args: tuple, named: dict, message: str) -> None:
    with pytest.raises(DatasetError, match=f"inverse_dynamics: .*{message}"):
        MODEL.inverse_dynamics(*args, **named)


def test_parameters_go_by_their_names() -> None:
    expected = MODEL.inverse_dynamics(Q, Q, Q, PI)
    turned = Parameters(MODEL.parameter_names[::-1], PI[::-1])
    assert same(MODEL.inverse_dynamics(Q, Q, Q, turned), expected)
    assert same(MODEL.inverse_dynamics(q=Q, dq=Q, ddq=Q, pi=turned)["tau"], expected)


def test_it_is_a_casadi_function_of_numbers_and_symbols() -> None:
    assert isinstance(MODEL.inverse_dynamics, ModelFunction)
    f = MODEL.inverse_dynamics
    expected = f(Q, Q, Q, PI)
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), copy.copy(f)):
        assert same(again(Q, Q, Q, Parameters(MODEL.parameter_names, PI)), expected)
    x = ca.MX.sym("x", 2)
    assert same(ca.Function("g", [x], [f(x, x, x, PI)])(Q), f(Q, Q, Q, PI))
    assert f.map(3)(np.tile(Q, (3, 1)).T, 0, 0, np.tile(PI, (3, 1)).T).shape == (2, 3)


def test_parameters_stand_for_pi_alone() -> None:
    given = Parameters(MODEL.parameter_names, PI)
    with pytest.raises(DatasetError, match="q is no array of numbers but Parameters"):
        MODEL.inverse_dynamics(given, Q, Q, PI)
