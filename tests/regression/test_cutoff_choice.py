"""The cut-off that the model's explanation of the torques chooses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid import load_robot
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.measurement import Dataset, Processing
from casid.regression import compress, wls
from casid.regression._cutoff_choice import choose_processing
from casid.testing._synthetic import BODY, motion


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(load_robot("three_link"), ("viscous", "coulomb", "offset"))


def recording(model: Model, noise: float) -> Dataset:
    """Fifteen seconds at 500 Hz with noisy positions and torques."""
    rng = np.random.default_rng(0)
    t, q, dq, ddq = motion(model.n, 5000, 0)
    truth = model.parameters(np.tile(BODY, model.n), np.tile([1.0, 2.0, 0.3], model.n))
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, truth))[:, :, 0]
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


@pytest.mark.claim("nearly noiseless data keep what lies above a few hertz: friction's jumps are explained there")
def test_nearly_noiseless_data_are_filtered_hardly_at_all(model: Model) -> None:
    t = np.arange(0.0, 20.0, 2e-3)
    rng = np.random.default_rng(1)
    phases = rng.uniform(0, 2 * np.pi, model.n)
    w = 2 * np.pi * 0.4 * np.array([1.0, 1.3, 0.7])
    q = np.sin(w * t[:, None] + phases)
    dq, ddq = w * np.cos(w * t[:, None] + phases), -(w**2) * q
    truth = model.parameters(np.tile(BODY, model.n), np.tile([1.0, 2.0, 0.3], model.n))
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, truth))[:, :, 0]
    data = Dataset(t, q + 1e-6 * rng.normal(size=q.shape), tau + 1e-3 * rng.normal(size=tau.shape))
    (chosen,) = choose_processing(model, [data], Processing())
    assert chosen.torque_cutoff >= 20.0
    fit = wls(compress(model, chosen.apply(data)))
    error = np.abs(fit.beta - model.base.K @ truth)
    assert error.max() < 2e-3 * np.abs(model.base.K @ truth).max()


def test_a_slow_motion_keeps_a_low_cutoff(model: Model) -> None:
    """Thirty seconds below 0.3 Hz with the noise of a coarse encoder."""
    t = np.arange(0.0, 30.0, 4e-3)
    rng = np.random.default_rng(2)
    q = sum(np.sin(2 * np.pi * f * t[:, None] + rng.uniform(0, 6, model.n)) / f for f in (0.07, 0.13, 0.23)) * 0.1
    dq = np.gradient(q, t, axis=0)
    ddq = np.gradient(dq, t, axis=0)
    truth = model.parameters(np.tile(BODY, model.n), np.tile([1.0, 2.0, 0.3], model.n))
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, truth))[:, :, 0]
    data = Dataset(t, np.round(q / 1e-3) * 1e-3, tau + 0.3 * rng.normal(size=tau.shape))
    (chosen,) = choose_processing(model, [data], Processing())
    assert chosen.torque_cutoff <= 5.0


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


def test_each_recording_states_why(model: Model) -> None:
    data = recording(model, 1.0)
    (chosen,) = choose_processing(model, [data], Processing())
    steps = chosen.apply(data).steps
    assert any(f"{chosen.torque_cutoff:g} Hz (the highest below which the model explains" in step for step in steps)


def test_a_given_cutoff_stays(model: Model) -> None:
    settings = Processing(cutoff=4.0)
    assert choose_processing(model, [recording(model, 1.0)], settings) == (settings,)
