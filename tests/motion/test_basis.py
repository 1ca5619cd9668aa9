"""The contract of bases, and ramps around a motion."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import ProblemError
from casid.motion import Basis, Fourier, Ramped
from tests.helpers import BASES


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{type(basis).__name__}-{basis.size}")
def test_extremes_hold_and_are_attained(basis: Basis) -> None:
    rng = np.random.default_rng(3)
    X = np.stack([basis.random(rng), 0.3 * basis.random(rng), basis.constant(0.2)])
    t = np.linspace(*basis.span, 20001)
    for order in range(3):
        reached = X @ basis.matrix(t, order).T
        for low, high, values in zip(*basis.extremes(X, order, 1e-6), reached, strict=True):
            slack = 1e-4 * np.abs(values).max() + 1e-12
            assert low - 1e-12 <= values.min() <= low + slack
            assert high - slack <= values.max() <= high + 1e-12


def test_ramps_are_around_a_motion_only_once() -> None:
    with pytest.raises(ProblemError, match="has ramps already"):
        Ramped(Ramped(Fourier(0.5, 2), 1.0), 1.0)
    with pytest.raises(ProblemError, match="duration must be positive"):
        Ramped(Fourier(0.5, 2), 0.0)
    assert len(Ramped(Fourier(0.5, 2), 1.0).limit_samples(40)) == 2


def test_bounds_at_the_samples_of_a_fourier_series_hold_in_between() -> None:
    """Tightened at the samples they hold at every instant, and no derivative exceeds the rate times its quantity."""
    basis, rng = Fourier(1.0, 5), np.random.default_rng(0)
    (part,), t = basis.limit_samples(24), np.linspace(0.0, basis.period, 20001)
    assert part.rate == 5.0
    sampled, whole = ([basis.matrix(i, k) for k in range(5)] for i in (part.instants, t))
    for _ in range(50):
        x = basis.random(rng) * np.append(np.ones(10), 0.0)
        for k in range(4):
            at, every, beyond = (np.abs(matrix @ x).max() for matrix in (sampled[k], whole[k], whole[k + 1]))
            assert part.tightening * every <= at * (1 + 1e-9) and beyond <= part.rate * every * (1 + 1e-9)
