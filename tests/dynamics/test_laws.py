"""Friction laws: each column is the formula of its description, and shapes lie where they may."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.dynamics.terms import (
    FRICTION_MODELS,
    JOINT_TERMS,
    FrictionLaw,
    JointSignals,
    friction_dictionary,
    friction_model,
    friction_terms,
)
from casid.errors import RobotError

#: Of position q, velocity v, load u and states z; w is the first shape and s the second.
FORMULAS = {
    "linear": lambda q, v, u, z, th: [v, np.sign(v), 1],
    "deadband": lambda q, v, u, z, th: [v, np.sign(v) if abs(v) >= th[0] else 0, 1],
    "smooth": lambda q, v, u, z, th: [v, np.tanh(v / th[0]), 1],
    "stribeck": lambda q, v, u, z, th: [
        v, np.tanh(v / th[0]), np.exp(-((v / th[1]) ** 2)) * np.tanh(v / th[0]), 1,
    ],
    "polynomial": lambda q, v, u, z, th: [v, np.sign(v), np.sqrt(abs(v)) * np.sign(v), v * v * v, 1],
    "sigmoid": lambda q, v, u, z, th: [1 / (1 + np.exp(-th[0] * (v + th[1]))) - 1 / (1 + np.exp(-th[0] * th[1]))],
    "offset": lambda q, v, u, z, th: [1],
    "load": lambda q, v, u, z, th: [abs(u) * np.sign(v)],
    "loadstribeck": lambda q, v, u, z, th: [
        abs(u) * np.sign(v), np.exp(-((v / th[0]) ** 2)) * abs(u) * np.sign(v),
    ],
    "spring": lambda q, v, u, z, th: [q, np.sin(q), np.cos(q)],
    "dahl": lambda q, v, u, z, th: [v, z[0], 1],
    "lugre": lambda q, v, u, z, th: [v, z[0], z[1], 1],
}  # fmt: skip


def symbols(memory: int) -> JointSignals:
    return JointSignals(
        0, *(ca.SX.sym(x) for x in ("q", "dq", "ddq", "sign", "load", "signal")), ca.SX.sym("z", memory)
    )


def columns(law, theta, q, v, load=0.0, states=()):
    own = symbols(law.memory)
    f = ca.Function("f", list(own[1:]), [ca.vertcat(*law.columns(own, theta))])
    return f(q, v, 0.0, np.sign(v), load, 0.0, np.array(states)).full().ravel()


def test_every_law_has_a_formula_here():
    assert set(FORMULAS) == set(FRICTION_MODELS)


@pytest.mark.parametrize("name", sorted(FRICTION_MODELS))
def test_columns_are_the_formula(name):
    law, rng = friction_model(name), np.random.default_rng(3)
    assert len(law.amplitudes) == len(FORMULAS[name](0.3, 0.2, 1.0, np.ones(law.memory), (1.0, 1.0, 1.0)))
    for theta in [law.start(2.0), *law.candidates(0.7)[:3], law.candidates(0.7)[-1]]:
        for v in (*rng.normal(size=4), 0.005, -0.01, 0.0):
            q, load, z = rng.normal(), 5 * rng.normal(), rng.normal(size=law.memory)
            expected = np.array(FORMULAS[name](q, v, load, z, theta), dtype=float)
            np.testing.assert_allclose(columns(law, theta, q, v, load, z), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted(FRICTION_MODELS))
def test_a_law_says_whether_it_needs_the_load(name):
    law = friction_model(name)
    own = symbols(law.memory)
    assert law.loaded == ca.depends_on(ca.vertcat(*law.columns(own, law.start(1.0))), own.load)


@pytest.mark.parametrize("name", sorted(FRICTION_MODELS))
def test_shapes_are_tried_within_their_bounds_in_order(name):
    law = friction_model(name)
    for shape in law.shape:
        assert shape.least < shape.tried[0] and shape.tried[-1] < shape.most
        assert list(shape.tried) == sorted(set(shape.tried))
        assert shape.tried[0] <= shape.start <= shape.tried[-1]
    for speed in (0.5, 3.0):
        lower, upper = np.array(law.lower(speed)), np.array(law.upper(speed))
        inside = [*law.candidates(speed), law.start(speed)]
        assert len(inside) == 1 + np.prod([len(s.tried) for s in law.shape], dtype=int)
        assert all((lower < np.array(theta)).all() and (np.array(theta) < upper).all() for theta in inside)


@pytest.mark.parametrize("name", ["smooth", "stribeck", "sigmoid", "deadband", "loadstribeck"])
def test_shapes_scale_with_the_speed_of_the_joint(name):
    """A joint twice as fast, with its shape at twice the speed, has the columns of the other at half the velocity."""
    law = friction_model(name)
    for v in (0.02, -0.3, 1.0):
        slow, fast = columns(law, law.start(1.0), 0.1, v, 2.0), columns(law, law.start(2.0), 0.1, 2 * v, 2.0)
        viscous = np.array([a.symbol == "fv" for a in law.amplitudes])
        np.testing.assert_allclose(fast, np.where(viscous, 2, 1) * slow, rtol=1e-12)


def test_a_coarse_search_leaves_no_gap():
    """Neighbours that are tried lie within a factor of five, so that a fit begins within about two of the truth."""
    for law in FRICTION_MODELS.values():
        for shape in law.shape:
            tried = np.array(shape.tried)
            assert shape.least < 0 or (tried[1:] / tried[:-1] < 5).all(), (law.name, shape)
    fine, coarse = friction_model("dahl").shape[0], friction_model("lugre").shape[0]
    assert replace(coarse, tried=fine.tried) == fine and set(coarse.tried) < set(fine.tried)


def test_the_dictionary_is_waves_of_the_turn_and_steps_of_the_speed():
    terms = {term.symbol: term for term in friction_dictionary(harmonics=2, signed=1, speeds=(0.1, 0.5))}
    own = symbols(0)
    q, v = 0.7, -0.3
    f = ca.Function("f", list(own[1:]), [ca.vertcat(*(term.column(own) for term in terms.values()))])
    found = f(q, v, 0.0, np.sign(v), 0.0, 0.0, np.zeros(0)).full().ravel()
    waves = [np.sin(q), np.cos(q), np.sin(2 * q), np.cos(2 * q)]
    expected = [*waves, -np.sin(q), -np.cos(q), np.tanh(v / 0.1), np.tanh(v / 0.5)]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert [term.parameter.dry for term in terms.values()] == [False] * 4 + [True] * 2 + [False] * 2
    assert not any(term.parameter.dissipative or term.nonnegative for term in terms.values())
    for speed in (0.0, -0.1, float("inf")):
        with pytest.raises(RobotError, match="speeds must be positive"):
            friction_dictionary(speeds=(0.1, speed))


def test_a_sum_of_laws_has_their_columns_one_after_the_other():
    total = friction_model("stribeck + load + spring")
    parts = [friction_model(name) for name in ("stribeck", "load", "spring")]
    theta = parts[0].start(1.0)
    expected = np.concatenate([columns(law, theta[: len(law.shape)], 0.4, 0.3, 2.0) for law in parts])
    np.testing.assert_array_equal(columns(total, theta, 0.4, 0.3, 2.0), expected)
    assert total.loaded and total.complexity == sum(law.complexity for law in parts)


def test_terms_of_the_catalogue_are_their_formulas():
    own, q, v, a, u, tau = symbols(0), 0.4, -0.3, 0.9, -2.0, -1.5
    expected = {
        "viscous": v, "coulomb": -1, "offset": 1, "motor_viscous": v, "motor_coulomb": -1, "motor_offset": 1,
        "rotor": a, "motor_rotor": a, "coulomb_positive": 0, "coulomb_negative": -1, "sqrt_viscous": -np.sqrt(0.3),
        "cubic_viscous": -0.027, "load_friction": -2.0, "spring": q, "spring_sine": np.sin(q),
        "spring_cosine": np.cos(q), "drive_gain": 1.5, "gear_friction": -1.5,
    }  # fmt: skip
    assert set(expected) == set(JOINT_TERMS)
    for name, value in expected.items():
        f = ca.Function("f", list(own[1:]), [JOINT_TERMS[name].column(own)])
        assert float(f(q, v, a, -1.0, u, tau, np.zeros(0))) == pytest.approx(value, abs=1e-14), name
        assert JOINT_TERMS[name].loaded == (name == "load_friction")


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize("size", [0, 2, 7])
def test_shapes_of_terms_and_laws_are_checked(size: int) -> None:
    class Own(FrictionLaw):
        name = "own"
        amplitudes = FRICTION_MODELS["linear"].amplitudes

        def columns(self, signals: JointSignals, theta: object) -> list[ca.SX]:
            return [signals.dq] * size if size != 7 else [signals.dq, ca.SX(7, 1), ca.SX(1)]

    robot = casid.load_robot("spatial_2r")
    with pytest.raises(RobotError, match=rf"'own': `columns`.*expected .*got .*\b{size}\b"):
        _ = casid.Model(robot, friction_terms(Own(), np.zeros((2, 0)))).inverse_dynamics
    term = replace(JOINT_TERMS["viscous"], name="own", column=lambda s: ca.SX(size, 1))
    with pytest.raises(RobotError, match=rf"'own': the column at joint 1: expected shape \(1, 1\), got \({size}, 1\)"):
        _ = casid.Model(robot, [term]).inverse_dynamics
