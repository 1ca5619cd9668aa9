"""Parts of estimates while samples arrive: intervals, variances, fading windows, settings that are not given."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

from casid.dynamics import Model
from casid.inertia import to_standard
from casid.online import ChangeDetector, Online, OnlineLoad, TorqueErrors
from casid.online._change import FadingWindow
from casid.online._estimator import OnlineEstimate, estimate_of, parameter_order, plausible_values
from casid.online._samples import Information
from casid.testing import recording
from problems.spatial_2r import true_parameters


@pytest.mark.parametrize(("freedom", "counted"), [(0.3, 1.0), (7.0, 7.0)])
def test_intervals_are_student_s_with_a_degree_of_freedom_at_least(freedom, counted):
    sd = np.array([0.5, 3.0])
    made = OnlineEstimate(SimpleNamespace(), np.array([1.0, -2.0]), sd, SimpleNamespace(), 10.0, freedom)
    half = t.ppf(0.975, counted) * sd
    np.testing.assert_allclose(made.intervals, np.array([[1.0, 1.0], [-2.0, -2.0]]) + np.outer(half, [-1, 1]))


@pytest.mark.parametrize(("freedom", "known"), [(0.7, False), (1.0, True), (4.0, True)])
def test_a_variance_needs_a_degree_of_freedom(freedom, known):
    made = Information(np.eye(2), np.array([1.0, 2.0]), 6.0, 8.0, freedom, 2)
    assert made.variance == (pytest.approx(6.0 / freedom) if known else np.inf)


def test_deviations_are_those_of_the_residual_s_size():
    arm = Model("spatial_2r")
    rng = np.random.default_rng(0)
    beta = arm.base.values(true_parameters())
    rows = rng.normal(size=(200, len(beta)))
    information = Information.nothing(len(beta)).updated(rows, rows @ beta + 3.0 * rng.normal(size=200))
    plausible = plausible_values(arm)
    found = estimate_of(arm, information, plausible, parameter_order(arm, plausible), 1.0)
    inverse = np.linalg.inv(rows.T @ rows)
    left = rows @ np.linalg.lstsq(rows, rows @ beta, rcond=None)[0] - rows @ beta
    assert np.abs(left).max() < 1e-9
    np.testing.assert_allclose(found.sd, np.sqrt(np.diag(inverse) * information.variance), rtol=1e-6)
    assert 6.0 < information.variance < 13.0


def test_a_skipped_sample_lets_the_others_fade():
    rng = np.random.default_rng(1)
    window, nothing = FadingWindow(3, 20.0), Information.nothing(3)
    first = rng.normal(size=(5, 3)), rng.normal(size=5)
    window.update(*first, nothing, 1.0)
    kept = window._information
    window.update(rng.normal(size=(5, 3)), rng.normal(size=5), nothing, 1.0)
    window.skip()
    fade = np.sqrt(1 - 1 / 20.0)
    np.testing.assert_allclose(window._information.R, fade * kept.R)
    np.testing.assert_allclose(window._information.rho, fade * kept.rho)


def test_what_is_not_given_is_usual():
    arm = Model("spatial_2r")
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
    plain = OnlineLoad(arm, true_parameters(), np.ones(2), body)
    assert (
        not plain.correlation.any()
        and not plain.gain_error.any()
        and plain.detector.windows == ChangeDetector(10).windows
    )
    errors, detector = TorqueErrors(correlation=0.5, gain=0.1), ChangeDetector(10, windows=(20.0,))
    given = OnlineLoad(arm, true_parameters(), np.ones(2), body, errors=errors, detector=detector)
    np.testing.assert_array_equal(given.correlation, [0.5, 0.5])
    np.testing.assert_array_equal(given.gain_error, [0.1, 0.1])
    assert given.detector is detector


def test_a_path_that_was_cut_short_goes_on_where_it_ended(monkeypatch):
    """From the last point and its weight; where it ended at the least, from the point alone."""
    online = Online(Model("spatial_2r"), [1.0, 1.0])
    data = recording(online.model, true_parameters(), samples=30)
    online.update(data.q, data.dq, data.ddq, data.tau)
    asked = []

    def estimated(start, weight, steps):
        asked.append((start, weight))
        ended = SimpleNamespace(x="x", weight=0.3, iterations=steps, suboptimality=gap)
        return SimpleNamespace(entropic=ended, suboptimality=gap)

    monkeypatch.setattr(online, "_estimated", estimated)
    gap = 1e-9
    online.estimate()
    online.estimate()
    gap = np.inf
    with pytest.warns(UserWarning, match="did not converge"):
        online.estimate()
    gap = 1e-9
    online.estimate()
    assert asked == [(None, None), ("x", None), ("x", None), ("x", 0.3)]


def test_information_keeps_what_it_is_given():
    made = replace(Information.nothing(2), freedom=3.0)
    assert made.variance == 0.0 and made.error(np.zeros(2)) == 0.0
