"""Friction laws, their shapes, and the choice among them."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description.joint_parameters import JointParameter
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction, friction_model
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset, Processing
from casid.regression import choose_friction, compress, fit_friction, wls
from casid.regression._rows import observation_blocks
from casid.regression.friction import FrictionSearch, _choice, fit_jointly
from casid.regression.friction import _shape_fits as _variable_projection
from casid.regression.friction._cross_validation import CandidateFits
from casid.regression.friction._dictionary import Dictionary
from casid.regression.friction._shape_fits import fit_shapes
from casid.testing import recording
from casid.testing._synthetic import motion
from problems.spatial_2r import true_parameters


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("ur10e")


def simulated(robot, friction, seed=0, samples=6000):
    """A raw recording of a robot with a known friction, as a function of (joint, velocity, load, position)."""
    model = Model(robot)
    t, q, dq, ddq = motion(model.n, samples, seed)
    load = model.inverse_dynamics(q, dq, ddq, robot.standard_parameters())
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
    assert {row.law for row in rows} >= {
        "linear",
        "deadband",
        "asymmetric",
        "stribeck",
        "sigmoid+offset",
        "linear+load",
    }
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


def test_a_shape_has_all_its_numbers():
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
    tau = model.inverse_dynamics(q, dq, ddq, pi) + 2.0 * np.tanh(dq / 0.05) + 0.3 * dq
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


def test_friction_of_one_joint():
    v = np.linspace(-2, 2, 401)
    sigmoid = 0.6 / (1 + np.exp(-7 * (v + 0.1))) - 0.6 / (1 + np.exp(-0.7))
    fit = fit_friction(v, sigmoid, "sigmoid")
    np.testing.assert_allclose([*fit.amplitudes, *fit.shape], [0.6, 7.0, 0.1], rtol=1e-5)
    np.testing.assert_allclose(fit(v), sigmoid, atol=1e-8)
    stribeck = 0.4 * v + (1.0 + 0.5 * np.exp(-((v / 0.3) ** 2))) * np.tanh(v / 0.05) - 0.2
    fit = fit_friction(v, stribeck, "stribeck")
    np.testing.assert_allclose([*fit.amplitudes, *fit.shape], [0.4, 1.0, 0.5, -0.2, 0.05, 0.3], rtol=1e-3)
    smooth = fit_friction(v, stribeck, "smooth")
    assert smooth.rms > fit.rms and smooth.relative_error == pytest.approx(
        100 * smooth.rms / np.sqrt(np.mean(stribeck**2))
    )
    with pytest.raises(DatasetError, match="unknown friction model 'brush'; known: linear, deadband, smooth, "):
        fit_friction(v, stribeck, "brush")
    with pytest.raises(DatasetError, match="friction 'dahl' depends on more than the velocity"):
        fit_friction(v, stribeck, "dahl")
    with pytest.raises(DatasetError, match="do not determine friction"):
        fit_friction(np.zeros(50), np.zeros(50))


def test_friction_and_inertia_together_recover_the_truth():
    robot = casid.load_robot("spatial_2r")
    plain = Model(robot)
    data = recording(plain, true_parameters(), samples=500)
    tau = np.array(data.tau)
    for k, (fv, fc, fs, w, vs) in enumerate([(0.5, 2.0, 1.0, 0.05, 0.3), (0.2, 1.0, 0.6, 0.04, 0.2)]):
        v = data.dq[:, k]
        tau[:, k] += fv * v + (fc + fs * np.exp(-((v / vs) ** 2))) * np.tanh(v / w)
    found = fit_jointly(plain, replace(data, tau=tau), "stribeck")
    np.testing.assert_allclose(found.shapes, [[0.05, 0.3], [0.04, 0.2]], rtol=1e-3)
    assert found.fit.relative_error < 1e-4
    base = found.fit.data.base
    assert found.fit.beta[base.row("fc1")] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("law", ["linear", "stribeck", "dahl"])
def test_gram_matrices_fit_what_least_squares_fits(robot, law):
    """The comparison of candidates solves the same problem as weighted least squares of the model with that law."""
    model = Model(robot)
    data = Processing(cutoff=8.0).apply(simulated(robot, lambda k, v, load, q: 2.0 * v + np.sign(v), samples=2000))
    joint = JointFriction(friction_model(law), tuple(friction_model(law).start(1.0)))
    regressor = np.concatenate([block for _, block in observation_blocks(model, data)])
    fits = CandidateFits(model, [data], [regressor], [[joint]] * model.n, None, np.ones(model.n))
    whole = wls(compress(model.with_friction(Friction((joint,) * model.n)), data), np.ones(model.n))
    residual = fits._squares([0] * model.n, fits.fit([0] * model.n))
    np.testing.assert_allclose(residual.sum(), whole.objective, rtol=1e-6)


def test_shapes_are_minimised_within_bounds():
    v = np.linspace(-1.0, 1.0, 201)

    def columns(theta):
        w = theta[0][0]
        return [np.tanh(v / w)[:, None]], [(-v / w**2 / np.cosh(v / w) ** 2)[:, None, None]]

    tau = 3.0 * np.tanh(v / 0.2)
    found = fit_shapes(
        columns, [np.zeros((201, 0))], [tau], np.ones(1), [np.array([0.5])], [np.array([0.05])], [np.array([1.0])], "t"
    )
    np.testing.assert_allclose([found.theta[0][0], found.amplitudes[0][0]], [0.2, 3.0], rtol=1e-6)


@pytest.mark.claim("friction is chosen where the torques of a joint are left out")
def test_a_joint_without_torques_keeps_linear_friction(robot):
    data = Processing(cutoff=8.0).apply(simulated(robot, truth)).only([0, 1, 2, 3, 5])
    found = choose_friction(Model(robot), data, ("linear", "stribeck", "linear+load"))
    assert found.friction.joints[4].law.name == "linear" and found.friction.joints[2].law.name == "stribeck"
    assert np.isfinite(found.fit.beta).all()


@pytest.mark.claim("friction that drives, or that a load makes smaller, is not chosen")
def test_laws_against_physics_are_not_chosen(robot):
    data = Processing(cutoff=8.0).apply(
        simulated(robot, lambda k, v, load, q: 4.0 * v + 6.0 * np.sign(v) - 0.08 * np.abs(load) * np.sign(v))
    )
    found = choose_friction(Model(robot), data, ("linear", "linear+load"))
    loaded = [row for row in found.table if row.law == "linear+load" and row.joint == "shoulder_lift_joint"]
    assert not loaded[0].physical and not loaded[0].chosen
    assert loaded[0].held_out < next(
        r.held_out for r in found.table if r.joint == loaded[0].joint and r.law == "linear"
    )


def test_the_choice_is_repeated_without_each_part(robot, monkeypatch):
    seen = []
    run = CandidateFits.run
    monkeypatch.setattr(CandidateFits, "run", lambda self, apart=(): (seen.append(list(apart)), run(self, apart))[1])
    data = Processing(cutoff=8.0).apply(simulated(robot, truth))
    search = FrictionSearch(Model(robot), data, ("linear", "linear+load"))
    assert not search.is_linear
    assert all(search.without(part, 4)[1] == 1 for part in range(4))
    assert seen == [[], [0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]


def test_compressed_candidates_are_those_of_the_model_with_friction(robot):
    data = Processing(cutoff=8.0).apply(simulated(robot, truth))
    search = FrictionSearch(Model(robot, ("rotor",)), data, ("linear", "stribeck+load"))
    made = search.data([0, 5, 9, 0, 0, 0])
    fresh = compress(made.model, search.samples)
    assert made.base.names == fresh.base.names
    for mine, theirs in zip(made.factors, fresh.factors, strict=True):
        np.testing.assert_allclose(mine.T @ mine, theirs.T @ theirs, rtol=1e-7, atol=1e-7 * np.abs(theirs).max() ** 2)


@pytest.mark.claim("friction that drives beyond the speeds that were recorded is not chosen")
def test_friction_that_drives_at_higher_speeds_is_not_lawful():
    law = Dictionary(0, [JointFriction(friction_model("polynomial"))])
    rows = law.signs(1.0, 0.0, limit=2.0)[0]
    amplitudes = np.array([1.0, 1.0, 0.0, -0.5, 0.0])  # v + sign(v) - v^3 / 2: positive up to 1.77 rad/s
    assert (rows @ amplitudes).min() < 0
    assert (law.signs(1.0, 0.0, limit=1.1)[0] @ amplitudes).min() >= 0


@pytest.mark.parametrize("low", [0.0, 0.05])
def test_slopes_of_the_reduced_squares_are_derivatives(low):
    """At any shapes, of two joints with weights: half the squared residual's gradient is Kaufman's, exactly."""
    rng = np.random.default_rng(2)
    v, W = rng.normal(size=(2, 40)), [rng.normal(size=(40, 3)) for _ in range(2)]
    tau, weights = [rng.normal(size=40) for _ in range(2)], np.array([2.0, 0.5])

    def columns(theta):
        w, (s, r) = theta[0][0], theta[1]
        first = np.column_stack([np.tanh(v[0] / w), v[0]])
        second = (np.exp(-((v[1] / s) ** 2)) * np.sin(r * v[1]))[:, None]
        slopes = [np.zeros((40, 2, 1)), np.zeros((40, 1, 2))]
        slopes[0][:, 0, 0] = -v[0] / w**2 / np.cosh(v[0] / w) ** 2
        slopes[1][:, 0, 0] = 2 * v[1] ** 2 / s**3 * second[:, 0]
        slopes[1][:, 0, 1] = np.exp(-((v[1] / s) ** 2)) * v[1] * np.cos(r * v[1])
        return [first, second], slopes

    span = np.array([1.0, 2.0, 3.0])
    made = _variable_projection._Reduced(columns, W, tau, weights, np.full(3, low), span, np.array([0, 1, 3]))
    at = np.array([0.4, 0.5, 0.6])
    theta = low + span * at
    C, _ = columns([theta[:1], theta[1:]])
    X = np.zeros((80, 6))
    for k, place in enumerate((slice(3, 5), slice(5, 6))):
        X[40 * k : 40 * k + 40, :3], X[40 * k : 40 * k + 40, place] = weights[k] * W[k], weights[k] * C[k]
    y = np.concatenate([w * t for w, t in zip(weights, tau, strict=True)])
    x = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(made.residual(at), (y - X @ x) / np.linalg.norm(y), atol=1e-10)
    found = made.shapes(at, 7)
    np.testing.assert_allclose(np.concatenate(found.amplitudes), x[3:], rtol=1e-8)
    np.testing.assert_allclose(np.concatenate(found.theta), theta)
    assert found.objective == pytest.approx(np.sum((y - X @ x) ** 2)) and found.iterations == 7

    def half(point):
        r = made.residual(point)
        return r @ r / 2

    numeric = [(half(at + d) - half(at - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(made.jacobian(at).T @ made.residual(at), numeric, rtol=1e-4, atol=1e-9)


def test_shapes_lie_between_bounds_that_are_not_zero():
    v = np.linspace(-1.0, 1.0, 101)

    def columns(theta):
        w = theta[0][0]
        return [np.tanh(v / w)[:, None]], [(-v / w**2 / np.cosh(v / w) ** 2)[:, None, None]]

    for low, high, expected in ((0.15, 0.4, 0.2), (0.25, 0.4, 0.25), (0.05, 0.1, 0.1)):
        bounds = ([np.array([low])], [np.array([high])])
        found = fit_shapes(
            columns, [np.zeros((101, 0))], [3 * np.tanh(v / 0.2)], np.ones(1), [np.array([high])], *bounds, "t"
        )
        assert found.theta[0][0] == pytest.approx(expected, rel=1e-4)


def test_friction_of_one_joint_is_refused_where_nothing_determines_it():
    v = np.linspace(-1.0, 1.0, 12)
    law = friction_model("smooth")
    assert 3 * law.complexity == 12
    assert fit_friction(v, np.tanh(v / 0.2), "smooth").rms < 1e-6
    for speed, torque, message in (
        (v[:11], v[:11], "11 samples up to 1 rad/s do not determine friction"),
        (0 * v, v, "do not determine friction"),
        (v, np.where(v > 0.9, np.nan, v), "entries that are not finite"),
        (np.where(v > 0.9, np.inf, v), v, "entries that are not finite"),
        (v[None], v[None], "vectors of one length"),
        (v, v[:5], r"got \(12,\) and \(5,\)"),
    ):
        with pytest.raises(DatasetError, match=message):
            fit_friction(speed, torque, "smooth")
    assert fit_friction(v, 0 * v, "linear").relative_error == 0.0


def test_a_joint_fit_with_a_dead_band_and_masks_is_the_linear_one():
    """A law without shapes: the joint fit's squares are those of weighted least squares, sample by sample."""
    arm = Model("spatial_2r", velocity_deadband=0.3)
    data = recording(arm, true_parameters(), samples=200, noise=0.1)
    rng = np.random.default_rng(3)
    tau = data.tau + 2.0 * np.sign(data.dq) * (np.abs(data.dq) >= 0.3)
    parts = [replace(data, tau=tau, mask=rng.random(tau.shape) > 0.3), replace(data, tau=tau)]
    found = fit_jointly(arm, parts, "linear", [1.0, 2.0])
    assert found.objective == pytest.approx(found.fit.objective, rel=1e-8)
    assert found.fit.rms.max() < 0.12 and found.shapes.shape == (2, 0)
    assert fit_jointly(Model("spatial_2r"), parts, "linear", [1.0, 2.0]).fit.rms.max() > 0.3


def test_laws_of_a_joint_are_tried_at_every_shape_and_finer_ones_within_bounds():
    laws = [friction_model(name) for name in ("linear", "smooth")]
    options = _choice._options(laws, 2.0)
    assert [o.theta for o in options] == [(), *laws[1].candidates(2.0)]
    assert [o.law.name for o in _choice._options([laws[1]], 0.0)] == ["linear"]
    low, high = laws[1].lower(2.0)[0], laws[1].upper(2.0)[0]
    near = [o.theta[0] for o in _choice._near(JointFriction(laws[1], (0.1,)), 1.7, 2.0)]
    np.testing.assert_allclose(near, [0.1 / 1.7, 0.1, 0.17])
    assert [o.theta[0] for o in _choice._near(JointFriction(laws[1], (high,)), 1.7, 2.0)] == [high / 1.7, high]
    assert _choice._near(JointFriction(laws[1], (low * 1.2,)), 1.7, 2.0)[0].theta[0] == low
    still = Dataset(np.arange(20.0), np.zeros((20, 2)), np.zeros((20, 2)))
    moving = [replace(still, dq=np.outer(np.linspace(-x, 0.5, 20), [1.0, 2.0])) for x in (3.0, 1.0)]
    assert _choice._speeds([still, *moving]) == [3.0, 6.0]


@pytest.mark.parametrize(("most", "every"), [(200, 1), (199, 2), (100, 2), (65, 4)])
def test_the_choice_looks_at_so_many_samples(monkeypatch, most, every):
    monkeypatch.setattr(_choice, "MOST_SAMPLES", most)
    data = Dataset(np.arange(100.0), np.arange(100.0)[:, None], np.zeros((100, 1)))
    for thin in _choice._thinned([data, data]):
        assert thin.q[:, 0].tolist() == list(range(0, 100, every))


def test_only_laws_of_the_load_keep_its_links():
    plain, loaded = (JointFriction(friction_model(name)) for name in ("linear", "linear+load"))
    assert _choice._friction([plain, loaded], (1.0,)).nominal == (1.0,)
    assert _choice._friction([plain, plain], (1.0,)).nominal is None


def test_shapes_of_the_choice_are_finer_than_the_grid():
    """A width between two that are tried: the nearest of the grid is off by a half, the chosen one by a fifth."""
    arm = Model("spatial_2r")
    data = recording(arm, true_parameters(), samples=500, noise=0.01)
    speed = np.abs(data.dq).max(axis=0)
    width = np.sqrt(0.05 * 0.12) * speed
    choice = choose_friction(arm, replace(data, tau=data.tau + 2.0 * np.tanh(data.dq / width)), ["linear", "smooth"])
    for joint, w in zip(choice.friction.joints, width, strict=True):
        assert joint.law.name == "smooth" and 0.8 < joint.theta[0] / w < 1.25


def test_a_choice_says_whether_every_joint_keeps_linear_friction():
    arm = Model("spatial_2r")
    data = recording(arm, true_parameters(), samples=500, noise=0.3)
    rubbing = 2.0 * np.sign(data.dq) + 3.0 * data.dq
    for tau, linear in ((rubbing, True), (rubbing + [[6.0, 0.0]] * np.tanh(data.dq / 0.5), False)):
        search = FrictionSearch(arm, replace(data, tau=data.tau + tau), ("linear", "smooth", "stribeck"))
        assert search.is_linear == linear
