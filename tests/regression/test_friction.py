"""Friction laws, their shapes, and the choice among them."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Limits
from casid.description.joint_parameters import JointParameter
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction, friction_model
from casid.errors import DatasetError, SolveError
from casid.evidence import compared
from casid.measurement import Dataset, Processing
from casid.regression import choose_friction, compress, fit_friction, held_out_squares, ols
from casid.regression.friction import CANDIDATES, FrictionSearch, fit_jointly
from casid.testing import motion, recording
from problems.spatial_2r import true_parameters


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("ur10e")


def simulated(robot, friction, samples=6000):
    """A filtered recording of a robot with a known friction, as a function of (joint, velocity, load, position)."""
    model = Model(robot)
    t, q, dq, ddq = motion(model.n, samples, 0)
    load = model.inverse_dynamics(q, dq, ddq, robot.standard_parameters())
    rng = np.random.default_rng(1)
    tau = load + np.stack([friction(k, dq[:, k], load[:, k], q[:, k]) for k in range(model.n)], axis=1)
    raw = Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau + 0.3 * rng.normal(size=q.shape))
    return Processing(cutoff=8.0).apply(raw)


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
    data = simulated(robot, truth)
    return choose_friction(Model(robot), data, (*CANDIDATES, "sigmoid+offset", "linear+spring"))


def test_each_joint_gets_the_law_that_it_has(choice):
    names = [joint.law.name for joint in choice.friction.joints]
    assert [names[k] for k in (0, 3, 5)] == ["linear"] * 3
    assert names[1] == "linear+load" and names[2].startswith("stribeck") and names[4] == "linear+spring"
    values = choice.model.named(np.linalg.pinv(choice.fit.data.base.K) @ choice.fit.beta)
    assert values["fl2"] == pytest.approx(0.08, rel=0.05)  # with loads from the fit itself, not from a nominal model
    assert values["fc1"] == pytest.approx(5.0, rel=0.02)
    assert choice.friction.nominal is not None


def test_the_table_tells_what_was_tried(choice):
    rows = [row for row in choice.table if row.joint == "shoulder_lift_joint"]
    assert {row.law for row in rows} == {*CANDIDATES, "sigmoid+offset", "linear+spring"}
    best = [row for row in rows if row.chosen]
    assert len(best) == 1 and best[0].held_out < 0.7 * next(r.held_out for r in rows if r.law == "linear")
    assert all(row.held_out > 0 and row.training > 0 for row in choice.table)


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

    data = simulated(robot, lambda k, v, load, q: 6.0 * v * np.abs(v))
    choice = choose_friction(Model(robot), data, ["linear", Quadratic()])
    assert {joint.law.name for joint in choice.friction.joints} == {"quadratic"}
    with pytest.raises(DatasetError, match="unknown friction model 'brush'"):
        choose_friction(Model(robot), data, ["stribeck+brush"])
    with pytest.raises(DatasetError, match="two of its laws have the amplitude 'fc'"):
        friction_model("linear+smooth")


@pytest.mark.claim("a friction fit that does not converge is an error")
def test_a_fit_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr("casid.regression.friction._shape_fits.MOST_EVALUATIONS", 2)
    v = np.linspace(-2, 2, 401)
    tau = 0.4 * v + (1.0 + 0.5 * np.exp(-((v / 0.3) ** 2))) * np.tanh(v / 0.05)
    with pytest.raises(SolveError, match="stribeck friction of one joint: no convergence in 2 evaluations"):
        fit_friction(v, tau, "stribeck")


def shapes(found):
    """Of every joint, shape (n, shapes of the law)."""
    return np.array([joint.theta for joint in found.friction.joints])


def test_shapes_are_found_through_the_filter():
    robot = casid.load_robot("spatial_2r")
    model = Model(robot)
    pi = np.tile([0.2, 0.0, 0.0, 0.3, 0.0, 0.3, 0.5, 0.0, 0.0, 2.0], 2)
    t, q, dq, ddq = motion(2, 10_000, 3)
    tau = model.inverse_dynamics(q, dq, ddq, pi) + 2.0 * np.tanh(dq / 0.05) + 0.3 * dq
    settings = Processing(cutoff=None, torque_cutoff=5.0, velocity="measured", acceleration="measured")
    data = settings.apply(Dataset(t, q, tau, dq, ddq))
    found = fit_jointly(model, data, "smooth")
    np.testing.assert_allclose(shapes(found), [[0.05], [0.05]], rtol=0.01)
    unfiltered = fit_jointly(model, replace(data, full=None), "smooth")
    assert np.abs(shapes(unfiltered) / 0.05 - 1).max() > 0.5


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
    assert smooth.rms > fit.rms
    assert smooth.relative_error == pytest.approx(100 * smooth.rms / np.sqrt(np.mean(stribeck**2)))
    with pytest.raises(DatasetError, match="unknown friction model 'brush'; known: linear, deadband, smooth, "):
        fit_friction(v, stribeck, "brush")
    with pytest.raises(DatasetError, match="friction 'dahl' depends on more than the velocity"):
        fit_friction(v, stribeck, "dahl")
    with pytest.raises(DatasetError, match="do not determine friction"):
        fit_friction(np.zeros(50), np.zeros(50))


def test_friction_and_inertia_together_recover_the_truth():
    robot = casid.load_robot("spatial_2r")
    plain = Model(robot)
    data = recording(plain, true_parameters(), samples=500, noise=1e-5)
    tau = np.array(data.tau)
    for k, (fv, fc, fs, w, vs) in enumerate([(0.5, 2.0, 1.0, 0.05, 0.3), (0.2, 1.0, 0.6, 0.04, 0.2)]):
        v = data.dq[:, k]
        tau[:, k] += fv * v + (fc + fs * np.exp(-((v / vs) ** 2))) * np.tanh(v / w)
    found = fit_jointly(plain, replace(data, tau=tau), "stribeck")
    np.testing.assert_allclose(shapes(found), [[0.05, 0.3], [0.04, 0.2]], rtol=1e-3)
    assert found.fit.relative_error < 1e-4
    base = found.fit.data.base
    assert found.fit.beta[base.row("fc1")] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.claim("friction is chosen where the torques of a joint are left out")
def test_a_joint_without_torques_keeps_linear_friction(robot):
    data = simulated(robot, truth).only([0, 1, 2, 3, 5])
    found = choose_friction(Model(robot), data, ("linear", "stribeck", "linear+load"))
    assert found.friction.joints[4].law.name == "linear" and found.friction.joints[2].law.name == "stribeck"
    assert np.isfinite(found.fit.beta).all()


@pytest.mark.claim("friction that drives, or that a load makes smaller, is not chosen")
def test_laws_against_physics_are_not_chosen(robot):
    data = simulated(robot, lambda k, v, load, q: 4.0 * v + (6.0 - 0.08 * np.abs(load)) * np.sign(v))
    found = choose_friction(Model(robot), data, ("linear", "linear+load"))
    rows = {row.law: row for row in found.table if row.joint == "shoulder_lift_joint"}
    loaded = rows["linear+load"]
    assert not loaded.physical and not loaded.chosen and loaded.held_out < rows["linear"].held_out


def test_a_joint_fit_with_a_dead_band_and_masks_is_the_linear_one():
    """A law without shapes: what is left is the noise where the dead band is known."""
    arm = Model("spatial_2r", velocity_deadband=0.3)
    data = recording(arm, true_parameters(), samples=200, noise=0.1)
    rng = np.random.default_rng(3)
    tau = data.tau + 2.0 * np.sign(data.dq) * (np.abs(data.dq) >= 0.3)
    parts = [replace(data, tau=tau, mask=rng.random(tau.shape) > 0.3), replace(data, tau=tau)]
    found = fit_jointly(arm, parts, "linear")
    assert found.fit.rms.max() < 0.12 and shapes(found).shape == (2, 0)
    assert fit_jointly(Model("spatial_2r"), parts, "linear").fit.rms.max() > 0.3


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


@pytest.fixture(scope="module")
def rubbing():
    """A planar arm with masks; joint 1 has smooth friction, joint 2 linear."""
    arm = Model("spatial_2r")
    data, rng = recording(arm, true_parameters(), samples=600, noise=0.5), np.random.default_rng(1)
    v = data.dq
    friction = 0.8 * v + np.column_stack([2 * np.tanh(v[:, 0] / 0.4), np.sign(v[:, 1])])
    mask = rng.random(v.shape) > 0.2
    mask[~mask.any(axis=1)] = True  # samples that count nowhere would shift the stretches by one sample
    return arm, replace(data, tau=data.tau + friction, mask=mask)


@pytest.mark.claim("held-out errors of friction laws are those of least squares without the part")
def test_held_out_errors_are_those_of_least_squares_without_the_part(rubbing):
    """Of one law at one shape, joint by joint: six folds of twelve stretches, compressed and fitted anew."""
    arm, data = rubbing
    weights = 1 / ols(compress(arm.with_friction(linear(2)), data)).rms
    table = FrictionSearch(arm, data, ("linear",)).table
    squares = held_out_squares(compress(arm.with_friction(linear(2)), data), 6, weights)
    expected = np.sqrt(squares.sum(axis=0) / data.mask.sum(axis=0))
    np.testing.assert_allclose([row.held_out for row in table], expected, rtol=1e-4)
    assert all(row.training < row.held_out for row in table)


def linear(n):
    return Friction(tuple(JointFriction(friction_model("linear")) for _ in range(n)))


@pytest.mark.claim("a friction law with more parameters is taken where it is surely better on what was held out")
@pytest.mark.parametrize("size", [0.1, 0.15, 0.2, 0.3, 0.5, 1.0])
def test_a_law_is_taken_where_it_is_surely_better(rubbing, size):
    """By the one comparison of the stretches' errors, at gains from nothing to much."""
    arm, data = rubbing
    v = data.dq[:, 0]
    tau = data.tau + np.column_stack([size * np.sin(3 * v), 0 * v])
    law = Sine()
    search = FrictionSearch(arm, replace(data, tau=tau), ("linear", law))
    plain = compress(arm.with_friction(linear(2)), replace(data, tau=tau))
    weights = 1 / ols(plain).rms
    joints = (JointFriction(law), JointFriction(friction_model("linear")))
    rich = compress(arm.with_friction(Friction(joints)), replace(data, tau=tau))
    losses = [np.log(held_out_squares(made, 6, weights)[:, 0] / counts(made)) for made in (plain, rich)]
    chosen = {row.law for row in search.table if row.chosen and row.joint == arm.robot.coordinates[0].name}
    assert chosen == {law.name if compared(*losses).better else "linear"}


def counts(data):
    return np.array([segment.counts[0] for segment in data.segments])


class Sine(FrictionLaw):
    """Linear friction and ``fw sin(3 v)``."""

    name = "sine"
    amplitudes = (*friction_model("linear").amplitudes, JointParameter("fw", "N.m", "fw sin(3 dq)"))

    def columns(self, signals, theta):
        return [signals.dq, signals.sign, 1, ca.sin(3 * signals.dq)]


@pytest.mark.claim("friction that drives beyond the speeds that were recorded is not chosen")
@pytest.mark.parametrize(("limit", "physical"), [(1.05, True), (3.0, False)])
def test_friction_that_drives_at_higher_speeds_is_not_lawful(limit, physical):
    """``v + sign(v) - v^3 / 2`` is positive up to 1.77 of the largest recorded speed."""
    arm = Model("spatial_2r")
    data = recording(arm, true_parameters(), samples=500)
    top = np.abs(data.dq).max(axis=0)
    v = data.dq / top
    limits = replace(Limits.unlimited(2), velocity=limit * top)
    arm = Model(replace(arm.robot, limits=limits))
    table = FrictionSearch(arm, replace(data, tau=data.tau + v + np.sign(v) - v**3 / 2), ("linear", "polynomial")).table
    assert [row.physical for row in table if row.law == "polynomial"] == [physical] * 2


def test_a_joint_fit_takes_slow_joints():
    """Speeds of some hundredths of a radian a second are found as those of several are."""
    arm = Model("spatial_2r")
    data = recording(arm, true_parameters(), samples=300)
    slow = replace(data, dq=0.01 * data.dq, ddq=1e-4 * data.ddq)
    width = 0.1 * np.abs(slow.dq).max(axis=0)
    tau = arm.inverse_dynamics(slow.q, slow.dq, slow.ddq, true_parameters())
    found = fit_jointly(arm, replace(slow, tau=tau + 2.0 * np.tanh(slow.dq / width)), "smooth")
    np.testing.assert_allclose(shapes(found)[:, 0], width, rtol=1e-3)


def test_the_samples_are_compressed_with_a_choice_as_by_compressing_them_anew(robot):
    data = simulated(robot, truth, samples=2000)
    search = FrictionSearch(Model(robot), data, ("linear", "linear+load", "linear+spring", "sigmoid+offset"))
    made = search.data(search.without(0, 5))
    anew = compress(made.model, search.samples)
    assert made.base.rank >= Model(robot).base.rank + 18
    for own, other in zip(made.factors, anew.factors, strict=True):
        np.testing.assert_allclose(own.T @ own, other.T @ other, rtol=1e-9, atol=1e-9 * np.abs(other).max() ** 2)
