"""Delay between positions and torques."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import Checks, Choice, identify
from casid.measurement import Dataset, Processing
from casid.regression import compress, estimate_delay, observation_blocks, wls
from casid.testing import motion, with_friction

FRICTION = ("viscous", "coulomb", "offset")


def delayed(samples: float, count: int) -> tuple[Model, Dataset, float]:
    """An arm with friction, a recording without noise whose torques are late by so many samples, and its step."""
    model, truth = with_friction(casid.load_robot("kuka_iiwa"), (2.0, 3.0, 0.5))
    t, q, dq, ddq = motion(7, count, 2)
    data, step = Dataset(t, q, model.inverse_dynamics(q, dq, ddq, truth)), float(t[1] - t[0])
    late = Processing(cutoff=None, delay=-samples * step, trim=0.0, every=1).apply(data).tau
    return model, replace(data, tau=late), step


@pytest.mark.claim("a delay beyond the first range of the search is found, not reported at its end")
@pytest.mark.parametrize("samples", [0.2, 8.0, 40.0])
def test_a_delay_is_found_to_a_fraction_of_a_sample(samples):
    model, clean, step = delayed(samples, 4000)  # 400 Hz
    rng, shape = np.random.default_rng(0), clean.q.shape
    raw = replace(clean, q=clean.q + 1e-6 * rng.normal(size=shape), tau=clean.tau + 0.05 * rng.normal(size=shape))
    data = Processing(cutoff=5.0).apply(raw)
    fit = wls(compress(model, data))
    found = estimate_delay(model, data, fit.weights)
    assert abs(found.samples - samples) < 0.1 and not found.at_limit
    assert found.seconds == pytest.approx(found.samples * step, rel=1e-3)
    corrected = Processing(cutoff=5.0, delay=found.seconds).apply(raw)
    assert abs(estimate_delay(model, corrected, fit.weights).samples) < 0.05
    assert wls(compress(model, corrected)).relative_error < fit.relative_error
    with pytest.raises(DatasetError, match="a delay is estimated from filtered torques"):
        estimate_delay(model, replace(data, full=None), fit.weights)


@pytest.mark.slow
@pytest.mark.claim("a delay is taken out on request")
def test_identify_takes_a_delay_out_and_says_so():
    model, raw, step = delayed(3.4, 2000)
    robot, quick = model.robot, {"checks": Checks(0, verdict=False), "choice": Choice(believable=False)}
    without = identify(robot, raw, processing=Processing(cutoff=5.0), **quick)
    auto = identify(robot, raw, processing=Processing(cutoff=5.0), delay="auto", **quick)
    given = identify(robot, raw, processing=Processing(cutoff=5.0), delay=3.4 * step, **quick)
    assert auto.processing.delay == pytest.approx(3.4 * step, abs=0.1 * step)
    assert any("torques lag" in note and "taken out" in note for note in auto.notes)
    assert auto.feasible.relative_error < 0.3 * without.feasible.relative_error
    assert given.feasible.relative_error == pytest.approx(auto.feasible.relative_error, rel=0.2)


def planar(step: float, delay: float) -> tuple[Model, Dataset]:
    """A planar arm sampled every so many seconds, its torques late by so many."""
    model = Model("three_link", FRICTION)
    given, q, dq, ddq = motion(3, 1500, 4)
    t = step * np.arange(1500)
    speed = given[1] / step
    truth = np.random.default_rng(0).uniform(0.5, 1.5, len(model.parameter_names))
    tau = model.inverse_dynamics(q, dq * speed, ddq * speed**2, truth)
    tau = np.array([np.interp(t - delay, t, column) for column in tau.T]).T
    return model, Dataset(t, q, tau + 0.2 * np.random.default_rng(1).normal(size=q.shape))


@pytest.fixture(scope="module")
def late():
    """At 500 Hz and 2.3 samples late, filtered, some torques masked."""
    model, raw = planar(2e-3, 2.3 * 2e-3)
    data = Processing(cutoff=15.0, every=3).apply(raw)
    return model, raw, replace(data, mask=np.random.default_rng(2).random(data.tau.shape) > 0.2)


def test_the_delay_has_the_least_residual_of_all(late):
    """Share of the residual, its deviation and its size, from fits to the filtered torques at shifted times."""
    model, _, data = late
    w, rate = np.array([1.0, 0.5, 2.0]), 500.0
    moments = np.arange(len(data.full)) / rate
    smooth = CubicSpline(moments, data.full.low_pass(data.full.tau), axis=0)
    W = np.concatenate([block for _, block in observation_blocks(model, data)])
    rows = (W * w[:, None])[data.mask]

    def share(d):
        at = np.clip(moments[data.full.index] + d, 0, moments[-1])
        y = (smooth(at) * w)[data.mask]
        return np.sum((y - rows @ np.linalg.lstsq(rows, y, rcond=1e-9)[0]) ** 2) / (y @ y)

    found = estimate_delay(model, data, w)
    step = 0.1 / rate
    values = [share(found.seconds + k * step) for k in (-1, 0, 1)]
    assert values[1] < min(share(found.seconds + k * 5 * step) for k in (-1, 1))
    assert found.gain == pytest.approx(1 - np.sqrt(values[1] / share(0.0)), rel=1e-3)
    independent = data.mask.sum() / data.full.correlation
    curvature = (values[0] - 2 * values[1] + values[2]) / step**2
    sd = np.sqrt(2 * values[1] / ((independent - model.base.rank) * curvature))
    assert found.sd == pytest.approx(sd, rel=0.02)
    assert found.samples == pytest.approx(found.seconds * rate) and not found.at_limit


def test_the_search_reaches_twelve_samples_and_thirty_milliseconds(late):
    model, _, data = late
    assert estimate_delay(model, data, np.ones(3)).samples == pytest.approx(2.3, abs=0.3)
    for step, delay in ((1e-3, 0.027), (5e-3, 0.05)):  # 27 samples, and ten
        slow = Processing(cutoff=0.03 / step, every=3).apply(planar(step, delay)[1])
        found = estimate_delay(model, slow, np.ones(3))
        assert found.seconds == pytest.approx(delay, rel=0.05) and not found.at_limit


def test_recordings_of_different_rates_have_no_common_delay(late):
    model, raw, data = late
    both = estimate_delay(model, [data, data], np.ones(3))
    assert both.seconds == pytest.approx(estimate_delay(model, data, np.ones(3)).seconds, abs=1e-6)
    other = Processing(cutoff=15.0, every=3).apply(Dataset(raw.t * 2, raw.q, raw.tau))
    with pytest.raises(DatasetError, match="recordings have different rates: 250 Hz, 500 Hz"):
        estimate_delay(model, [data, other], np.ones(3))
