"""Many terms whose sizes the recordings decide: nothing is made of noise, and what is there is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

import casid
from casid.dynamics import Model
from casid.dynamics.terms import friction_dictionary
from casid.errors import DatasetError, RobotError
from casid.measurement import Dataset
from casid.online import OnlineLoad, TorqueErrors, shrunk, state_noise
from casid.regression import compress, torques, wls
from casid.testing import TERMS, motion
from tests.online.conftest import BODY

COUNT = 3000


@pytest.fixture(scope="module")
def rich() -> Model:
    return Model(casid.load_robot("ur10e"), (*TERMS, *friction_dictionary()))


def recording(rich: Model, seed: int, ripple: float, correlation: float = 0.9) -> Dataset:
    """Ripple ``sin(2 q) sign(dq)`` at every joint and residuals that repeat each other."""
    t, q, dq, ddq = motion(rich.n, COUNT, seed, periodic=False)
    plain = Model(rich.robot, TERMS)
    pi = plain.parameters(rich.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], rich.n))
    tau = plain.inverse_dynamics(q, dq, ddq, pi)
    white = np.random.default_rng(seed).normal(size=tau.shape)
    noise = np.asarray(lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], white, axis=0))
    return Dataset(t, q, tau + ripple * np.sin(2 * q) * np.sign(dq) + 0.3 * noise, dq, ddq)


def error(model: Model, parameters: np.ndarray, data: Dataset) -> float:
    return float(np.sqrt(np.mean((data.tau - torques(model, parameters, data)) ** 2)))


def test_of_noise_alone_next_to_nothing_is_made(rich):
    data, other = recording(rich, 1, 0.0), recording(rich, 2, 0.0)
    own = shrunk(rich, data)
    free = np.linalg.lstsq(rich.base.K, wls(compress(rich, data)).beta, rcond=None)[0]
    plain = Model(rich.robot, TERMS)
    best = np.linalg.lstsq(plain.base.K, wls(compress(plain, data)).beta, rcond=None)[0]
    without = error(plain, best, other)
    assert error(rich, own.parameters, other) < 1.02 * without
    assert error(rich, free, other) > 1.1 * without
    assert own.correlation == pytest.approx(np.full(rich.n, 0.9), abs=0.03)
    assert own.weights == pytest.approx(np.full(rich.n, 1 / 0.3), rel=0.2)  # some 160 independent samples
    assert 8.0 < own.inflation < 40.0  # 19 of an autoregression of 0.9


@pytest.mark.slow
def test_a_ripple_that_is_there_is_found_by_terms_of_its_kind(rich):
    """Harmonics of the same kind stand in for each other where a joint turns by less than a turn."""
    own = shrunk(rich, [recording(rich, 1, 1.0), recording(rich, 2, 1.0)])
    for joint in range(rich.n):
        sizes = {group: size for (group, k), size in own.sizes.items() if k == joint}
        assert max(sizes, key=sizes.get).startswith("signed")
    plain, other = Model(rich.robot, TERMS), recording(rich, 3, 1.0)
    best = np.linalg.lstsq(plain.base.K, wls(compress(plain, recording(rich, 1, 1.0))).beta, rcond=None)[0]
    assert error(rich, own.parameters, other) < 0.4 < error(plain, best, other)  # the noise has 0.3


def test_the_result_is_what_an_estimator_of_loads_asks_for(rich):
    own = shrunk(rich, recording(rich, 1, 1.0))
    online = OnlineLoad(rich, own.parameters, own.weights, BODY, errors=TorqueErrors(correlation=own.correlation))
    other = recording(rich, 4, 1.0)
    assert not online.update(other.q, other.dq, other.ddq, other.tau, other.t)
    assert online.estimate().interval[0] < 0.15


@pytest.mark.slow
def test_torques_that_are_masked_here_and_there_leave_the_correlation_as_it_is(rich):
    whole = recording(rich, 1, 0.0)
    mask = np.random.default_rng(2).uniform(size=whole.tau.shape) > 0.4
    own, part = shrunk(rich, whole), shrunk(rich, replace(whole, mask=mask))
    assert part.correlation == pytest.approx(own.correlation, abs=0.05)
    assert part.weights == pytest.approx(own.weights, rel=0.1)


@pytest.mark.claim("the speed below which friction holds a joint, and an error of timing, are found in the recordings")
def test_what_cannot_be_shrunk_is_refused():
    model = Model(casid.load_robot("ur10e"), TERMS)
    with pytest.raises(DatasetError, match="no term of the model has a prior"):
        shrunk(model, recording(Model(model.robot, (*TERMS, *friction_dictionary(1, 0, ()))), 1, 0.0))
    with pytest.raises(RobotError, match="no term"):
        friction_dictionary(0, 0, ())


@pytest.fixture(scope="module")
def planar():
    """A planar arm with two harmonics, one that is there, and its data."""
    arm = Model("three_link", (*TERMS, *friction_dictionary(2, 0, (0.1, 0.5))))
    t, q, dq, ddq = motion(3, 600, 1)
    pi = np.zeros(len(arm.parameter_names))
    rng = np.random.default_rng(0)
    terms = arm.term_columns
    for k in range(len(pi)):
        pi[k] = rng.uniform(0.5, 1.0) if k not in terms or terms[k][0].prior in (None, "harmonic 2") else 0.0
    tau = arm.inverse_dynamics(q, dq, ddq, pi)
    return arm, Dataset(t, q, tau + 0.3 * rng.normal(size=tau.shape), dq, ddq)


def test_terms_of_each_prior_shrink(planar):
    arm, recorded = planar
    assert {group for group, _ in shrunk(arm, recorded).sizes} == {"harmonic 1", "harmonic 2", "speeds"}


@pytest.mark.claim("widths of priors are those of largest marginal likelihood (MacKay's fixed point)")
def test_widths_are_at_mackay_s_fixed_point(planar):
    """``s_g^2 = |m_g|^2 / gamma_g``, from the normal equations of all parameters at the weights of the end."""
    arm, recorded = planar
    own = shrunk(arm, recorded)
    moving = np.abs(recorded.dq) >= own.state.speed
    R, rho, _ = compress(arm, replace(recorded, mask=moving)).stacked(own.weights / np.sqrt(own.inflation))
    groups: dict = {}
    for column, (term, joint) in arm.term_columns.items():
        if term.prior is not None:
            groups.setdefault((term.prior, joint), []).append(column)
    chosen = [c for columns in groups.values() for c in columns]
    order = [*np.setdiff1d(arm.base.independent, chosen), *chosen]
    flat = len(order) - len(chosen)
    s = np.concatenate([np.full(len(columns), own.sizes[key]) for key, columns in groups.items()])
    B = (R @ arm.base.K)[:, order]
    covariance = np.linalg.inv(B.T @ B + np.diag([*np.zeros(flat), *(1 / s**2)]))
    np.testing.assert_allclose(
        B @ covariance @ B.T @ rho, R @ arm.base.K @ own.parameters, atol=0.02 * np.abs(rho).max()
    )
    large = 0
    for key, columns in groups.items():
        at = [flat + chosen.index(c) for c in columns]
        gamma = len(at) - np.diag(covariance)[at].sum() / own.sizes[key] ** 2
        if own.sizes[key] * own.weights[key[1]] > 0.1:
            large += 1
            m = own.parameters[columns]
            assert own.sizes[key] ** 2 == pytest.approx(m @ m / gamma, rel=0.1)
    assert large >= 3


def test_a_joint_without_torques_has_no_weight(planar):
    arm, recorded = planar
    own = shrunk(arm, recorded.only([0, 2]))
    assert own.weights[1] == 0.0 == own.correlation[1] and (own.weights[[0, 2]] > 0).all()


def test_noise_at_rest_and_where_torques_change_is_that_of_the_recording():
    """Residuals of 0.1 in motion, anywhere within a band of 2 below 0.05 rad/s, and of 4 ms of timing."""
    rng, t = np.random.default_rng(0), np.arange(0.0, 60.0, 0.01)
    dq = np.sin(1.3 * t)[:, None] * np.ones(2)
    rate = 200.0 * np.cos(3.1 * t)[:, None] * np.ones(2)
    e = rng.normal(size=dq.shape) * np.hypot(0.1, 0.004 * rate)
    held = (np.abs(dq) < 0.05) & (np.arange(2) == 0)  # the first joint only
    e[held] = rng.uniform(-2.0, 2.0, held.sum()) - 2.0 * np.sign(dq[held])  # less the model's friction
    found = state_noise([e], [dq], [rate], [lambda v: 2.0 * np.sign(v)])
    assert 0.025 < found.speed[0] < 0.12 and found.speed[1] == 0.0
    assert found.size == pytest.approx([0.1, 0.1], rel=0.1)
    assert found.timing == pytest.approx([0.004, 0.004], rel=0.1)


def test_residuals_beyond_the_band_are_no_friction_at_rest():
    """A band of 1 does not explain residuals of 50: no speed is taken, however small the others are."""
    rng = np.random.default_rng(3)
    dq, e = np.ones((400, 1)), 0.1 * rng.normal(size=(400, 1))
    dq[:30], e[:30] = 1e-4, 50.0 * rng.choice([-1.0, 1.0], (30, 1))
    found = state_noise([e], [dq], [np.zeros((400, 1))], [lambda v: np.sign(v)])
    assert found.speed[0] == 0.0 and found.size[0] == pytest.approx(np.sqrt(np.mean(e**2)))
