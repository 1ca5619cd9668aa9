"""On-line identification: equal to batch, physical at every instant, honest about loads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import lfilter

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.loads._change import ChangeDetector, FadingWindow, RecentSamples, Sample
from casid.identification.loads._online_load import OnlineLoad, TorqueErrors
from casid.identification.online import Online, entropic_fit
from casid.identification.online._information import Information
from casid.inertia import pseudo_inertia, to_standard
from casid.inertia.entropic._estimate import Plausible, entropic_estimate
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.regression._statistics import ResidualNoise
from casid.testing.synthetic_online import TERMS, plausible, recorded


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("kuka_iiwa"), TERMS)


def smallest_eigenvalue(model: Model, values: np.ndarray) -> float:
    links = values[np.ravel(model.link_columns)].reshape(-1, 10)
    return float(np.linalg.eigvalsh(pseudo_inertia(links)).min())


def test_streaming_ends_at_the_batch_estimate_and_is_physical_all_along(model):
    t, q, dq, ddq, tau, _ = recorded(model)
    fit = wls(compress(model, Dataset(t, q, tau, dq, ddq)))
    online = Online.from_fit(fit, plausible(model))
    for k in range(0, len(t), 40):
        rows = slice(k, k + 40)
        online.update(q[rows], dq[rows], ddq[rows], tau[rows], t[rows])
        estimate = online.estimate()
        assert smallest_eigenvalue(model, estimate.parameters.values) > 0
        assert estimate.suboptimality < 1e-9 * estimate.entropic.objective
    assert np.abs(estimate.beta - fit.beta).max() <= 1e-9 * np.abs(fit.beta).max()
    assert np.allclose(estimate.sd, fit.sd, rtol=1e-6)


def test_the_stated_suboptimality_bounds_what_any_other_physical_point_gains(model):
    t, q, dq, ddq, tau, _ = recorded(model, 300)
    online = Online(model, np.full(model.n, 10.0), plausible(model))
    online.update(q, dq, ddq, tau, t)
    A = online.information.R @ model.base.K[:, online.order]
    best = entropic_estimate(A, online.information.rho, online.plausible, 1.0)
    for steps in range(1, best.iterations):
        early = entropic_estimate(A, online.information.rho, online.plausible, 1.0, iterations=steps)
        assert early.objective - best.objective <= early.suboptimality + 1e-9 * best.objective


def test_a_joint_at_rest_does_not_wind_up_forgetting(model):
    """Minutes without motion of most joints: what was known of them stays known."""
    t, q, dq, ddq, tau, pi = recorded(model, 800)
    online = Online(model, np.full(model.n, 20.0), plausible(model), forgetting=0.99)
    online.update(q, dq, ddq, tau, t)
    before = online.information.covariance()
    still = np.tile(q[-1], (6000, 1))
    zero = np.zeros_like(still)
    hold = np.asarray(model.inverse_dynamics(q[-1], zero[0], zero[0], pi)).ravel()
    rng = np.random.default_rng(3)
    online.update(still, zero, zero, hold + 0.05 * rng.normal(size=still.shape), t[-1] + 0.01 * np.arange(1, 6001))
    after = online.information.covariance()
    assert np.trace(after) <= 1.5 * np.trace(before)
    assert smallest_eigenvalue(model, online.estimate().parameters.values) > 0


@pytest.mark.parametrize("fault", ["nan", "back", "shape"])
def test_bad_samples_leave_the_state_as_it_was(model, fault):
    t, q, dq, ddq, tau, _ = recorded(model, 50)
    online = Online(model, np.ones(model.n), plausible(model))
    online.update(q[:40], dq[:40], ddq[:40], tau[:40], t[:40])
    before = online.information
    q2, t2 = q[40:].copy(), t[40:].copy()
    if fault == "nan":
        q2[3, 2] = np.nan
    if fault == "back":
        t2[5] = t2[0] - 1.0
    if fault == "shape":
        q2 = q2[:, :3]
    words = {"nan": "q of joint 3, sample 3", "back": "time goes back by", "shape": "expected"}[fault]
    with pytest.raises(DatasetError, match=words):
        online.update(q2, dq[40:], ddq[40:], tau[40:], t2)
    assert online.information is before


def test_directional_forgetting_fades_only_what_is_seen():
    rng = np.random.default_rng(1)
    information = Information.nothing(5).updated(rng.normal(size=(40, 5)), rng.normal(size=40))
    rows = np.zeros((1, 5))
    rows[0, :2] = 1.0, 2.0
    faded = information.forgotten(rows, 0.5)
    A, B = information.R.T @ information.R, faded.R.T @ faded.R
    seen = A @ rows.T
    expected = A - 0.5 * seen @ seen.T / (rows @ seen).item()
    assert np.allclose(B, expected, atol=1e-12 * np.abs(A).max())
    assert np.allclose(faded.estimate, information.estimate)


def test_a_load_is_noticed_and_weighed(model):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, free, pi = recorded(model, 2400, noise=0.2)
    *_, loaded, _ = recorded(model, 2400, load, noise=0.2)
    tau = np.where((np.arange(2400) < 1200)[:, None], free, loaded)
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
    assert not online.update(q[:1200], dq[:1200], ddq[:1200], tau[:1200], t[:1200])
    assert online.estimate().mass < 0.1
    assert online.update(q[1200:], dq[1200:], ddq[1200:], tau[1200:], t[1200:])
    assert 12.0 <= online.changes[0] <= 12.3
    assert len(online.changes) == 1
    estimate = online.estimate()
    assert estimate.mass == pytest.approx(2.0, rel=0.02)
    assert estimate.interval[0] <= 2.0 <= estimate.interval[1]
    assert np.abs(estimate.com - [0.03, -0.02, 0.08]).max() < 0.01


def alarms_of(
    targets_of: Callable[[int, np.ndarray], np.ndarray], samples: int, rng, noise: ResidualNoise
) -> list[int]:
    """Samples at which the detector raises the alarm; rows of 7 torques and 10 parameters are drawn, targets given."""
    detector, seen, alarms = ChangeDetector(10), Information.nothing(10), []
    for k in range(samples):
        rows = rng.normal(size=(7, 10))
        targets = targets_of(k, rows)
        if detector.update(rows, targets, seen, noise):
            alarms.append(k)
            seen = Information.nothing(10)
        else:
            seen = seen.updated(rows, targets)
    return alarms


def test_the_detector_is_silent_on_noise_and_finds_a_slight_change():
    rng = np.random.default_rng(2)

    def targets_of(k: int, rows: np.ndarray) -> np.ndarray:
        return rng.normal(size=7) + (rows @ np.full(10, 0.08) if k >= 3000 else 0.0)

    alarms = alarms_of(targets_of, 4000, rng, ResidualNoise(7))
    assert len(alarms) == 1
    assert 3000 <= alarms[0] <= 3300


@pytest.mark.claim("torques that are wrong now and then raise no alarm")
def test_the_detector_is_silent_on_single_torques_that_are_wrong_and_still_quick():
    """Student's noise of three degrees of freedom, and a spike of 100 deviations; then a change."""
    rng, noise = np.random.default_rng(2), ResidualNoise(7)

    def targets_of(k: int, rows: np.ndarray) -> np.ndarray:
        left = rng.standard_t(3, size=7) / np.sqrt(3) + 100.0 * (k == 3000) * np.eye(7)[2]
        noise.update(left)
        return left + (rows @ np.full(10, 1.0) if k >= 5500 else 0.0)

    alarms = alarms_of(targets_of, 6000, rng, noise)
    assert len(alarms) == 1
    assert 5500 <= alarms[0] <= 5505


@pytest.mark.claim("a statistic with longer tails than a chi-square raises no more alarms")
def test_the_alarm_level_follows_the_tails_of_what_is_usual():
    """Of a statistic with few degrees of freedom, the level is exceeded as often as is said."""
    rng, scale, freedom = np.random.default_rng(4), 20.0, 3.0
    window = FadingWindow(10, 30.0)
    for value in scale * rng.chisquare(freedom, 20_000):
        window.statistic = value
        window.learn(1e9, ResidualNoise(7))
    exceeded = scale * rng.chisquare(freedom, 1_000_000) > window.level(1e-4)
    assert 0.5e-4 < exceeded.mean() < 2e-4


def test_the_most_likely_beginning_of_a_new_load_is_where_it_was():
    rng = np.random.default_rng(5)
    for change in (25, 45):
        recent, seen = RecentSamples(60), Information.nothing(10).updated(50 * np.eye(10), np.zeros(10))
        for k in range(60):
            row = rng.normal(size=(7, 10))
            target = rng.normal(size=7) + (row @ np.full(10, 1.0) if k >= change else 0.0)
            recent.add(Sample(row, target, row, target, float(k), seen))
            seen = seen.updated(row, target)
        kept = recent.since_change()
        assert abs(kept[0].time - (change + 1)) <= 1
        assert kept[-1].time == 59.0
        assert recent.since_change() == []


@pytest.mark.claim("a change too slight to be noticed at once is not taken for noise")
def test_residuals_of_a_change_that_is_not_noticed_yet_do_not_raise_the_alarm_level():
    """The noise as it would be learnt beside the change: blocks of it have a mean, and its inflation grows."""
    rng, noise = np.random.default_rng(3), ResidualNoise(7)

    def targets_of(k: int, rows: np.ndarray) -> np.ndarray:
        targets = rng.normal(size=7) + (rows @ np.full(10, 0.12) if k >= 1000 else 0.0)
        noise.update(targets if k < 1000 else targets + 1.0)  # what the estimate before the change leaves
        return targets

    alarms = alarms_of(targets_of, 2000, rng, noise)
    assert noise.inflation(300.0) > 3.0
    assert len(alarms) == 1
    assert 1000 <= alarms[0] <= 1300


def test_a_load_with_a_correlated_residual_is_that_of_generalised_least_squares(model):
    a, count = 0.8, 400
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, tau, pi = recorded(model, count, load, noise=0.0)
    pi[list(model.link_columns[-1])] -= load
    white = np.random.default_rng(6).normal(size=tau.shape)
    tau = tau + 0.2 * np.asarray(lfilter([np.sqrt(1 - a**2)], [1, -a], white, axis=0))
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), body, errors=TorqueErrors(correlation=a))
    for part in (slice(0, 1), slice(1, 150), slice(150, count)):
        online.update(q[part], dq[part], ddq[part], tau[part], t[part])
    Y = np.asarray(evaluate_batch(model.regressor, q, dq, ddq))
    inverse = np.linalg.inv(a ** np.abs(np.subtract.outer(np.arange(count), np.arange(count))))
    own = Y[:, :, list(model.link_columns[-1])]
    left = tau - Y @ pi
    normal = sum(own[:, j].T @ inverse @ own[:, j] for j in range(model.n))
    right = sum(own[:, j].T @ inverse @ left[:, j] for j in range(model.n))
    expected = np.linalg.solve(normal, right)
    assert not online.changes
    assert online.information.estimate == pytest.approx(expected, abs=1e-7)
    assert online.noise.inflation() < 3.0
    with pytest.raises(DatasetError, match="correlation"):
        OnlineLoad(model, pi, np.full(model.n, 5.0), body, errors=TorqueErrors(correlation=1.0))


def test_all_samples_of_a_fit_at_once_say_what_they_say_one_by_one(model):
    t, q, dq, ddq, tau, _ = recorded(model, 300, noise=0.2)
    fit = wls(compress(model, Dataset(t, q, tau, dq, ddq)))
    online = Online.from_fit(fit)
    online.update(q, dq, ddq, tau, t)
    one_by_one, at_once = online.estimate(), entropic_fit(fit)
    assert at_once.count == one_by_one.count
    assert at_once.entropic.objective == pytest.approx(one_by_one.entropic.objective, rel=1e-8)
    assert at_once.parameters.values == pytest.approx(one_by_one.parameters.values, abs=1e-5)
    assert at_once.suboptimality < 1e-6


def test_two_changes_in_quick_succession_are_both_noticed(model):
    """The comparison knows how well either side is known: no dead time after an alarm."""
    first, second = (to_standard(m, [0.02, 0.0, 0.06], np.diag([m * 2e-3] * 3)) for m in (2.0, 0.7))
    t, q, dq, ddq, tau, pi = recorded(model, 2000, noise=0.2)
    for start, load in ((1000, first), (1080, second)):
        tau[start:] = recorded(model, 2000, load, noise=0.2)[4][start:]
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
    online.update(q, dq, ddq, tau, t)
    assert len(online.changes) == 2
    assert 10.8 <= online.changes[1] <= 11.5
    low, high = online.estimate().intervals["m"]
    assert low <= 0.7 <= high


def test_intervals_know_of_correlated_noise_and_of_torque_scales(model):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, tau, pi = recorded(model, 1500, load, noise=0.0)
    pi[list(model.link_columns[-1])] -= load
    rng = np.random.default_rng(5)
    white = 0.2 * rng.normal(size=tau.shape)
    slow = np.asarray(lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], white, axis=0))
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))

    def width(noise: np.ndarray, gain_error: float = 0.0) -> float:
        online = OnlineLoad(model, pi, np.full(model.n, 5.0), body, errors=TorqueErrors(gain=gain_error))
        online.update(q, dq, ddq, tau + noise, t)
        low, high = online.estimate().interval
        return high - low

    assert width(slow) > 2.5 * width(white)
    assert width(white, 0.05) > 0.05 * 2.0


@pytest.mark.claim("an estimate that is almost singular does not hold the next ones back")
def test_a_start_near_the_boundary_is_left_for_the_central_path():
    rng = np.random.default_rng(7)
    bodies = Plausible(to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))[None], np.zeros(0), np.zeros(0))
    truth = to_standard(2.4, [0.1, -0.1, 0.1], np.diag([0.02, 0.02, 0.01]))
    singular = to_standard(2.0, [0.3, 0.0, 0.0], np.diag([1e-9, 1e-9, 2e-9]) + 1e-12 * np.eye(3))
    for scale in (1.0, 10.0, 100.0):
        A = scale * rng.normal(size=(10, 10)) * np.array([1, 1, 1, 1, 1, 1, 5, 5, 5, 20.0])
        found = entropic_estimate(A, A @ truth, bodies, 1.0, singular)
        assert found.suboptimality <= 1e-9 * max(found.objective, 1.0)


def test_inputs_that_samples_do_not_hold_are_refused(model):
    free = Model(model.robot, gravity="input")
    with pytest.raises(DatasetError, match="input 'gravity'"):
        OnlineLoad(free, free.robot.standard_parameters(), np.ones(free.n), to_standard(1.0, [0, 0, 0.05], np.eye(3)))
