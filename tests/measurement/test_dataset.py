"""Columns filtered like the torques, at the full rate of the recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, filtfilt

from casid.errors import DatasetError
from casid.identification import ModelOptions, identify
from casid.measurement import Dataset, FullRate, Processing, prepare
from casid.measurement._low_pass import LowPass
from casid.regression import compress, irls, predicted_torques, residual_torques, torques, wls
from casid.testing._synthetic import motion
from tests.measurement.conftest import sine

NOISE = 0.05


@pytest.fixture(scope="module")
def truth(model):
    return model.parameters(model.robot.standard_parameters(), np.tile([4.0, 7.0, 0.5], 7))


def recorded(model, truth, seed=0, noise=NOISE, samples=8000):
    t, q, dq, ddq = motion(model.n, samples, seed)
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    rng = np.random.default_rng(seed + 1)
    return Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau + noise * rng.normal(size=q.shape))


@pytest.fixture(scope="module")
def recording(model, truth):
    return recorded(model, truth)


def friction(base):
    return [i for i, name in enumerate(base.names) if name[:2] in ("fv", "fc", "fo")]


@pytest.mark.claim("Coulomb friction is not biased by the torques' filter")
def test_filtered_columns_leave_friction_unbiased(model, truth, recording):
    settings = Processing(cutoff=5.0)
    filtered = wls(compress(model, settings.apply(recording)))
    plain = wls(compress(model, replace(settings, filter_columns=False).apply(recording)))
    exact = model.base.values(truth)
    coulomb = [i for i, name in enumerate(model.base.names) if name.startswith("fc")]
    assert np.abs(filtered.beta[coulomb] / exact[coulomb] - 1).max() < 0.01
    assert (plain.beta[coulomb] / exact[coulomb] - 1).max() < -0.02  # what it was: low, and sure of it
    expected = NOISE * np.sqrt(LowPass(5.0, 4, 800.0, 400).noise_gain)
    np.testing.assert_allclose(filtered.rms.mean(), expected, rtol=0.1)
    assert plain.rms.min() > 5 * expected


@pytest.mark.claim("standard deviations know the filter's correlation")
def test_deviations_allow_for_the_filter(model, truth):
    scores = []
    for seed in range(4):
        fit = wls(compress(model, Processing(cutoff=5.0).apply(recorded(model, truth, seed))))
        scores.append(((fit.beta - model.base.values(truth)) / fit.sd)[friction(model.base)])
    assert 0.75 < np.sqrt(np.mean(np.square(scores))) < 1.25
    assert fit.data.correlation.min() > 5  # ignoring it would make the deviations less than half of what they are


@pytest.mark.parametrize("every", [1, 7])
def test_blocks_filter_as_the_whole_does(model, truth, recording, every):
    data = Processing(cutoff=4.0, every=every, trim=0.3).apply(recording)
    full = data.full
    whole = model.inverse_dynamics(full.q, full.dq, full.ddq, truth)
    b, a = butter(4, 4.0, fs=full.low_pass.rate)
    expected = filtfilt(b, a, whole, axis=0, padlen=full.low_pass.padding)[full.index]
    np.testing.assert_allclose(torques(model, truth, data), expected, atol=1e-6)
    compressed = compress(model, data)
    np.testing.assert_allclose(predicted_torques(compressed, model.base.values(truth), data), expected, atol=1e-6)


def test_exact_torques_are_fitted_exactly_under_masks_cuts_and_measured_velocity(model, truth):
    t, q, dq, ddq = motion(model.n, 4000, 3)
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    settings = Processing(
        cutoff=None, torque_cutoff=4.0, velocity="measured", acceleration="measured", trim=0.5, slowest=0.2
    )
    data = settings.apply(Dataset(t, q, tau, dq, ddq)).between(1.0, 8.0)
    fit = wls(compress(model, data), weights=np.ones(7))
    np.testing.assert_allclose(fit.beta, model.base.values(truth), atol=1e-5)
    robust = irls(data, fit)
    np.testing.assert_allclose(robust.beta, model.base.values(truth), atol=1e-4)
    assert np.abs(residual_torques(fit, data)).max() < 1e-4


def test_motion_replaced_after_processing_is_refused(model, recording):
    data = Processing(cutoff=5.0).apply(recording)
    with pytest.raises(DatasetError, match="the motion was replaced after processing"):
        compress(model, replace(data, q=data.q + 0.1))
    assert compress(model, replace(data, q=data.q + 0.1, full=None)).counts[0] == len(data)


@pytest.mark.claim("velocities and accelerations that are given are used as they are")
@pytest.mark.slow
def test_given_derivatives_are_neither_filtered_nor_thinned(model, truth):
    t, q, dq, ddq = motion(model.n, 600, 0)
    data = Dataset(t, q, model.inverse_dynamics(q, dq, ddq, truth), dq, ddq)
    made = prepare(data, False)
    for name in ("q", "dq", "ddq", "tau"):
        np.testing.assert_array_equal(getattr(made, name), getattr(data, name))
    result = identify(
        model.robot, data, processing=False, estimator="OLS", model=ModelOptions(terms=("viscous", "coulomb", "offset"))
    )
    assert result.unconstrained.data.counts.tolist() == [600] * 7
    np.testing.assert_allclose(result.unconstrained.beta, model.base.values(truth), atol=1e-7)
    assert prepare(data, True).full is not None
    with pytest.raises(DatasetError, match="taken as it is, a recording needs velocities"):
        prepare(Dataset(t, q, data.tau), False)


def test_segments_are_the_data_in_parts(model, truth, recording):
    data = compress(model, Processing(cutoff=5.0).apply(recording))
    halves = [data.only(range(k, len(data.segments), 2)) for k in (0, 1)]
    beta = model.base.values(truth) * 1.01
    np.testing.assert_allclose(sum(h.squared_errors(beta) for h in halves), data.squared_errors(beta), rtol=1e-9)
    assert sum(h.counts[0] for h in halves) == data.counts[0]


def test_rows_of_the_full_rate_follow_the_samples_that_are_kept(recording):
    full = prepare(recording, Processing(every=4)).full
    assert isinstance(full, FullRate) and full.every == pytest.approx(4, abs=0.5)
    part = full.rows(slice(0, 50))
    np.testing.assert_array_equal(part.index, full.index[:50])
    assert 1.0 <= full.correlation


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": np.zeros((5, 2))}, "time must have one entry a sample"),
        ({"t": np.arange(5.0), "q": np.zeros((5, 2)), "tau": np.zeros((5, 2))}, "5 samples are too few"),
        ({"tau": np.zeros((20, 3))}, r"tau has shape \(20, 3\); expected \(20, 2\)"),
        (
            {"q": np.where(np.arange(40).reshape(20, 2) == 7, np.nan, 0.0)},
            "q of joint 2, sample 3 is not a finite number",
        ),
        ({"t": np.r_[np.arange(10.0), np.arange(10.0)]}, "time goes back by 9 s after sample 9"),
    ],
)
def test_datasets_refuse_what_is_no_recording(change, message):
    good = {"t": np.arange(20.0), "q": np.zeros((20, 2)), "tau": np.zeros((20, 2))}
    with pytest.raises(DatasetError, match=message):
        Dataset(**{**good, **change})


@pytest.mark.claim("transposed arrays are named as such")
@pytest.mark.parametrize("name", ["q", "tau"])
def test_transposed_arrays_are_named(name: str) -> None:
    arrays = {"q": np.ones((20, 3)), "tau": np.ones((20, 3))}
    arrays[name] = arrays[name].T
    with pytest.raises(DatasetError, match=rf"expected \(20, 3\): it is transposed, give {name}\.T"):
        Dataset(np.arange(20.0), **arrays)


def test_masks():
    data = Processing(trim=0.5).apply(sine())
    assert data.only([1]).mask.sum() == len(data)
    half = replace(data, mask=np.arange(2 * len(data)).reshape(-1, 2) < len(data))
    assert np.array_equal(half.only([1]).mask[:, 1], half.mask[:, 1])  # what was masked before stays so
    assert not half.only([1]).mask[:, 0].any()
    slow = data.moving(0.5)
    assert np.array_equal(slow.mask, np.abs(data.dq) >= 0.5)
    assert data.moving(0.5, margin=0.1).mask.sum() < slow.mask.sum()
