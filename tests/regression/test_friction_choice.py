"""Friction laws, their shapes, and the choice among them."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.description._joint_parameters import JointParameter
from casid.dynamics import Model
from casid.dynamics.terms._catalogue import FRICTION_MODELS, friction_model
from casid.dynamics.terms._friction import Friction, JointFriction
from casid.dynamics.terms._joint_terms import JointSignals
from casid.dynamics.terms._law import FrictionLaw
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset, Processing
from casid.regression import choose_friction, compress, fit_friction, wls
from casid.regression.friction import _variable_projection
from casid.regression.friction._shape_fits import fit_jointly
from casid.testing.synthetic import motion, recording


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("ur10e")


def simulated(robot, friction, seed=0, samples=6000):
    """A raw recording of a robot with a known friction, as a function of (joint, velocity, load, position)."""
    model = Model(robot)
    t, q, dq, ddq = motion(model.n, samples, seed)
    load = evaluate_batch(model.inverse_dynamics, q, dq, ddq, robot.standard_parameters())[:, :, 0]
    rng = np.random.default_rng(seed + 1)
    tau = load + np.stack([friction(k, dq[:, k], load[:, k], q[:, k]) for k in range(model.n)], axis=1)
    return Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau + 0.3 * rng.normal(size=q.shape))


def truth(k, v, load, q):
    plain = 3.0 * v + 5.0 * np.sign(v) + 0.2
    if k == 1:
        return plain + 0.08 * np.abs(load) * np.sign(v)
    if k == 2:
        return 3.0 * v + (5.0 + 4.0 * np.exp(-((v / 0.15) ** 2))) * np.tanh(v / 0.03)
    if k == 4:
        return plain + 4.0 * np.sin(q) + 2.0 * q
    return plain


@pytest.fixture(scope="module")
def choice(robot):
    data = Processing(cutoff=8.0).apply(simulated(robot, truth))
    return choose_friction(Model(robot), data)


def test_each_joint_gets_the_law_that_it_has(choice):
    names = [joint.law.name for joint in choice.friction.joints]
    assert [names[k] for k in (0, 3, 5)] == ["linear"] * 3
    assert names[1] == "linear+load" and names[2].startswith("stribeck") and names[4] == "linear+spring"
    values = dict(
        zip(choice.model.parameter_names, np.linalg.pinv(choice.fit.data.base.K) @ choice.fit.beta, strict=True)
    )
    assert values["fl2"] == pytest.approx(0.08, rel=0.05)  # with loads from the fit itself, not from a nominal model
    assert values["fc1"] == pytest.approx(5.0, rel=0.02)
    assert choice.friction.nominal is not None


def test_the_table_tells_what_was_tried(choice):
    rows = [row for row in choice.table if row.joint == "shoulder_lift_joint"]
    assert {row.law for row in rows} >= {"linear", "deadband", "asymmetric", "stribeck", "sigmoid", "linear+load"}
    best = [row for row in rows if row.chosen]
    assert len(best) == 1 and best[0].held_out < 0.7 * next(r.held_out for r in rows if r.law == "linear")
    assert all(row.held_out > 0 and row.training > 0 for row in choice.table)


def test_another_motion_is_predicted_better(robot, choice):
    other = Processing(cutoff=8.0).apply(simulated(robot, truth, seed=7))
    linear = wls(
        compress(Model(robot, ("viscous", "coulomb", "offset")), Processing(cutoff=8.0).apply(simulated(robot, truth)))
    )
    chosen = compress(choice.model, other).relative_errors(choice.fit.beta)[0]
    assert chosen < 0.5 * compress(linear.data.model, other).relative_errors(linear.beta)[0]


def test_friction_survives_its_record(robot, choice):
    again = Friction.from_record(choice.friction.record())
    assert again.record() == choice.friction.record()
    model = Model(robot).with_friction(again)
    assert model.parameter_names == choice.model.parameter_names
    with pytest.raises(DatasetError, match="not the record of a friction: 'nominal'"):
        Friction.from_record({"joints": []})
    with pytest.raises(DatasetError, match="has the shape \\(width\\), got 0 numbers"):
        JointFriction(friction_model("smooth"))


def test_a_law_of_your_own_takes_part(robot):
    class Quadratic(FrictionLaw):
        """``fa v |v|``."""

        name = "quadratic"
        amplitudes = (JointParameter("fa", "N.m.s^2/rad^2", "fa dq |dq|"),)

        def columns(self, signals, theta):
            return [signals.dq * ca.fabs(signals.dq)]

    data = Processing(cutoff=8.0).apply(simulated(robot, lambda k, v, load, q: 6.0 * v * np.abs(v)))
    choice = choose_friction(Model(robot), data, ["linear", Quadratic()])
    assert {joint.law.name for joint in choice.friction.joints} == {"quadratic"}
    with pytest.raises(DatasetError, match="unknown friction model 'brush'"):
        choose_friction(Model(robot), data, ["stribeck+brush"])
    with pytest.raises(DatasetError, match="two of its laws have the amplitude 'fc'"):
        friction_model("linear+smooth")


@pytest.mark.parametrize("name", FRICTION_MODELS)
def test_laws_have_as_many_columns_as_amplitudes_and_vanish_where_they_should(name):
    law = friction_model(name)
    symbols = [ca.SX.sym(x) for x in ("q", "dq", "ddq", "sign", "load", "signal")]
    s = JointSignals(0, *symbols, ca.SX.sym("memory", law.memory))
    theta = law.candidates(2.0)[0]
    assert len(theta) == len(law.shape) and all(
        low <= x <= high for low, x, high in zip(law.lower(2.0), theta, law.upper(2.0), strict=True)
    )
    columns = law.columns(s, theta)
    assert len(columns) == len(law.amplitudes)
    f = ca.Function("f", list(s[1:]), [ca.vertcat(*columns)])
    assert np.isfinite(f(0.3, -1.5, 0.2, -1.0, 4.0, 0.0, np.full(law.memory, 0.5)).full()).all()
    backward = Friction((JointFriction(law, theta),)).terms(["joint1"])
    assert [t.symbol for t in backward] == [a.symbol for a in law.amplitudes]
    assert all(t.loaded == law.loaded for t in backward)


@pytest.mark.claim("a friction fit that does not converge is an error")
def test_a_fit_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr(_variable_projection, "MOST_EVALUATIONS", 2)
    v = np.linspace(-2, 2, 401)
    tau = 0.4 * v + (1.0 + 0.5 * np.exp(-((v / 0.3) ** 2))) * np.tanh(v / 0.05)
    with pytest.raises(SolveError, match="stribeck friction of one joint: no convergence in 2 evaluations"):
        fit_friction(v, tau, "stribeck")


def test_shapes_are_found_through_the_filter():
    robot = casid.load_robot("spatial_2r")
    model = Model(robot)
    pi = np.tile([0.2, 0.0, 0.0, 0.3, 0.0, 0.3, 0.5, 0.0, 0.0, 2.0], 2)
    t, q, dq, ddq = motion(2, 10_000, 3)
    tau = evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi)[:, :, 0] + 2.0 * np.tanh(dq / 0.05) + 0.3 * dq
    settings = Processing(cutoff=None, torque_cutoff=5.0, velocity="measured", acceleration="measured")
    data = settings.apply(Dataset(t, q, tau, dq, ddq))
    found = fit_jointly(model, data, "smooth")
    np.testing.assert_allclose(found.shapes, [[0.05], [0.05]], rtol=0.01)
    unfiltered = fit_jointly(model, replace(data, full=None), "smooth")
    assert np.abs(unfiltered.shapes / 0.05 - 1).max() > 0.5


def test_too_slow_and_still_joints(robot):
    data = recording(Model(robot), robot.standard_parameters(), samples=400, noise=0.1)
    dq = np.array(data.dq)
    dq[:, 5] = 0.0
    choice = choose_friction(Model(robot), replace(data, dq=dq), ["linear", "stribeck"])
    assert choice.friction.joints[5].law.name == "linear"
    with pytest.raises(DatasetError, match="joint 6 does not move"):
        fit_jointly(Model(robot), replace(data, dq=dq), "smooth")
