"""Levenberg-Marquardt on free runs: gradients, bounds, priors, a robust loss, correlated errors."""

import numpy as np
import pytest

from casid.drives import FREE, FreeRuns, Servo, Unknown
from casid.drives._search import Search, correlation

TRUE = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.0, "bias": 0.01, "delay": 0.01}
T = np.arange(250) * 0.02


def runs(arm, data, **unknown):
    return FreeRuns(arm, Servo(**{**TRUE, **unknown}), [data], 1e-3, 2.0, threads=1)


def test_the_gradient_is_that_of_the_cost(arm, data):
    made = runs(arm, data, kp=[Unknown(11.0, 0.5), FREE], viscous=FREE)
    search = Search(made, threshold=1.0, scale=2e-3)  # a part of the errors counts linearly
    point = made.point(np.array([11.7, 9.4, 0.45, 0.35]))
    normal = search.normal(point)
    assert normal.cost == pytest.approx(search.value(point), rel=1e-9)
    g = search.weight * (search.mean - point.theta)
    for blocks in normal.blocks:
        for block in blocks:
            g[block.places] += block.g[: len(block.places)]
    for k, size in enumerate(point.theta):
        h = 1e-6 * size * np.eye(4)[k]
        up, down = (search.value(type(point)(point.theta + s * h, point.starts)) for s in (1, -1))
        assert -2 * g[k] == pytest.approx((up - down) / (2e-6 * size), rel=1e-3, abs=1e-2)


def test_the_search_ends_at_the_truth_from_afar(arm, data):
    made = runs(arm, data, kp=FREE, viscous=FREE)
    search = Search(made)
    point, normal = search.run(made.point(np.array([5.0, 20.0, 2.0, 0.05])))
    assert point.theta == pytest.approx([12.0, 9.0, 0.4, 0.4], rel=0.03)
    assert np.all(np.diff(search.history) <= 1e-12) and normal.rms == pytest.approx(1e-3, rel=0.2)
    search.rescale(point)
    assert search.scale == pytest.approx(normal.rms, rel=0.15) and search.inflation >= 1.0


def test_bounds_and_priors_hold(arm, data):
    made = runs(arm, data, kp=[Unknown(lower=13.0, upper=20.0), Unknown(6.0, 1e-4)], viscous=FREE)
    point, _ = Search(made).run(made.point(np.array([15.0, 6.0, 0.4, 0.4])))
    assert point.theta[0] == pytest.approx(13.0, rel=1e-6)  # the truth is below the bound
    assert point.theta[1] == pytest.approx(6.0, abs=1e-2)


def test_steps_stay_within_the_bounds(arm, data):
    made = runs(arm, data, kp=FREE, coulomb=FREE)
    search = Search(made)
    point = made.point(np.array([4.0, 4.0, 1e-3, 1e-3]))
    candidate, expected = search.step(search.normal(point), point, 1e-6)
    assert expected > 0 and np.all((candidate.theta >= search.lower - 1e-12) & (candidate.theta <= search.upper))


def test_outliers_count_linearly(arm, data):
    made = runs(arm, data, kp=FREE)
    search = Search(made, scale=1e-3)
    errors = np.array([0.0, 1e-3, 4e-3, 0.1])
    cost, weights = search._rho(errors)
    assert cost == pytest.approx(0 + 1 + 16 + (2 * 4 * 100 - 16)) and weights[-1] * 1e-6 == pytest.approx(0.04)


def test_correlated_errors_tell_less_by_the_factor_of_their_process():
    rng = np.random.default_rng(0)
    e = rng.normal(size=(40_000, 2))
    for k in range(1, len(e)):
        e[k, 1] += 0.8 * e[k - 1, 1]
    tau = correlation(list(np.array_split(e, 4)))
    assert tau[0] == pytest.approx(1.0, abs=0.3)  # white
    assert tau[1] == pytest.approx((1 + 0.8) / (1 - 0.8), rel=0.2)  # of first order
