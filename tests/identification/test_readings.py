"""Other readings of a recording: each is another regressor at the samples, compared by residuals of plain rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import casid
from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms import Friction, JointFriction, friction_model
from casid.identification.diagnosis._readings import (
    Readings,
    moving,
    opposite_axis,
    plain_terms,
    widened,
    without_held,
    without_rest,
)
from casid.measurement import Dataset, Processing
from casid.testing import recording, with_friction
from tests.helpers import first_joints
from tests.identification.conftest import GRAVITY, serial

FRICTION = ("viscous", "coulomb", "offset")


def robot() -> Robot:
    """Four joints, the second of which slides."""
    kinds, axes = ("revolute", "prismatic", "revolute", "revolute"), ([0, 1, 0], [1, 0, 0], [0.6, 0.8, 0], [0, 0, 1])
    return serial("four", [[0.1, 0.2 * k, 0.3] for k in range(4)], axes, kinds, gravity=GRAVITY)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(robot(), FRICTION)


@pytest.fixture(scope="module")
def data(model) -> Dataset:
    truth = np.random.default_rng(0).uniform(0.5, 1.5, len(model.parameter_names))
    return recording(model, truth, samples=150, noise=0.2)


@pytest.fixture(scope="module")
def readings(model, data) -> Readings:
    return Readings(model, data, 60)


def rows(readings, gravity=GRAVITY, order=(0, 1, 2, 3), clock=1.0, shift=(0, 0, 0, 0), signs=(1, 1, 1, 1)):
    """The regressor of all samples, from a model with this gravity."""
    order, signs = list(order), np.array(signs)
    own = Model(replace(robot(), gravity=np.asarray(gravity, dtype=float)), FRICTION).regressor
    dq, ddq = ((signs * rates)[:, order] for rates in (readings.dq, readings.ddq))
    return own(signs * readings.q[:, order] + shift, clock * dq, clock**2 * ddq)


def residual(W, tau, mask):
    """Geometric mean of relative residuals: least squares with each joint by its residual, in three turns."""
    n = tau.shape[1]
    sizes = np.sqrt((np.where(mask, tau, 0.0) ** 2).mean(axis=0))
    joints = [k for k in range(n) if sizes[k] > 1e-3 * sizes.max()]
    left = dict.fromkeys(joints, 1.0)
    for _ in range(3):
        A = np.vstack([W[mask[:, k], k] / np.sqrt(mask[:, k].sum()) / sizes[k] / left[k] for k in joints])
        y = np.concatenate([tau[mask[:, k], k] / np.sqrt(mask[:, k].sum()) / sizes[k] / left[k] for k in joints])
        scale = np.linalg.norm(A, axis=0)
        scale[scale == 0] = 1.0
        x = np.linalg.lstsq(A / scale, y, rcond=1e-9)[0] / scale
        for k in joints:
            e = (tau[:, k] - W[:, k] @ x)[mask[:, k]]
            left[k] = max(np.sqrt(np.mean(e**2)) / sizes[k], 1e-4)
    return np.exp(np.mean(np.log(list(left.values()))))


def all_of(readings):
    return np.ones(readings.tau.shape, dtype=bool)


def test_samples_are_spread_over_the_motion(readings, data):
    at = np.linspace(0, 149, 60).astype(int)
    np.testing.assert_array_equal(readings.q, data.q[at])
    np.testing.assert_array_equal(readings.tau, data.tau[at])
    assert readings.possible and readings.mask.all()


def test_samples_at_rest_are_left_out(model, data):
    still = np.arange(150) < 75
    paused = replace(data, dq=np.where(still[:, None], 1e-9, data.dq))
    chosen = Readings(model, paused, 40)
    at = 75 + np.linspace(0, 74, 40).astype(int)
    np.testing.assert_array_equal(chosen.q, data.q[at])
    one = replace(data, dq=np.where(still[:, None] & (np.arange(4) != 1), 0.0, data.dq))  # a joint moves all the time
    np.testing.assert_array_equal(Readings(model, one, 150).q, data.q)
    few = replace(data, dq=np.where(np.arange(150)[:, None] < 111, 0.0, data.dq))
    np.testing.assert_array_equal(Readings(model, few, 150).q, data.q)  # 39 samples are too few for four joints


def test_regressors_are_those_of_other_robots(readings):
    for arguments in (
        {}, {"gravity": [9.81, 0, 0]}, {"order": [2, 1, 0, 3]}, {"clock": 2.5}, {"gravity": [0, 3, 0], "clock": 0.5},
    ):  # fmt: skip
        expected = rows(readings, **arguments)
        np.testing.assert_allclose(readings.regressor(**arguments), expected, atol=1e-9)
    np.testing.assert_allclose(readings.regressor(), rows(readings), atol=1e-9)


@pytest.mark.parametrize("masked", [False, True])
def test_the_residual_weights_each_joint_by_its_own(readings, masked):
    W, rng = rows(readings), np.random.default_rng(1)
    mask = rng.random(readings.tau.shape) > (0.3 if masked else -1.0)
    tau = readings.tau + rng.normal(size=readings.tau.shape) * [0.1, 5.0, 1.0, 0.5]
    before = readings.mask
    readings.mask = mask
    try:
        assert readings.residual(readings.regressor(), tau) == pytest.approx(residual(W, tau, mask), rel=1e-6)
        quiet = tau * [1.0, 1e-4, 1.0, 1.0]  # a torque of a ten-thousandth does not count
        assert readings.residual(W, quiet) == pytest.approx(residual(W, quiet, mask), rel=1e-6)
        assert readings.residual(W, 0 * tau) == 0.0
        exact = W @ np.linspace(1.0, 2.0, W.shape[2])
        assert readings.residual(W, exact) == pytest.approx(1e-4)
    finally:
        readings.mask = before


def test_gravity_along_each_axis(readings):
    found = list(readings.axes())
    assert [name for name, *_ in found] == ["+x", "-x", "+y", "-y", "+z", "-z"]
    for name, g, left in found:
        np.testing.assert_array_equal(g, (9.81 if name[0] == "+" else -9.81) * np.eye(3)["xyz".index(name[1])])
        assert left == pytest.approx(residual(rows(readings, g), readings.tau, all_of(readings)), rel=1e-6)


def test_the_direction_of_gravity_is_found_from_an_axis(data):
    """Gravity tilted by 0.2 rad; the residual there is that of the noise."""
    tilted = 9.81 * np.array([np.sin(0.2), 0.0, -np.cos(0.2)])
    truth = np.random.default_rng(0).uniform(0.5, 1.5, 52)
    made = recording(Model(replace(robot(), gravity=tilted), FRICTION), truth, samples=150, noise=0.05)
    own = Readings(Model(robot(), FRICTION), made, 100)
    before = own.residual(own.regressor())
    found, left = own.direction(GRAVITY)
    assert np.linalg.norm(found) == pytest.approx(9.81)
    assert np.arccos(found @ tilted / 9.81**2) < 0.07 < np.arccos(GRAVITY @ tilted / 9.81**2)
    assert left < 0.7 * before and left == pytest.approx(own.residual(own.regressor(found)), rel=1e-9)
    assert own.direction(GRAVITY, rounds=0) == (pytest.approx(GRAVITY), before)


@pytest.mark.parametrize("alone", [True, False], ids=["torques", "joints"])
def test_signs_and_orders(readings, alone):
    tau, every, here = readings.tau, all_of(readings), rows(readings)
    for k, left in readings.reversed(torques_only=alone):
        signs = np.where(np.arange(4) == k, -1.0, 1.0)
        own = here if alone else rows(readings, signs=signs)
        assert left == pytest.approx(residual(own, tau * signs, every), rel=1e-6)
    found = dict(readings.exchanged(torques_only=alone))
    assert list(found) == list(combinations(range(4), 2))
    for (i, j), left in found.items():
        order = np.arange(4)
        order[[i, j]] = order[[j, i]]
        own = here if alone else rows(readings, order=order)
        assert left == pytest.approx(residual(own, tau[:, order], every), rel=1e-6)


def test_zeros_are_shifted_to_the_parabola_s_minimum(readings):
    here, step = residual(rows(readings), readings.tau, all_of(readings)), 0.02
    found = list(readings.shifted(here, step))
    assert [k for k, *_ in found] == [2, 3]  # the first joint's zero is the base's; the second slides
    low, high = (
        residual(rows(readings, shift=(0, 0, s, 0)), readings.tau, all_of(readings)) ** 2 for s in (-step, step)
    )
    curve = low + high - 2 * here**2
    assert curve > 0
    best = step * np.clip((low - high) / (2 * curve), -3, 3)
    left = residual(rows(readings, shift=(0, 0, best, 0)), readings.tau, all_of(readings))
    assert found[0][1] == pytest.approx(best, rel=1e-4) and found[0][2] == pytest.approx(left, rel=1e-5)
    assert next(readings.shifted(10 * here, step))[1] == 0.0  # no minimum between
    for factor, left in readings.clocks([0.5, 2.0]):
        assert left == pytest.approx(residual(rows(readings, clock=factor), readings.tau, all_of(readings)), rel=1e-6)


def test_held_joints_do_not_count(data):
    """Beside another joint of its type: a fiftieth of its travel."""
    own = robot()
    assert moving(data, own).all()
    for share, moves in ((0.021, True), (0.019, False)):
        q = data.q.copy()
        q[:, 2] *= share * max(np.ptp(q[:, 0]), np.ptp(q[:, 3])) / np.ptp(q[:, 2])
        q[:, 1] *= 1e-6  # the only one that slides
        assert moving(replace(data, q=q), own).tolist() == [True, True, moves, True]
        kept = without_held(replace(data, q=q), own)
        assert (kept.mask is None) == moves
        if not moves:
            assert kept.mask.all(axis=0).tolist() == [True, True, False, True]
            mask = np.random.default_rng(2).random(q.shape) > 0.5
            both = without_held(replace(data, q=q, mask=mask), own).mask
            np.testing.assert_array_equal(both, mask & [True, True, False, True])
    nothing = replace(data, q=np.zeros_like(data.q))
    assert without_held(nothing, own) is nothing


@pytest.mark.parametrize(("parameters", "cutoff"), [(2, 2.0), (6, 10 * 6 * 100 / (2 * 400 * 3)), (60, 20.0)])
def test_a_filter_leaves_ten_torques_to_a_parameter(parameters, cutoff):
    """Up to a fifth of the rate; a wider one of its own stays."""
    t = 0.01 * np.arange(400)
    raw = Dataset(t, np.sin(np.outer(t, [1.0, 2.0, 3.0])), np.random.default_rng(3).normal(size=(400, 3)))
    filtered = Processing(cutoff=2.0, every=2, trim=0.0).apply(raw)
    assert len(filtered.full) == 400
    found = widened(filtered, parameters)
    assert found.full.low_pass.cutoff == pytest.approx(max(cutoff, 2.0))
    np.testing.assert_allclose(found.tau, found.full.low_pass(raw.tau)[found.full.index])
    if parameters == 2:
        assert found is filtered
    plain = replace(filtered, full=None)
    assert widened(plain, 60) is plain


def test_the_axis_against_gravity_has_a_name():
    assert [opposite_axis(np.array(g)) for g in ([0, 0, -9.8], [9, 1, -2], [0, -5, 4])] == ["+z", "-x", "+y"]


def test_friction_of_a_shape_is_read_as_linear(model, data):
    assert [term.name for term in plain_terms(model)] == list(FRICTION)
    dahl = friction_model("dahl")
    joints = tuple(JointFriction(dahl, dahl.start(1.0)) for _ in range(4))
    shaped = Model(robot()).with_friction(Friction(joints))
    assert plain_terms(shaped) == list(FRICTION)
    np.testing.assert_allclose(Readings(shaped, data, 60).regressor(), rows(Readings(model, data, 60)), atol=1e-9)


CUTOFF = 1.0


@pytest.mark.claim("friction's jumps pass the torques' filter where readings are compared")
def test_friction_that_jumps_is_explained_through_the_filter_of_the_torques():
    whole = casid.load_robot("kuka_iiwa")
    arm = first_joints(whole, 3)
    model, parameters = with_friction(arm, (0.4, 30.0, -0.1))
    made = recording(model, parameters, samples=4000)
    raw = Dataset(made.t, made.q, made.tau)
    processed = Processing(cutoff=20.0, torque_cutoff=CUTOFF, trim=0.5).apply(raw)
    readings = Readings(model, processed)
    assert readings.residual(readings.regressor()) < 0.01
    whole_jumps = Readings(model, processed)
    whole_jumps._dry = []
    assert whole_jumps.residual(whole_jumps.regressor()) > 0.05
    order = [1, 0, 2]
    exchanged = readings.regressor(order=order)
    columns = {k: c for c, (term, k) in model.term_columns.items() if term.name == "coulomb"}
    for k, column in columns.items():
        assert (exchanged[:, k, column] == readings.sign[:, order[k]]).all()


@pytest.mark.claim("friction at rest decides nothing about a remedy; poses alone are kept")
def test_torques_at_rest_are_left_out_unless_there_are_no_others():
    model, parameters = with_friction(casid.load_robot("kuka_iiwa"))
    data = recording(model, parameters, samples=400)
    still = np.arange(400) >= 200
    rest = {name: np.where(still[:, None], 0.0, getattr(data, name)) for name in ("dq", "ddq")}
    assert (without_rest(replace(data, **rest)).mask == ~still[:, None]).all()
    assert without_rest(data) is data
    poses = replace(data, dq=0.0 * data.dq, ddq=0.0 * data.ddq)
    assert without_rest(poses) is poses
