"""When estimators from simulation stop, what they weigh, and what their positions determine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.measurement import Dataset, Processing
from casid.regression import MeasurementNoise, wls
from casid.regression.estimators import InstrumentalVariables, MaximumLikelihood, Observations
from casid.testing import motion, recording
from problems.spatial_2r import true_parameters


@pytest.fixture(scope="module")
def arm() -> Model:
    return Model(casid.load_robot("spatial_2r"), ("viscous", "offset"))


@pytest.fixture(scope="module")
def exact(arm):
    return arm.parameters(true_parameters(), [1.0, 0.2] * 2)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_instruments_stop_at_the_relative_change_of_the_torques(arm, exact, tolerance):
    """Of every estimate but the last the weighted torques still changed by more, in units of theirs."""
    data = Observations(arm, recording(arm, exact, samples=400, noise=0.5))
    asked: list[np.ndarray] = []
    rng = np.random.default_rng(1)
    shift = rng.normal(size=data.datasets[0].q.shape)

    def simulate(beta: np.ndarray) -> list[Dataset]:  # a motion that depends on the parameters
        asked.append(np.array(beta))
        one = data.datasets[0]
        return [replace(one, q=one.q + 0.02 * np.sin(beta.sum()) * shift)]

    fit = InstrumentalVariables(simulate, iterations=30, tolerance=tolerance).fit(data)
    R, rho, rest = data.compressed.stacked(wls(data.compressed).weights)
    size = np.sqrt(rho @ rho + rest)
    steps = [np.linalg.norm(R @ (b - a)) / size for a, b in zip(asked, [*asked[1:], fit.beta], strict=True)]
    assert all(step > tolerance for step in steps[:-1]) and steps[-1] <= tolerance


def test_without_noise_in_the_motion_likelihood_is_weighted_least_squares(arm, exact):
    """Of filtered columns too: the filter's part of them is no error of the motion."""
    t, q, *_ = motion(2, 3000, 1)
    rng = np.random.default_rng(0)
    still = Processing(cutoff=None, every=1, trim=0.0).apply(Dataset(t, q, np.zeros_like(q)))
    tau = recording(arm, exact, samples=3000).tau
    raw = Dataset(t, q, tau[: len(t)] + rng.normal(size=q.shape) * [0.5, 2.0])
    data = Observations(arm, Processing(cutoff=2.0, every=10, trim=0.1).apply(raw))
    assert still.dq is not None
    fit = MaximumLikelihood(MeasurementNoise(np.zeros((2, 3, 3)), np.array([0.25, 4.0]))).fit(data)
    np.testing.assert_allclose(fit.beta, wls(data.compressed, [2.0, 0.5]).beta, rtol=1e-6, atol=1e-9)
