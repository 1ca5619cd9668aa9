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
from casid.evidence import ResidualNoise
from casid.inertia import to_standard
from casid.measurement import Dataset
from casid.online import OnlineLoad, TorqueErrors
from casid.regression import compress, shrunk, torque_rate, torques, wls
from casid.regression._empirical_bayes import _fitted, _left
from casid.testing._synthetic import motion

TERMS = ("viscous", "coulomb", "offset")
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
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
    online = OnlineLoad(rich, own.parameters, own.weights, body, errors=TorqueErrors(correlation=own.correlation))
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
    with pytest.raises(RobotError, match="speeds must be positive"):
        friction_dictionary(speeds=(0.1, 0.0))
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


def test_widths_are_at_mackay_s_fixed_point(planar):
    """``s_g^2 = |m_g|^2 / gamma_g`` and the posterior mean, from the normal equations of all parameters."""
    arm, recorded = planar
    data = compress(arm, recorded)
    groups: dict = {}
    for column, (term, joint) in arm.term_columns.items():
        if term.prior is not None:
            groups.setdefault((term.prior, joint), []).append(column)
    weights = np.array([3.0, 2.0, 4.0])
    pi, sizes = _fitted(data, weights, groups)
    R, rho, _ = data.stacked(weights)
    A = R @ arm.base.K
    chosen = [c for columns in groups.values() for c in columns]
    s = np.concatenate([np.full(len(columns), sizes[key]) for key, columns in groups.items()])
    independent = np.setdiff1d([i for i in arm.base.independent], chosen)
    order = [*independent, *chosen]
    B = A[:, order]
    prior = np.concatenate([np.zeros(len(independent)), 1 / s**2])
    covariance = np.linalg.inv(B.T @ B + np.diag(prior))
    mean = covariance @ B.T @ rho
    own = mean[len(independent) :]
    np.testing.assert_allclose(A @ pi, B @ mean, atol=2e-3 * np.abs(rho).max())
    variances = np.diag(covariance)[len(independent) :]
    joints = {joint: 1 / weights[joint] for joint in range(3)}
    above = 0
    for key, columns in groups.items():
        at = [chosen.index(c) for c in columns]
        gamma = len(at) - variances[at].sum() / sizes[key] ** 2
        if sizes[key] > 2e-2 * joints[key[1]]:
            above += 1
            np.testing.assert_allclose(pi[columns], own[at], atol=0.01)
            assert sizes[key] ** 2 == pytest.approx(own[at] @ own[at] / gamma, rel=0.05)
    assert above >= 3
    assert all(1e-6 / w <= sizes[key] <= 1e3 / w for key in groups for w in [weights[key[1]]])


def test_only_the_priors_that_are_named_shrink(planar):
    arm, recorded = planar
    own = shrunk(arm, recorded, ["harmonic 2"])
    assert set(own.sizes) == {("harmonic 2", joint) for joint in range(3)}
    assert {group for group, _ in shrunk(arm, recorded).sizes} == {"harmonic 1", "harmonic 2", "speeds"}
    with pytest.raises(DatasetError, match="no term of the model has one of the priors a, b"):
        shrunk(arm, recorded, ["a", "b"])


def test_what_is_left_is_measured_on_moving_samples(planar):
    """Deviation and correlation of the residual, sample by sample, of two recordings with masks."""
    arm, recorded = planar
    rng = np.random.default_rng(3)
    pi = rng.normal(size=len(arm.parameter_names))
    recordings = [recorded.rows(slice(0, 350), ""), recorded.rows(slice(350, 600), "")]
    recordings = [replace(d, mask=rng.random(d.tau.shape) > 0.2) for d in recordings]
    left = _left(arm, pi, recordings)
    squares, products, count, pairs = np.zeros((4, 3))
    blocks = []
    for data, moving in zip(recordings, left.moving, strict=True):
        e = data.tau - torques(arm, pi, data)
        rate = np.vstack([np.zeros(3), np.diff(data.tau, axis=0) / np.diff(data.t)[:, None]])
        np.testing.assert_array_equal(moving, data.mask & (np.abs(data.dq) >= left.state.speed))
        scaled = np.where(moving, e / np.sqrt(1 + (left.state.timing * rate / left.state.size) ** 2), np.nan)
        blocks.append(scaled)
        for k in range(3):
            for i in range(len(data)):
                if moving[i, k]:
                    squares[k] += scaled[i, k] ** 2
                    count[k] += 1
                if i and moving[i, k] and moving[i - 1, k]:
                    products[k] += scaled[i, k] * scaled[i - 1, k]
                    pairs[k] += 1
    np.testing.assert_allclose(left.weights, np.sqrt(count / squares), rtol=1e-9)
    correlation = np.clip((products / pairs) / (squares / count), 0.0, 1 - 1 / count)
    np.testing.assert_allclose(left.correlation, correlation, rtol=1e-9)
    assert (left.correlation < 1 - 1 / count).any()
    small = [replace(d, tau=1e-4 * d.tau) for d in recordings]  # other units
    scaled = _left(arm, 1e-4 * pi, small)
    np.testing.assert_allclose(scaled.weights, 1e4 * left.weights, rtol=1e-6)
    np.testing.assert_allclose(scaled.correlation, left.correlation, rtol=1e-6)
    assert left.inflation == ResidualNoise.of([b * left.weights for b in blocks]).inflation() > 1.0


def test_a_joint_without_torques_has_no_weight(planar):
    arm, recorded = planar
    mask = np.ones(recorded.tau.shape, dtype=bool)
    mask[:, 1] = False
    left = _left(arm, np.zeros(len(arm.parameter_names)), [replace(recorded, mask=mask)])
    assert left.weights[1] == 0.0 == left.correlation[1] and (left.weights[[0, 2]] > 0).all()


def test_an_error_of_timing_does_not_count_as_size(planar):
    """Residuals of which a part grows with the torques' rate: the weights are those of the other part."""
    arm, recorded = planar
    rng = np.random.default_rng(5)
    pi = rng.normal(size=len(arm.parameter_names))
    tau = torques(arm, pi, recorded)
    late = 0.02 * torque_rate(tau, recorded.t) * rng.normal(size=tau.shape)
    left = _left(arm, pi, [replace(recorded, tau=tau + 0.05 * rng.normal(size=tau.shape) + late)])
    assert (left.state.timing > 0.005).all()
    assert left.weights == pytest.approx(1 / left.state.size, rel=0.15)
