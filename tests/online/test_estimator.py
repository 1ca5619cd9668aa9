"""On-line identification: equal to batch, physical at every instant, robust against odd data and bad input."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.inertia import pseudo_inertia
from casid.measurement import Dataset
from casid.online import Online, OnlineLoad, TorqueErrors, entropic_fit
from casid.regression import compress, wls
from casid.testing import plausible, recorded, recording
from tests.online.conftest import BODY, resting

KINDS = ("robot", "load", "load with correlation")


def smallest_eigenvalue(model: Model, values: np.ndarray) -> float:
    links = values[np.ravel(model.link_columns)].reshape(-1, 10)
    return float(np.linalg.eigvalsh(pseudo_inertia(links)).min())


def estimator(model: Model, kind: str, pi: np.ndarray, forgetting: float = 1.0) -> Online | OnlineLoad:
    weights = np.full(model.n, 10.0)
    if kind == "robot":
        return Online(model, weights, plausible(model), forgetting=forgetting)
    errors = TorqueErrors(correlation=0.5 * (kind != "load"))
    return OnlineLoad(model, pi, weights, BODY, forgetting=forgetting, errors=errors)


def state(online: Online | OnlineLoad) -> bytes:
    return pickle.dumps({name: value for name, value in online.__dict__.items() if name != "model"})


@pytest.fixture(scope="module", params=KINDS)
def running(request, model) -> tuple[Online | OnlineLoad, list[np.ndarray]]:
    """An estimator in the middle of its work, and its next samples: q, dq, ddq, tau, t."""
    t, q, dq, ddq, tau, pi = recorded(model, 640)
    online = estimator(model, request.param, pi)
    online.update(q[:600], dq[:600], ddq[:600], tau[:600], t[:600])
    online.estimate()
    return online, [v[600:] for v in (q, dq, ddq, tau, t)]


def put(place: Any, value: float):
    def changed(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[place] = value
        return array

    return changed


#: Which array, what is done to it, words of the message.
FAULTS = {
    "only the last sample is NaN": (0, put((-1, 2), np.nan), "q of joint 3, sample 39"),
    "infinite acceleration": (2, put((5, 0), -np.inf), "ddq of joint 1, sample 5"),
    "the last time is NaN": (4, put(-1, np.nan), "t of sample 39 is not a finite number"),
    "time goes back within the block": (4, put(10, 0.0), "time goes back by"),
    "time before the last block": (4, lambda t: t - 5.0, "at sample 0"),
    "too few joints": (0, lambda q: q[:, :3], r"q has shape \(40, 3\)"),
    "too few samples": (3, lambda tau: tau[:-1], "different numbers of samples"),
    "text": (0, lambda q: "abc", "q: expected numbers, got text"),
    "rows of unequal length": (0, lambda q: [[1.0, 2.0], [3.0]], "q: expected numbers"),
    "complex numbers": (0, lambda q: q + 1j, "q: holds complex numbers"),
    "truth values": (0, lambda q: q > 0, "q: expected numbers, got true or false"),
    "torque beyond measure": (3, put((3, 3), 1e300), "joint 4, sample 3 is too large"),
    "velocity whose square is beyond measure": (1, put((3, 3), 1e50), "equation of joint"),
}  # fmt: skip


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


def test_a_joint_at_rest_does_not_wind_up_forgetting(model):
    """Minutes without motion of most joints: what was known of them stays known."""
    t, q, dq, ddq, tau, pi = recorded(model, 800)
    online = Online(model, np.full(model.n, 20.0), plausible(model), forgetting=0.99)
    online.update(q, dq, ddq, tau, t)
    before = online.information.covariance()
    push = 0.05 * np.random.default_rng(3).normal(size=(6000, model.n))
    online.update(*resting(model, t, q, pi, 6000, push))
    after = online.information.covariance()
    assert np.trace(after) <= 1.5 * np.trace(before)
    assert smallest_eigenvalue(model, online.estimate().parameters.values) > 0


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


@pytest.mark.parametrize(("samples", "moves"), [(1, 0.0), (1, 1.0), (2, 1.0), (9, 1.0)])
def test_samples_too_few_to_tell_of_the_noise_make_no_claims(model, samples, moves):
    _, q, dq, ddq, tau, _ = recorded(model, samples)
    online = Online(model, np.full(model.n, 20.0), plausible(model))
    online.update(q, moves * dq, moves * ddq, tau)
    assert np.isinf(online.estimate().sd).all()


@pytest.mark.claim("intervals of beta hold for any forgetting")
@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.9])
def test_standard_deviations_are_those_of_the_errors_for_any_forgetting(model, forgetting):
    t, q, dq, ddq, tau, pi = recorded(model, 1500, noise=0.1)
    online = Online(model, np.full(model.n, 10.0), plausible(model), forgetting=forgetting)
    online.update(q, dq, ddq, tau, t)
    estimate = online.estimate()
    ratio = (estimate.beta - model.base.K @ pi) / estimate.sd
    assert 0.5 < np.sqrt(np.mean(ratio**2)) < 1.3
    inside = (estimate.intervals[:, 0] <= model.base.K @ pi) & (model.base.K @ pi <= estimate.intervals[:, 1])
    assert inside.mean() > 0.85


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_block_is_reported_and_changes_nothing(running, fault):
    online, block = running
    place, change, words = FAULTS[fault]
    given = [change(v) if k == place else v for k, v in enumerate(block)]
    before = state(online)
    with pytest.raises(DatasetError, match=words):
        online.update(*given)
    assert state(online) == before


def test_no_sample_at_all_is_reported(running):
    online, block = running
    before = state(online)
    with pytest.raises(DatasetError, match="q: expected at least one sample"):
        online.update(*(v[:0] for v in block))
    with pytest.raises(DatasetError, match="shape"):
        online.update(*[np.zeros(0)] * 5)
    assert state(online) == before


def test_times_that_stay_or_leap_are_time_that_goes_on(running):
    """A clock of low resolution repeats itself; after a pause of years the estimator is still of use."""
    online, (q, dq, ddq, tau, t) = running
    for times in (np.full_like(t, t[0]), np.where(np.arange(len(t)) > 10, t + 1e9, t)):
        own = copy.deepcopy(online, {id(online.model): online.model})
        own.update(q, dq, ddq, tau, times)
        assert own.time == times[-1]
        assert np.isfinite(own.information.R).all()
        assert own.estimate().entropic.suboptimality < 1e-6
        assert not getattr(own, "changes", [])


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_before_any_data_and_after_one_sample_is_a_body_without_claims(model, kind):
    t, q, dq, ddq, tau, pi = recorded(model, 1)
    online = estimator(model, kind, pi)
    for _ in range(2):
        estimate = online.estimate()
        if kind == "robot":
            assert np.isinf(estimate.sd).all()
            values = estimate.parameters.values[np.ravel(model.link_columns)].reshape(-1, 10)
        else:
            assert np.isinf(estimate.interval[1])
            values = estimate.parameters[None]
        assert np.linalg.eigvalsh(pseudo_inertia(values)).min() > 0
        online.update(q[0], dq[0], ddq[0], tau[0], t[0])


@pytest.mark.parametrize("steps", [-1, 2.5, None, "many"])
def test_steps_that_are_no_number_of_steps_are_refused(running, steps):
    with pytest.raises(DatasetError, match="iterations"):
        running[0].estimate(steps)


SETTINGS: dict[str, list[Any]] = {
    "weights": [np.zeros(7), -np.ones(7), np.ones(3), np.full(7, np.nan), 1.0, None, "a"],
    "forgetting": [0.0, -1.0, 1.5, np.nan, None, "x"],
    "mu": [0.0, -1.0, np.nan, np.inf, None, "x"],
    "gain": [-1.0, np.nan, [1.0, 2.0], None, "x"],
    "correlation": [-0.1, 1.0, np.nan, [0.1, 0.2], None, "x"],
    "parameters": [np.zeros(5), np.nan, None, "x"],
    "plausible": [-BODY, 0 * BODY, BODY[:9], np.full(10, np.nan), None, "x"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SETTINGS.items() for value in values])
def test_settings_that_make_no_sense_are_refused(model, name, value):
    pi = model.parameters(model.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], model.n))
    own: dict[str, Any] = {"parameters": pi, "weights": np.ones(7), "plausible": BODY}
    own |= {"errors": TorqueErrors(**{name: value})} if name in ("gain", "correlation") else {name: value}
    with pytest.raises(DatasetError, match=name):
        OnlineLoad(model, **own)
    if name in ("weights", "forgetting", "mu"):
        with pytest.raises(DatasetError, match=name):
            Online(model, **{"weights": np.ones(7), "plausible": plausible(model), name: value})


@pytest.mark.claim("estimates with much information reach the optimum; one that is cut short goes on and warns")
def test_an_estimate_that_was_cut_short_goes_on_and_warns(model):
    t, q, dq, ddq, tau, _ = recorded(model, 160)
    online = Online(model, np.full(model.n, 1e4))
    online.update(q, dq, ddq, tau, t)
    whole = copy.copy(online).estimate()
    assert np.isfinite(whole.suboptimality)
    weights = []
    for _ in range(4):
        if online._last is None or online._last.suboptimality == np.inf:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = online.estimate(iterations=25)
            weights.append(online._last.weight)
            assert bool(caught) == (found.suboptimality == np.inf)
            assert smallest_eigenvalue(model, np.asarray(found.parameters.values)) > 0
    assert len(weights) >= 2
    assert weights[1] < weights[0]


@pytest.mark.claim("intervals on line count errors that repeat from sample to sample")
@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_intervals_hold_the_truth_where_errors_repeat(correlation):
    """As samples come one by one or in blocks."""
    arm = Model("three_link", ("viscous", "coulomb", "offset"))
    truth = np.random.default_rng(0).uniform(0.5, 1.0, len(arm.parameter_names))
    clean, held = recording(arm, truth, samples=1500), []
    exact = arm.base.values(truth)
    for seed in range(12):
        white = 0.1 * np.random.default_rng(seed).normal(size=clean.tau.shape)
        online = Online(arm, np.full(3, 10.0))
        tau = clean.tau + lfilter([1.0], [1.0, -correlation], white, axis=0)
        for part in (slice(0, 1), slice(1, 400), slice(400, 1500)):
            online.update(clean.q[part], clean.dq[part], clean.ddq[part], tau[part])
        low, high = online.estimate().intervals.T
        held.append((low <= exact) & (exact <= high))
    assert 0.88 < np.mean(held) < 0.995
