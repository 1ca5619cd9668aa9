"""Low-pass filters and their cut-off frequency."""

from __future__ import annotations

import numpy as np
import pytest

from casid.measurement import Dataset, Processing
from casid.measurement._low_pass import choose_cutoff
from casid.testing._synthetic import motion


def test_the_cutoff_lies_between_motion_and_noise(model):
    t, q, *_ = motion(7, 10_000, 0)  # up to 0.5 Hz, at 1 kHz
    rng = np.random.default_rng(0)
    quiet, loud = (choose_cutoff(q + noise * rng.normal(size=q.shape), 1000.0) for noise in (1e-7, 1e-4))
    assert 1.0 < loud < quiet < 200.0
    assert choose_cutoff(np.zeros((1000, 2)), 1000.0) == 400.0
    step = Processing().apply(Dataset(t, q + 1e-5 * rng.normal(size=q.shape), q)).steps
    assert any("chosen from the spectra" in sentence for sentence in step)


@pytest.mark.claim("a short recording with noisy positions is filtered, not taken at the full rate")
@pytest.mark.parametrize("noise", [3e-5, 2e-4])
def test_short_noisy_motion_is_still_filtered(noise):
    t = np.arange(0.0, 1.9, 1e-3)
    rng = np.random.default_rng(1)
    q = np.column_stack([0.6 * np.sin(2 * np.pi * f * t + f) for f in (0.3, 0.4, 0.5)])
    chosen = choose_cutoff(q + noise * rng.normal(size=q.shape), 1000.0)
    assert 3.0 < chosen < 20.0
