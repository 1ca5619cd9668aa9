"""Friction that remembers: states along a motion, their sensitivities, and models with them."""

import json
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import casid
from casid.description import write_robot
from casid.dynamics import Model, equation_of_motion
from casid.dynamics.terms import JointFriction, friction_model, sensitive_states, states_of
from casid.errors import RobotError
from casid.export import load
from casid.identification import ModelOptions, identify, load_model, predict
from casid.measurement import Dataset, Processing
from casid.regression import choose_friction, compress, wls
from casid.regression.friction import fit_jointly
from casid.testing import motion
from tests.helpers import run

PERIOD = 1e-3
REACH = 4e-3


def wander(samples=3000):
    t = PERIOD * np.arange(samples)
    return 0.1 * np.sin(2 * np.pi * 0.7 * t) + 0.01 * np.sin(2 * np.pi * 3.1 * t)


def test_dahl_follows_its_definition_step_by_step():
    q = wander()
    dahl = JointFriction(friction_model("dahl"), (REACH,)).states(q, PERIOD)
    z = 0.0
    for i, way in enumerate(np.diff(q, prepend=q[0])):
        for _ in range(20):  # Euler in small steps of the way
            z += (way - abs(way) * z) / REACH / 20
        assert abs(z - dahl[i, 0]) < 0.01
    assert np.abs(dahl).max() > 0.99


def test_lugre_solves_its_differential_equation():
    law, theta = friction_model("lugre"), (REACH, 0.8, 0.1)
    q = wander()
    z = JointFriction(law, theta).states(q, PERIOD)

    def slope(t, x):
        v = 0.07 * 2 * np.pi * np.cos(2 * np.pi * 0.7 * t) + 0.031 * 2 * np.pi * np.cos(2 * np.pi * 3.1 * t)
        return (v - np.abs(v) * x / (1 + theta[1] * np.exp(-((v / theta[2]) ** 2)))) / REACH

    t = PERIOD * np.arange(len(q))
    exact = solve_ivp(slope, (0, t[-1]), [0.0], t_eval=t, rtol=1e-8, atol=1e-9, max_step=1e-3).y[0]
    assert np.abs(z[:, 0] - exact).max() < 0.02 * np.abs(exact).max()
    np.testing.assert_allclose(z[1:, 1], np.diff(z[:, 0]) / PERIOD, atol=1e-9)


def test_laws_without_memory_have_no_states_beside_those_with():
    q = wander(700)
    laws = {name: friction_model(name) for name in ("linear", "dahl", "smooth", "lugre")}
    shapes = {"linear": (), "dahl": (REACH,), "smooth": (0.1,), "lugre": (2 * REACH, 0.8, 0.1)}
    alone = states_of([(laws["linear"], ()), (laws["smooth"], (0.1,))], q, PERIOD)
    assert [z.shape for z in alone] == [(700, 0), (700, 0)]
    found = states_of([(law, shapes[name]) for name, law in laws.items()], q, PERIOD)
    assert [z.shape for z in found] == [(700, 0), (700, 1), (700, 0), (700, 2)]
    for name, z in zip(laws, found, strict=True):
        np.testing.assert_array_equal(z, JointFriction(laws[name], shapes[name]).states(q, PERIOD))


@pytest.mark.parametrize("name", ["dahl", "lugre", "lugre+spring"])
def test_sensitivities_are_derivatives(name):
    law = friction_model(name)
    theta = np.array(law.start(1.0))
    q = wander(1500)
    z, slopes = sensitive_states(law, theta, q, PERIOD)
    np.testing.assert_array_equal(z, JointFriction(law, tuple(theta)).states(q, PERIOD))
    for k, x in enumerate(theta):
        step = np.zeros(len(theta))
        step[k] = 1e-5 * x
        ends = [JointFriction(law, tuple(theta + s * step)).states(q, PERIOD) for s in (1, -1)]
        numeric = (ends[0] - ends[1]) / (2e-5 * x)
        close = np.abs(slopes[:, :, k] - numeric) <= 1e-3 * max(np.abs(numeric).max(), 1e-9)
        assert close.mean() > 0.99  # elsewhere an element begins to slip


@pytest.mark.parametrize("name", ["dahl", "lugre"])
def test_what_a_law_settles_to_is_where_it_ends(name):
    law = friction_model(name)
    theta = law.start(1.0)
    end = JointFriction(law, theta).states(-0.2 * PERIOD * np.arange(5000), PERIOD)[-1]
    settled = ca.evalf(law.settled(ca.SX(-0.2), ca.SX(-1), theta)).full().ravel()
    np.testing.assert_allclose(end, settled, atol=1e-6)


@pytest.fixture(scope="module")
def arm():
    """A robot whose second joint has Dahl's friction, and its recording."""
    robot = casid.load_robot("ur10e")
    model = Model(robot)
    t, q, dq, ddq = motion(model.n, 6000, 0)
    rng = np.random.default_rng(1)
    tau = model.inverse_dynamics(q, dq, ddq, robot.standard_parameters())
    for k in range(model.n):
        z = np.sign(dq[:, k])
        if k in (1, 4):
            z = JointFriction(friction_model("dahl"), (0.03,)).states(q[:, k], t[1])[:, 0]
        tau[:, k] += 3.0 * dq[:, k] + 8.0 * z
    raw = Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau + 0.2 * rng.normal(size=q.shape))
    return robot, raw, Processing(cutoff=8.0).apply(raw)


@pytest.fixture(scope="module")
def chosen(arm):
    robot, _, data = arm
    return choose_friction(Model(robot), data, ["linear", "smooth", "stribeck", "linear+spring", "dahl", "lugre"])


def test_hysteresis_is_chosen_where_it_is(arm, chosen):
    robot, _, data = arm
    names = [joint.law.name for joint in chosen.friction.joints]
    assert names == ["linear", "dahl", "linear", "linear", "dahl", "linear"]
    assert chosen.friction.joints[1].theta[0] == pytest.approx(0.03, rel=0.3)
    linear = wls(compress(Model(robot, ("viscous", "coulomb", "offset")), data))
    assert chosen.fit.rms[1] < 0.3 * linear.rms[1]
    values = np.linalg.pinv(chosen.model.base.K) @ chosen.fit.beta
    assert values[chosen.model.parameter_names.index("fd2")] == pytest.approx(8.0, rel=0.05)


def test_shapes_of_memory_are_fitted_by_their_sensitivities(arm):
    robot, raw, _ = arm
    data = Processing(cutoff=8.0, every=30).apply(raw)
    found = fit_jointly(Model(robot), data, "dahl")
    (shapes,) = np.array([joint.theta for joint in found.friction.joints]).T
    np.testing.assert_allclose(shapes[[1, 4]], 0.03, rtol=0.1)
    assert shapes[[0, 2, 3, 5]].max() < 0.01


def test_models_that_remember_predict_and_are_read_again(arm, chosen):
    robot, _, data = arm
    model = Model(robot).with_friction(chosen.friction)
    named = chosen.model.named(np.zeros(len(chosen.model.parameter_names)))
    again = Model.of_parameters(robot, named)
    assert set(again.parameter_names) == set(model.parameter_names) and again.shapes == model.shapes
    assert model.inverse_dynamics.name_in()[-1] == "memory" and len(model.memories) == 2
    pi = np.linalg.pinv(chosen.model.base.K) @ chosen.fit.beta
    np.testing.assert_allclose(predict(model, pi, data).relative_error, chosen.fit.relative_error, rtol=1e-6)
    with pytest.raises(RobotError, match="has a memory"):
        equation_of_motion(model)
    settled = Model(robot, [term.settled() for term in model.terms])
    assert not settled.memories and "memory" not in settled.inverse_dynamics.name_in()
    equation_of_motion(settled)


@pytest.mark.slow
def test_an_identification_with_memory_is_written_and_judged(arm, tmp_path):
    robot, raw, _ = arm
    result = identify(robot, raw, processing=Processing(cutoff=8.0), model=ModelOptions(terms=(), friction="auto"))
    assert result.law.joints[1].law.name in ("dahl", "lugre")
    assert result.verdict.tried > 0  # other readings of the recording, what is remembered settled
    model, values = load_model(result.record(), robot)
    other = replace(raw, q=raw.q[:3000], tau=raw.tau[:3000], t=raw.t[:3000])
    assert predict(model, values, Processing(cutoff=8.0).apply(other)).relative_error < 3.0

    record, described = tmp_path / "identification.json", tmp_path / "arm.toml"
    record.write_text(json.dumps(result.record()), encoding="utf-8")
    write_robot(robot, described)
    run("export", described, "--parameters", record, "--functions", "inverse_dynamics", "--out", tmp_path / "c")
    loaded = load(tmp_path / "c")
    settled = Model(robot, [term.settled() for term in model.terms])
    state = 0.1 * np.arange(-robot.n, 2 * robot.n).reshape(3, robot.n)
    torque = settled.inverse_dynamics(*state, settled.parameters(model.named(values)))
    np.testing.assert_allclose(loaded["inverse_dynamics"](*state), np.array(torque).ravel(), rtol=1e-12)
