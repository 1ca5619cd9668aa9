"""Ends of ratio intervals: proven ones only, and with the correlation of numerator and mass."""

from __future__ import annotations

import numpy as np
import pytest

from casid.loads import load_intervals
from casid.retrieval.insight._intervals import _least_ratio


class UnprovenSearch:
    """A level set whose relaxations reach no certificate: every bound is lower than what is attained."""

    def __init__(self, missed: float, least: float) -> None:
        self.point = np.array([0.0] * 6 + [0.2, 0.0, 0.0, 2.0])
        self.missed, self.least = missed, least

    def minimum(self, form):
        return float(form @ self.point) - self.missed, float(form @ self.point), self.point

    def least_mass(self, link):
        return self.least


@pytest.mark.claim("an end of a ratio interval that is not proven is not stated as proven")
@pytest.mark.parametrize(("missed", "least"), [(0.5, 0.1), (0.3, 1.0), (0.5, 0.0)])
def test_an_unproven_end_lies_beyond_the_attained_value(missed, least):
    form = np.eye(10)[6]
    proven, attained, _ = _least_ratio(UnprovenSearch(missed, least), form, 0)
    assert attained == pytest.approx(0.1)
    if least > 0:
        assert proven <= attained - missed / least + 1e-12
    else:
        assert proven == -np.inf


def test_a_proven_end_is_the_attained_value():
    proven, attained, _ = _least_ratio(UnprovenSearch(-1e-12, 0.1), np.eye(10)[6], 0)
    assert attained - 1e-5 <= proven <= attained


@pytest.mark.claim("Fieller's interval knows the correlation of first moment and mass")
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_the_centre_of_mass_takes_all_values_of_the_ellipsoid_and_no_other(correlation):
    rng = np.random.default_rng(0)
    covariance = np.eye(10) * 1e-4
    covariance[6, 9] = covariance[9, 6] = correlation * 1e-4
    R = np.linalg.cholesky(np.linalg.inv(covariance)).T
    x = np.array([0.1] * 6 + [0.4, 0.1, -0.2, 1.0])
    tolerance = 4.0
    low, high = load_intervals(R, x, tolerance)["cx"]
    plane = np.linalg.solve(R, rng.normal(size=(10, 200_000)))
    plane *= np.sqrt(tolerance) / np.linalg.norm(R @ plane, axis=0)
    angle = np.linspace(0, 2 * np.pi, 20_000)
    block = np.linalg.cholesky(covariance[np.ix_([6, 9], [6, 9])])
    ring = np.sqrt(tolerance) * block @ np.array([np.cos(angle), np.sin(angle)])
    ratios = (x[6] + ring[0]) / (x[9] + ring[1])
    assert (low, high) == pytest.approx((ratios.min(), ratios.max()), rel=1e-6)
    inside = (x[6] + plane[6]) / (x[9] + plane[9])
    assert low - 1e-12 <= inside.min()
    assert inside.max() <= high + 1e-12
