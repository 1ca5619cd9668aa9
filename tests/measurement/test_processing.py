"""From raw samples to regression data: grids, delays, filters, derivatives, decimation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, filtfilt

from casid.errors import DatasetError
from casid.identification import ModelOptions, identify
from casid.measurement import Dataset, FullRate, Processing, advanced, prepare, repaired
from casid.regression import compress, irls, predicted_torques, residual_torques, torques, wls
from tests.measurement.conftest import motion, sine

RATE, NOISE = 500.0, 0.05
W, PHASE = 2 * np.pi * 0.3, np.array([0.7, 1.4])  # of `sine`


# ---------------------------------------------------------------------- data sets


@pytest.mark.claim("transposed arrays are named as such")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": np.zeros((5, 2))}, "time must have one entry a sample"),
        ({"t": np.arange(5.0), "q": np.zeros((5, 2)), "tau": np.zeros((5, 2))}, "5 samples are too few"),
        ({"tau": np.zeros((20, 3))}, r"tau has shape \(20, 3\); expected \(20, 2\)"),
        ({"q": np.where(np.arange(40).reshape(20, 2) == 7, np.nan, 0)}, "q of joint 2, sample 3 is not a finite"),
        ({"t": np.r_[np.arange(10.0), np.arange(10.0)]}, "time goes back by 9 s after sample 9"),
        ({"q": np.ones((2, 20))}, r"expected \(20, 2\): it is transposed, give q\.T"),
        ({"tau": np.ones((2, 20))}, r"expected \(20, 2\): it is transposed, give tau\.T"),
    ],
)  # fmt: skip
def test_datasets_refuse_what_is_no_recording(change: dict[str, np.ndarray], message: str) -> None:
    good = {"t": np.arange(20.0), "q": np.zeros((20, 2)), "tau": np.zeros((20, 2))}
    with pytest.raises(DatasetError, match=message):
        Dataset(**{**good, **change})


def test_masks() -> None:
    data = Processing(trim=0.5).apply(sine())
    assert data.only([1]).mask.sum() == len(data)
    half = replace(data, mask=np.arange(2 * len(data)).reshape(-1, 2) < len(data))
    assert np.array_equal(half.only([1]).mask[:, 1], half.mask[:, 1])  # what was masked before stays so
    assert not half.only([1]).mask[:, 0].any()
    slow = data.moving(0.5)
    assert np.array_equal(slow.mask, np.abs(data.dq) >= 0.5)
    made = Processing(rate=1000.0, trim=0.0, every=1).apply(sine(rate=500.0).only([1]).between(0.0, 5.0))
    assert len(made) > 4000 and made.mask[:, 1].all() and not made.mask[:, 0].any()  # interpolated


# ---------------------------------------------------------------------- filters, derivatives, decimation


def test_processing_differentiates_without_phase() -> None:
    data = Processing(cutoff=10.0, trim=1.0, every=1).apply(sine())
    np.testing.assert_allclose(data.dq[:, 0], W * np.cos(W * data.t + 0.7), atol=2e-4)
    np.testing.assert_allclose(data.ddq[:, 0], -(W**2) * np.sin(W * data.t + 0.7), atol=2e-3)
    assert data.t[0] == pytest.approx(1.0) and len(data) == 8000
    assert any("10 Hz" in step for step in data.steps)


def test_twenty_samples_are_kept_for_each_period_of_the_cut_off() -> None:
    """Of the torques' cut-off; all of them without a filter."""
    for cutoff, torque_cutoff, every in ((9.0, "same", 5), (9.0, 4.5, 11), (21.0, "same", 2), (None, "same", 1)):
        made = Processing(cutoff=cutoff, torque_cutoff=torque_cutoff).apply(sine(rate=1000.0, seconds=5.0))
        assert made.period == pytest.approx(every * 1e-3), cutoff
    full = Processing(cutoff=10.0, every=4).apply(sine()).full
    assert isinstance(full, FullRate) and full.every == 4 and 1.0 <= full.correlation
    np.testing.assert_array_equal(full.rows(slice(0, 50)).index, full.index[:50])


def test_filter_and_trim_errors_say_what_to_do() -> None:
    for settings, message in (
        ({"cutoff": 600.0}, "below half the sampling rate, 500 Hz"), ({"trim": 6.0}, "leaves nothing"),
        ({"cutoff": 0.0}, "cutoff must be positive"), ({"velocity": "measured"}, "no measured velocity"),
        ({"rate": 1e6}, r"uniform grid at 1e\+06 Hz"), ({"every": 0}, "every must be at least 1"),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=message):
            Processing(**settings).apply(sine())


def cutoff(t: np.ndarray, q: np.ndarray) -> float:
    """The cut-off that processing chooses, from its steps [Hz]."""
    (step,) = (one for one in Processing().apply(Dataset(t, q, q)).steps if "chosen from the spectra" in one)
    return float(step.split(" Hz")[0].split()[-1])


def test_the_cutoff_lies_between_motion_and_noise() -> None:
    t, q, *_ = motion(7, 10_000, 0)  # up to 0.5 Hz
    t = np.arange(10_000) * 1e-3
    rng = np.random.default_rng(0)
    quiet, loud = (cutoff(t, q + noise * rng.normal(size=q.shape)) for noise in (1e-7, 1e-4))
    assert 1.0 < loud < quiet < 200.0


@pytest.mark.claim("a short recording with noisy positions is filtered, not taken at the full rate")
@pytest.mark.parametrize("noise", [3e-5, 2e-4])
def test_short_noisy_motion_is_still_filtered(noise: float) -> None:
    t = np.arange(0.0, 1.9, 1e-3)
    q = np.column_stack([0.6 * np.sin(2 * np.pi * f * t + f) for f in (0.3, 0.4, 0.5)])
    assert 3.0 < cutoff(t, q + noise * np.random.default_rng(1).normal(size=q.shape)) < 20.0


def test_the_less_noisy_velocity_that_agrees_is_taken() -> None:
    """Velocity noise that equals that of differences below 20 Hz is the limit."""
    data, even = sine(rate=RATE), 2 * np.pi * 20.0 * 1e-4 / np.sqrt(3.0)
    rng = np.random.default_rng(0)
    q = data.q + 1e-4 * rng.normal(size=data.q.shape)
    exact = np.gradient(data.q, data.t, axis=0)
    for size, noise, taken in ((1.0, 0.5 * even, True), (1.0, 2.0 * even, False), (1.1, 0.5 * even, False)):
        measured = replace(data, q=q, dq=size * exact + noise * rng.normal(size=q.shape))
        made = Processing(cutoff=20.0, defects=False).apply(measured)
        assert any("velocity: as measured" in step for step in made.steps) is taken, (size, noise)
    asked = replace(data, dq=W * np.cos(W * data.t[:, None] + PHASE))
    made = Processing(velocity="measured", cutoff=None, trim=0.1, every=1).apply(asked)
    np.testing.assert_array_equal(made.dq, asked.dq[50:-50])


# ---------------------------------------------------------------------- grids and delays


def test_irregular_and_repeated_time_stamps_are_put_on_a_grid_and_reported() -> None:
    rng = np.random.default_rng(0)
    regular = sine()
    t = regular.t + rng.uniform(-2e-4, 2e-4, len(regular))
    t[500] = t[499]
    t[5000:] += 0.5
    data = Dataset(t, np.sin(W * t[:, None] + PHASE), regular.tau, name="jittery")
    made = Processing(trim=1.0, every=1).apply(data)
    assert made.period == pytest.approx(1e-3) and np.ptp(np.diff(made.t)) < 1e-9
    text = " ".join((*made.steps, *made.notes))
    assert "linear interpolation to 1000 Hz" in text
    assert "dropped 1 repeated time stamps" in text
    assert "lost samples of all joints, 500 samples" in text
    calm = (made.t < 4.0) | (made.t > 7.0)
    np.testing.assert_allclose(made.dq[calm, 1], W * np.cos(W * made.t[calm] + 1.4), atol=5e-3)


@pytest.mark.claim("lost samples leave all others as they were measured: none of them is interpolated to a round rate")
def test_a_gap_leaves_the_other_samples_as_they_are() -> None:
    t = np.arange(1000) / 599.9 + 1e-6 * np.random.default_rng(0).normal(size=1000)
    q = np.sin(3.0 * t)[:, None] * [1.0, 2.0]
    kept = np.delete(np.arange(1000), np.arange(400, 460))
    data = Dataset(t[kept], q[kept], 5.0 * q[kept])
    made = Processing(cutoff=None, trim=0.0, every=1).apply(data)
    assert len(made) == 1000 and [one.kind for one in made.defects] == ["gap"]
    np.testing.assert_array_equal(made.t[kept], data.t)
    np.testing.assert_array_equal(made.q[kept], data.q)
    np.testing.assert_allclose(made.q[400:460, 0], np.interp(made.t[400:460], data.t, data.q[:, 0]), atol=1e-3)


@pytest.mark.claim("one jump of the clock does not take gigabytes")
@pytest.mark.claim("a jump of the clock does not allocate gigabytes")
def test_a_clock_jump_is_refused_before_memory_is_taken() -> None:
    t = np.r_[np.arange(0, 2, 1e-3), 1e7 + np.arange(0, 2, 1e-3)]
    for q in (np.zeros((4000, 2)), np.sin(np.arange(4000.0))[:, None]):
        with pytest.raises(DatasetError, match=r"longest gap is 1e\+07 s, after sample 1999"):
            Processing().apply(Dataset(t, q, q))


def test_a_delay_is_taken_out() -> None:
    t = np.arange(0, 10, 1e-3)
    late = Dataset(t, np.sin(np.pi * t)[:, None], np.sin(np.pi * (t - 0.0037))[:, None])
    made = Processing(delay=0.0037, cutoff=None, every=1, trim=0.1).apply(late)
    np.testing.assert_allclose(made.tau[:, 0], np.sin(np.pi * made.t), atol=1e-9)
    assert advanced(late, 0.0) is late
    with pytest.raises(DatasetError, match="as long as the recording"):
        advanced(late, 6.0)


def test_values_that_measure_nothing_are_replaced_by_those_around_them() -> None:
    data = sine(rate=100.0)
    assert repaired(data) == (data, ())
    q, tau, t = np.array(data.q), np.array(data.tau), np.array(data.t)
    tau[300, 1] += 40.0
    made, found = repaired(replace(data, tau=tau))
    assert [(d.kind, d.joint, d.samples) for d in found] == [("spike", 1, 1)]
    np.testing.assert_allclose(made.tau, data.tau, atol=1e-3)
    np.testing.assert_array_equal(made.tau[:300], data.tau[:300])
    assert made.steps[-1] == "interpolated 1 samples with spikes"
    q[401:404], tau[401:404] = q[400], tau[400]
    made, found = repaired(replace(data, q=q, tau=tau))
    assert [d.kind for d in found] == ["repeats", "spike"] and "interpolated 3 repeated samples" in made.steps
    np.testing.assert_allclose(made.q, data.q, atol=1e-3)
    t[10] = t[9]
    made, _ = repaired(replace(data, t=t))
    assert len(made) == len(data) - 1 and "1 repeated time stamps" in made.steps[0]


# ---------------------------------------------------------------------- columns filtered like the torques


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


@pytest.mark.claim("Coulomb friction is not biased by the torques' filter")
def test_filtered_columns_leave_friction_unbiased(model, truth, recording):
    settings = Processing(cutoff=5.0)
    data = settings.apply(recording)
    other = replace(settings, filter_columns=False).apply(recording)
    filtered, plain = (wls(compress(model, one)) for one in (data, other))
    exact = model.base.values(truth)
    coulomb = [i for i, name in enumerate(model.base.names) if name.startswith("fc")]
    assert np.abs(filtered.beta[coulomb] / exact[coulomb] - 1).max() < 0.01
    assert (plain.beta[coulomb] / exact[coulomb] - 1).max() < -0.02  # what it was: low, and sure of it
    expected = NOISE * np.sqrt(data.full.low_pass.noise_gain)
    np.testing.assert_allclose(filtered.rms.mean(), expected, rtol=0.1)
    assert plain.rms.min() > 5 * expected
    with pytest.raises(DatasetError, match="the motion was replaced after processing"):
        compress(model, replace(data, q=data.q + 0.1))
    assert compress(model, replace(data, q=data.q + 0.1, full=None)).counts[0] == len(data)


@pytest.mark.claim("standard deviations know the filter's correlation")
def test_deviations_allow_for_the_filter(model, truth):
    friction = [i for i, name in enumerate(model.base.names) if name[:2] in ("fv", "fc", "fo")]
    scores = []
    for seed in range(4):
        fit = wls(compress(model, Processing(cutoff=5.0).apply(recorded(model, truth, seed))))
        scores.append(((fit.beta - model.base.values(truth)) / fit.sd)[friction])
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
    np.testing.assert_allclose(irls(data, fit).beta, model.base.values(truth), atol=1e-4)
    assert np.abs(residual_torques(fit, data)).max() < 1e-4


@pytest.mark.claim("velocities and accelerations that are given are used as they are")
@pytest.mark.slow
def test_given_derivatives_are_neither_filtered_nor_thinned(model, truth):
    t, q, dq, ddq = motion(model.n, 600, 0)
    data = Dataset(t, q, model.inverse_dynamics(q, dq, ddq, truth), dq, ddq)
    made = prepare(data, False)
    for name in ("q", "dq", "ddq", "tau"):
        np.testing.assert_array_equal(getattr(made, name), getattr(data, name))
    terms = ModelOptions(terms=("viscous", "coulomb", "offset"))
    result = identify(model.robot, data, processing=False, estimator="OLS", model=terms)
    assert result.unconstrained.data.counts.tolist() == [600] * 7
    np.testing.assert_allclose(result.unconstrained.beta, model.base.values(truth), atol=1e-7)
    assert prepare(data, True).full is not None
    with pytest.raises(DatasetError, match="taken as it is, a recording needs velocities"):
        prepare(Dataset(t, q, data.tau), False)
