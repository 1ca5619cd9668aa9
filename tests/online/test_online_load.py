"""On-line estimation of a load: detection, mass, and intervals with correlated noise and torque scales."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.inertia import to_standard
from casid.online import OnlineLoad, StateNoise, TorqueErrors
from casid.testing import recorded
from tests.online.conftest import BODY, LOAD, carrying, resting


def test_a_load_is_noticed_and_weighed(model):
    t, q, dq, ddq, free, pi = recorded(model, 2400, noise=0.2)
    *_, loaded, _ = recorded(model, 2400, LOAD, noise=0.2)
    tau = np.where((np.arange(2400) < 1200)[:, None], free, loaded)
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    assert not online.update(q[:1200], dq[:1200], ddq[:1200], tau[:1200], t[:1200])
    assert online.estimate().mass < 0.1
    assert online.update(q[1200:], dq[1200:], ddq[1200:], tau[1200:], t[1200:])
    assert 12.0 <= online.changes[0] <= 12.3
    assert len(online.changes) == 1
    estimate = online.estimate()
    assert estimate.mass == pytest.approx(2.0, rel=0.02)
    assert estimate.interval[0] <= 2.0 <= estimate.interval[1]
    assert np.abs(estimate.com - [0.03, -0.02, 0.08]).max() < 0.01


def test_a_load_with_a_correlated_residual_is_that_of_generalised_least_squares(model):
    a, count = 0.8, 400
    t, q, dq, ddq, tau, pi = carrying(model, count, noise=0.0)
    white = np.random.default_rng(6).normal(size=tau.shape)
    tau = tau + 0.2 * np.asarray(lfilter([np.sqrt(1 - a**2)], [1, -a], white, axis=0))
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY, errors=TorqueErrors(correlation=a))
    for part in (slice(0, 1), slice(1, 150), slice(150, count)):
        online.update(q[part], dq[part], ddq[part], tau[part], t[part])
    Y = model.regressor(q, dq, ddq)
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
        OnlineLoad(model, pi, np.full(model.n, 5.0), BODY, errors=TorqueErrors(correlation=1.0))


def test_two_changes_in_quick_succession_are_both_noticed(model):
    """The comparison knows how well either side is known: no dead time after an alarm."""
    first, second = (to_standard(m, [0.02, 0.0, 0.06], np.diag([m * 2e-3] * 3)) for m in (2.0, 0.7))
    t, q, dq, ddq, tau, pi = recorded(model, 2000, noise=0.2)
    for start, load in ((1000, first), (1080, second)):
        tau[start:] = recorded(model, 2000, load, noise=0.2)[4][start:]
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    online.update(q, dq, ddq, tau, t)
    assert len(online.changes) == 2
    assert 10.8 <= online.changes[1] <= 11.5
    low, high = online.estimate().intervals["m"]
    assert low <= 0.7 <= high


def test_intervals_know_of_correlated_noise_and_of_torque_scales(model):
    t, q, dq, ddq, tau, pi = carrying(model, 1500, noise=0.0)
    rng = np.random.default_rng(5)
    white = 0.2 * rng.normal(size=tau.shape)
    slow = np.asarray(lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], white, axis=0))

    def width(noise: np.ndarray, gain_error: float = 0.0) -> float:
        online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY, errors=TorqueErrors(gain=gain_error))
        online.update(q, dq, ddq, tau + noise, t)
        low, high = online.estimate().interval
        return high - low

    assert width(slow) > 2.5 * width(white)
    assert width(white, 0.05) > 0.05 * 2.0


def test_inputs_that_samples_do_not_hold_are_refused(model):
    free = Model(model.robot, gravity="input")
    with pytest.raises(DatasetError, match="input 'gravity'"):
        OnlineLoad(free, free.robot.standard_parameters(), np.ones(free.n), BODY)


@pytest.mark.parametrize("mass", [200.0, -1.0])
def test_a_load_of_absurd_or_negative_mass_is_solved_with_its_proof(model, mass):
    load = to_standard(1.0, [0.03, -0.02, 0.08], 3e-3 * np.eye(3)) * mass
    t, q, dq, ddq, tau, pi = carrying(model, 600, load)
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    online.update(q, dq, ddq, tau, t)
    estimate = online.estimate()
    assert estimate.entropic.suboptimality <= 1e-6 * estimate.entropic.objective
    if mass > 0:
        assert estimate.interval[0] <= estimate.mass <= estimate.interval[1]


@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.9])
def test_what_a_joints_scale_does_to_the_load_is_what_is_stated(model, forgetting):
    t, q, dq, ddq, _, free = carrying(model, 150)
    q[90:], dq[90:], ddq[90:] = q[90], 0.0, 0.0
    own = free.copy()
    own[list(model.link_columns[-1])] += LOAD
    without, loaded = (model.inverse_dynamics(q, dq, ddq, p) for p in (free, own))

    def estimator(scales: np.ndarray) -> OnlineLoad:
        online = OnlineLoad(model, free, np.full(model.n, 5.0), BODY, forgetting, errors=TorqueErrors(gain=0.05))
        online.update(q, dq, ddq, without + (loaded - without) * scales, t)
        return online

    online = estimator(np.ones(model.n))
    expected = np.zeros((10, 10))
    for joint in range(model.n):
        moved = estimator(1 + 0.05 * np.eye(model.n)[joint]).information.estimate - online.information.estimate
        expected += np.outer(moved, moved)
    least = online.information.covariance(max(online.information.variance, online.noise.variance))
    stated = online.estimate().covariance - least * online.noise.inflation()
    assert stated == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(expected).max())


def test_after_a_gap_residuals_do_not_speak_of_those_before_it(model):
    """The correlation is that of samples a period apart: the first one after a gap counts as the first one of all."""
    t, q, dq, ddq, tau, pi = recorded(model, 200)
    apart = np.where(np.arange(200) >= 100, t + 10.0, t)
    weights, errors = np.full(model.n, 10.0), TorqueErrors(correlation=0.5)
    whole, first, second = (OnlineLoad(model, pi, weights, BODY, errors=errors) for _ in range(3))
    whole.update(q, dq, ddq, tau, apart)
    first.update(q[:100], dq[:100], ddq[:100], tau[:100], t[:100])
    second.update(q[100:], dq[100:], ddq[100:], tau[100:], t[100:])
    squares = [e.information.R.T @ e.information.R for e in (whole, first, second)]
    assert squares[0] == pytest.approx(squares[1] + squares[2], rel=1e-9, abs=1e-9)


@pytest.mark.claim("friction of joints at rest is no load")
def test_a_robot_whose_friction_holds_it_at_rest_raises_no_alarm_and_keeps_its_estimate(model):
    """At rest torques anywhere within the band of dry friction, 0.4 N.m either way, at noise of 0.02."""
    t, q, dq, ddq, tau, pi = recorded(model, 1500, LOAD, noise=0.02)
    own = pi.copy()
    own[list(model.link_columns[-1])] -= LOAD
    held = np.random.default_rng(1).uniform(-0.4, 0.4, (4, model.n)).repeat(100, axis=0)
    size = np.full(model.n, 0.02)
    found = {}
    for name, state in (("known", StateNoise(size, np.full(model.n, 1e-3), 0.0 * size)), ("unknown", None)):
        online = OnlineLoad(model, own, np.full(model.n, 50.0), BODY, errors=TorqueErrors(state=state))
        online.update(q, dq, ddq, tau, t)
        before = online.estimate()
        online.update(*resting(model, t, q, pi, 400, held))
        found[name] = len(online.changes), abs(online.estimate().mass - before.mass)
    assert found["known"][0] == 0 and found["known"][1] < 1e-3
    assert found["unknown"][0] > 0 or found["unknown"][1] > 1e-2


@pytest.mark.claim("torques that no physical load explains raise no alarm")
def test_a_deviation_that_no_load_explains_raises_no_alarm(model):
    """A hand carries the arm for 0.2 s, which only a load of negative mass would explain; then a load."""
    t, q, dq, ddq, free, pi = recorded(model, 2400, noise=0.2)
    *_, loaded, _ = recorded(model, 2400, LOAD, noise=0.2)
    tau = np.where((np.arange(2400) < 1800)[:, None], free, loaded)
    tau[1200:1220] -= 2.0 * (loaded - free)[1200:1220]
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    online.update(q, dq, ddq, tau, t)
    assert len(online.changes) == 1 and 18.0 <= online.changes[0] <= 18.3
    assert online.estimate().mass == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    ("correlation", "forgetting"),
    [(0.5, 0.99), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((0.0, 1.0), (0.0, 0.99), (0.5, 1.0)))],
)
def test_a_loaded_robot_at_rest_for_minutes_keeps_what_it_knows(model, correlation, forgetting):
    t, q, dq, ddq, tau, pi = recorded(model, 800, LOAD, noise=0.1)
    own = pi.copy()
    own[list(model.link_columns[-1])] -= LOAD
    errors = TorqueErrors(correlation=correlation)
    online = OnlineLoad(model, own, np.full(model.n, 10.0), BODY, forgetting, errors=errors)
    online.update(q, dq, ddq, tau, t)
    before = online.estimate()
    push = 0.1 * np.random.default_rng(4).normal(size=(6000, model.n))
    online.update(*resting(model, t, q, pi, 6000, push))
    after = online.estimate()
    assert not online.changes
    assert after.mass == pytest.approx(2.0, rel=0.02)
    assert after.interval[0] <= 2.0 <= after.interval[1]
    assert after.interval[1] - after.interval[0] <= 3 * (before.interval[1] - before.interval[0])


@pytest.mark.claim(
    "a load that comes before the detector knows what is usual is found afterwards, and no interval is false"
)
@pytest.mark.parametrize(("picked_up", "mass", "correlation"), [(200, 2.0, 0.0), (450, 0.6, 0.9), (700, 0.2, 0.0)])
def test_a_load_picked_up_early_is_found(model, picked_up, mass, correlation):
    load = to_standard(mass, [0.03, -0.02, 0.08], 2e-3 * mass * np.eye(3))
    t, q, dq, ddq, free, pi = recorded(model, 1000, noise=0.0)
    loaded = recorded(model, 1000, load, noise=0.0)[4]
    white = 0.2 * np.random.default_rng(8).normal(size=free.shape)
    noise = lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], white, axis=0)
    tau = np.where((np.arange(1000) < picked_up)[:, None], free, loaded) + noise
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    for part in (slice(0, 150), slice(150, 600), slice(600, 1000)):
        online.update(q[part], dq[part], ddq[part], tau[part], t[part])
        low, high = online.estimate().interval
        assert part.stop < picked_up or low <= mass <= high
    assert len(online.changes) == 1 and online.changes[0] >= t[picked_up]
    assert abs(online.since - t[picked_up]) < 0.2
    assert online.estimate().mass == pytest.approx(mass, rel=0.15)
