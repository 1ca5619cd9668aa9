"""The cut-off that the model's explanation of the torques chooses."""

from __future__ import annotations

import numpy as np
import pytest

from casid import load_robot
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.measurement import Dataset, Processing
from casid.regression import choose_processing
from casid.testing import motion
from casid.testing._synthetic import BODY

RATE = 500.0


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


def test_noise_lowers_the_cutoff_and_less_of_it_raises_it(model: Model) -> None:
    chosen = [choose_processing(model, [recording(model, noise)], Processing())[0].cutoff for noise in (0.01, 10.0)]
    assert isinstance(chosen[0], float) and isinstance(chosen[1], float)
    assert chosen[0] >= 3.0 * chosen[1]


def test_each_recording_states_why(model: Model) -> None:
    data = recording(model, 1.0)
    (chosen,) = choose_processing(model, [data], Processing())
    steps = chosen.apply(data).steps
    assert any(f"{chosen.cutoff:g} Hz (the highest below which the model explains" in step for step in steps)


def test_a_given_cutoff_stays(model: Model) -> None:
    settings = Processing(cutoff=4.0)
    assert choose_processing(model, [recording(model, 1.0)], settings) == (settings,)
