"""The cut-off that the model's explanation of the torques chooses."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from casid import load_robot
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression import choose_processing, compress, held_out_squares, processing_of_each, wls
from casid.regression._processing_choice import CANDIDATES, _lowest, _smoothing, _unbalanced
from casid.testing import BODY, motion
from casid.testing import recording as exact_recording
from tests.regression.conftest import stacked


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(load_robot("three_link"), ("viscous", "coulomb", "offset"))


def truth_of(model: Model) -> np.ndarray:
    return model.parameters(np.tile(BODY, model.n), np.tile([1.0, 2.0, 0.3], model.n))


def recording(model: Model, noise: float) -> Dataset:
    """Fifteen seconds at 500 Hz with noisy positions and torques."""
    rng = np.random.default_rng(0)
    t, q, dq, ddq = motion(model.n, 5000, 0)
    truth = truth_of(model)
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    return Dataset(t, q + 1e-4 * noise * rng.normal(size=q.shape), tau + noise * rng.normal(size=tau.shape))


@pytest.mark.claim("the cut-off follows the torques' noise; each recording is judged by its own fit")
def test_noise_lowers_the_cutoff_of_its_own_recording_only(model: Model) -> None:
    both = [recording(model, noise) for noise in (0.01, 10.0)]
    quiet, noisy = choose_processing(model, both, Processing())
    assert quiet.torque_cutoff >= 3.0 * noisy.torque_cutoff
    assert choose_processing(model, both[:1], Processing()) == (quiet,)
    (alone,) = choose_processing(model, both[1:], Processing())
    assert noisy.torque_cutoff <= alone.torque_cutoff  # where it can decide nothing by itself, the other helps


@pytest.mark.claim("a recording too short to be fitted by itself is not left at the lowest band that it could fit")
def test_a_short_recording_is_judged_by_the_fit_of_all(model: Model) -> None:
    whole, short = recording(model, 1.0), recording(model, 10.0)
    short = short.between(0.0, 2.0)
    (alone,) = choose_processing(model, [short], Processing())
    _, joined = choose_processing(model, [whole, short], Processing())
    assert joined.torque_cutoff < alone.torque_cutoff


def test_a_recording_below_every_candidate_is_judged_by_the_fit_of_all(model: Model) -> None:
    """Two tenths of a second determine no band; with the long recording there are some, and the lowest is taken."""
    whole = recording(model, 1.0)
    short = whole.between(0.0, 0.2)
    assert _lowest(model, [short]) > CANDIDATES[-1]
    assert choose_processing(model, [short], Processing()) == (Processing(),)
    second, _ = choose_processing(model, [short, whole], Processing())
    assert second.torque_cutoff in CANDIDATES and second.torque_cutoff >= 5.0 / 0.2


def test_the_lowest_band_determines_the_parameters_and_holds_five_periods(model: Model) -> None:
    """Below f a recording of T seconds has 2 f T independent torques a joint; three of them to each parameter."""
    data = recording(model, 1.0)
    short = data.between(0.0, 4.0)
    T, t, rank = data.t[-1] - data.t[0], short.t[-1] - short.t[0], model.base.rank
    assert _lowest(model, [short]) == pytest.approx(max(3 * rank / (2 * 3 * t), 5 / t))
    assert _lowest(model, [short]) > 5 / t
    assert _lowest(model, [short, data]) == pytest.approx(max(3 * rank / (2 * 3 * (t + T)), 5 / t))
    alone = short.only([1])
    assert _lowest(model, [alone]) == pytest.approx(3 * rank / (2 * t))
    assert _lowest(model, [alone, data]) == pytest.approx(max(3 * rank / (2 * (t + 3 * T)), 5 / t))
    nothing = replace(short, mask=np.zeros(short.q.shape, dtype=bool))
    assert _lowest(model, [nothing]) == pytest.approx(3 * rank / (2 * t))


@pytest.mark.parametrize("masked", [False, True])
def test_what_is_unbalanced_is_over_what_acts(masked: bool) -> None:
    """The drives', masses' and friction's torques between two cut-offs, sample by sample."""
    small = Model("spatial_2r", ("viscous", "coulomb", "offset", "rotor"))
    rng, rank = np.random.default_rng(3), small.base.rank
    names, t = small.base.names, np.arange(50.0)
    W, W_low = rng.normal(size=(2, 50, 2, rank))
    beta, weights = rng.normal(size=rank), np.array([2.0, 0.5])
    masks = rng.random((2, 50, 2)) > 0.2 if masked else [None, None]
    low, high = (Dataset(t, np.sin(W[:, :, 0]), rng.normal(size=(50, 2)), mask=mask) for mask in masks)
    fit: Any = SimpleNamespace(beta=beta, weights=weights)
    brakes = [name.startswith(("fv", "fc")) for name in names]
    assert 0 < sum(brakes) < sum(name[0] == "f" for name in names)
    left = acting = 0.0
    for i in range(50):
        for k in range(2):
            if masked and not (masks[0][i, k] and masks[1][i, k]):
                continue
            parts = (W[i, k] - W_low[i, k]) * beta
            drive, friction = high.tau[i, k] - low.tau[i, k], parts[brakes].sum()
            masses = parts.sum() - friction
            left += (weights[k] * (drive - masses - friction)) ** 2
            acting += weights[k] ** 2 * (drive**2 + masses**2 + friction**2)
    found = _unbalanced(small, (low, W_low, fit), high, W)
    assert found == pytest.approx(left / acting, rel=1e-12)
    assert _unbalanced(small, (low, W_low, fit), low, W_low) == 1.0  # nothing acts


def test_stretches_are_predicted_from_the_other_parts(model: Model) -> None:
    data = exact_recording(model, truth_of(model), samples=360, noise=0.5)
    compressed = compress(model, data)
    W, tau = stacked(model, data)
    W, tau = W.reshape(12, 30, 3, -1), tau.reshape(12, 30, 3)
    weights = np.array([1.0, 3.0, 0.5])
    found = held_out_squares(compressed, 5, weights)
    for i in range(12):
        others = [j for j in range(12) if j % 5 != i % 5]
        rows, y = W[others] * weights[:, None], tau[others] * weights
        beta = np.linalg.lstsq(rows.reshape(-1, rows.shape[-1]), y.ravel(), rcond=None)[0]
        np.testing.assert_allclose(found[i], ((tau[i] - W[i] @ beta) ** 2).sum(axis=0), rtol=1e-7)
    assert held_out_squares(compressed, 12, weights).shape == (12, 3)
    with pytest.raises(DatasetError, match="12 stretches of the motion cannot be divided into 13 parts"):
        held_out_squares(compressed, 13)


def test_each_recording_is_processed_by_its_own_settings(model: Model) -> None:
    """One setting for all, or one for each; what is off stays off, what is no motion is left alone by default."""
    data = recording(model, 1.0).between(0.0, 0.05)
    fixed, other = Processing(cutoff=4.0), Processing(cutoff=6.0)
    assert processing_of_each(model, [data] * 2, fixed) == (fixed, fixed)
    assert processing_of_each(model, [data] * 3, [fixed, False, other]) == (fixed, False, other)
    assert processing_of_each(model, [data] * 2, [True, None]) == (Processing(), Processing())
    assert processing_of_each(model, [data] * 2, False) == (False, False)
    rng = np.random.default_rng(4)
    states = Dataset(data.t, *rng.normal(size=(4, *data.q.shape)))
    assert processing_of_each(model, [states], None) == (None,)
    assert processing_of_each(model, [states], True) == (Processing(),)
    moving = replace(data, dq=states.dq, ddq=states.ddq)
    assert processing_of_each(model, [moving], None) == (Processing(),)
    assert processing_of_each(model, [replace(states, ddq=None)], None) == (Processing(),)
    with pytest.raises(DatasetError, match="1 settings of processing for 2 recordings"):
        processing_of_each(model, [data] * 2, [fixed])


@pytest.mark.claim("nearly noiseless data keep what lies above a few hertz: friction's jumps are explained there")
def test_nearly_noiseless_data_are_filtered_hardly_at_all(model: Model) -> None:
    t = np.arange(0.0, 20.0, 2e-3)
    rng = np.random.default_rng(1)
    phases = rng.uniform(0, 2 * np.pi, model.n)
    w = 2 * np.pi * 0.4 * np.array([1.0, 1.3, 0.7])
    q = np.sin(w * t[:, None] + phases)
    dq, ddq = w * np.cos(w * t[:, None] + phases), -(w**2) * q
    truth = truth_of(model)
    tau = model.inverse_dynamics(q, dq, ddq, truth)
    data = Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau + 1e-3 * rng.normal(size=tau.shape))
    (chosen,) = choose_processing(model, [data], Processing())
    assert chosen.torque_cutoff >= 20.0
    made = chosen.apply(data)
    assert any(f"{chosen.torque_cutoff:g} Hz (the highest below which the model explains" in one for one in made.steps)
    fit = wls(compress(model, made))
    error = np.abs(fit.beta - model.base.K @ truth)
    assert error.max() < 2e-3 * np.abs(model.base.K @ truth).max()


def test_the_motion_is_smoothed_by_what_predicts_best(model: Model) -> None:
    """A measured velocity without noise is taken where differences of coarse positions predict worse."""
    data = recording(model, 1.0)
    dq = motion(model.n, 5000, 0)[2]
    coarse = replace(data, q=np.round(data.q / 2e-3) * 2e-3, dq=dq)
    (chosen,) = choose_processing(model, [coarse], Processing())
    assert chosen.velocity == "measured"
    assert chosen.cutoff >= chosen.torque_cutoff
    late = replace(coarse, dq=np.roll(dq, 40, axis=0))
    assert choose_processing(model, [late], Processing())[0].velocity == "differentiate"


def test_a_given_cutoff_stays(model: Model) -> None:
    settings = Processing(cutoff=4.0)
    assert choose_processing(model, [recording(model, 1.0)], settings) == (settings,)


def test_a_source_of_the_velocity_that_is_asked_for_is_taken(model: Model) -> None:
    data = recording(model, 1.0).between(0.0, 6.0)
    given = replace(data, dq=np.gradient(data.q, data.t, axis=0))
    assert _smoothing(model, given, Processing(velocity="differentiate"), 8.0)[1] == "differentiate"
    assert _smoothing(model, data, Processing(), 8.0)[1] == "auto"
