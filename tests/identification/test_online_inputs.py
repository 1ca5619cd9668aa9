"""On-line identification against bad input: a clear error, and a state of which no bit has changed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.loads._online_load import OnlineLoad, TorqueErrors
from casid.identification.online import Online
from casid.inertia import pseudo_inertia, to_standard
from casid.inertia.entropic._estimate import Plausible
from casid.testing.synthetic_online import TERMS, plausible, recorded

BODY = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
KINDS = ("robot", "load", "load with correlation")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("kuka_iiwa"), TERMS)


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
    "time falls": (4, lambda t: t[::-1], "at sample 1"),
    "too few joints": (0, lambda q: q[:, :3], r"q has shape \(40, 3\)"),
    "too few samples": (3, lambda tau: tau[:-1], "different numbers of samples"),
    "too few times": (4, lambda t: t[:-1], "expected 40 times"),
    "three axes": (1, lambda dq: dq[None], r"dq has shape \(1, 40, 7\)"),
    "text": (0, lambda q: "abc", "q: expected numbers, got text"),
    "times as text": (4, lambda t: ["now"] * len(t), "t: expected numbers, got text"),
    "nothing": (2, lambda ddq: None, "ddq: expected numbers, got other values"),
    "rows of unequal length": (0, lambda q: [[1.0, 2.0], [3.0]], "q: expected numbers"),
    "complex numbers": (0, lambda q: q + 1j, "q: holds complex numbers"),
    "truth values": (0, lambda q: q > 0, "q: expected numbers, got true or false"),
    "torque beyond measure": (3, put((3, 3), 1e300), "joint 4, sample 3 is too large"),
    "position beyond measure": (0, put((3, 3), 1e300), "q of joint 4, sample 3 is too large"),
    "velocity beyond measure": (1, put((3, 3), 1e200), "sample 3 is too large"),
    "velocity whose square is beyond measure": (1, put((3, 3), 1e50), "equation of joint"),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_block_is_told_and_changes_nothing(running, fault):
    online, block = running
    place, change, words = FAULTS[fault]
    given = [change(v) if k == place else v for k, v in enumerate(block)]
    before = state(online)
    with pytest.raises(DatasetError, match=words):
        online.update(*given)
    assert state(online) == before


def test_no_sample_at_all_is_told(running):
    online, block = running
    before = state(online)
    with pytest.raises(DatasetError, match="q holds no sample"):
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


def test_after_a_gap_residuals_do_not_speak_of_those_before_it(model):
    """The correlation is that of samples a period apart: the first one after a gap counts as the first one of all."""
    t, q, dq, ddq, tau, pi = recorded(model, 200)
    apart = np.where(np.arange(200) >= 100, t + 10.0, t)
    whole, first, second = (estimator(model, KINDS[2], pi) for _ in range(3))
    whole.update(q, dq, ddq, tau, apart)
    first.update(q[:100], dq[:100], ddq[:100], tau[:100], t[:100])
    second.update(q[100:], dq[100:], ddq[100:], tau[100:], t[100:])
    squares = [e.information.R.T @ e.information.R for e in (whole, first, second)]
    assert squares[0] == pytest.approx(squares[1] + squares[2], rel=1e-9, abs=1e-9)


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


@pytest.mark.parametrize("sizes", [{"positive": [-1.0]}, {"free": [0.0]}, {"positive": [np.nan]}, {"bodies": BODY}])
def test_plausible_values_that_are_none_are_refused(sizes):
    given = {"bodies": BODY[None], "positive": np.zeros(0), "free": np.zeros(0)}
    with pytest.raises(DatasetError, match="plausible"):
        Plausible(**{**given, **{name: np.array(value) for name, value in sizes.items()}})


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_loaded_robot_at_rest_for_minutes_keeps_what_it_knows(model, kind, forgetting):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, tau, pi = recorded(model, 800, load, noise=0.1)
    own = pi.copy()
    own[list(model.link_columns[-1])] -= load
    online = estimator(model, kind, own, forgetting)
    online.update(q, dq, ddq, tau, t)
    before = online.estimate()
    still = np.tile(q[-1], (6000, 1))
    zero = np.zeros_like(still)
    hold = np.asarray(model.inverse_dynamics(q[-1], zero[0], zero[0], pi)).ravel()
    rng = np.random.default_rng(4)
    online.update(still, zero, zero, hold + 0.1 * rng.normal(size=still.shape), t[-1] + 0.01 * np.arange(1, 6001))
    after = online.estimate()
    assert not online.changes
    assert after.mass == pytest.approx(2.0, rel=0.02)
    assert after.interval[0] <= 2.0 <= after.interval[1]
    assert after.interval[1] - after.interval[0] <= 3 * (before.interval[1] - before.interval[0])
