"""Samples as they arrive: weights by state, fading information, and load changes, seen soon and only if there are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from casid.evidence import ResidualNoise
from casid.online import ChangeDetector
from casid.online._change import FadingWindow, RecentSamples, Sample
from casid.online._samples import Information


def alarms_of(
    targets_of: Callable[[int, np.ndarray], np.ndarray], samples: int, rng, noise: ResidualNoise
) -> list[int]:
    """Samples at which the detector raises the alarm; rows of 7 torques and 10 parameters are drawn, targets given."""
    detector, seen, alarms = ChangeDetector(10), Information.nothing(10), []
    for k in range(samples):
        rows = rng.normal(size=(7, 10))
        targets = targets_of(k, rows)
        if detector.update(rows, targets, seen, noise):
            alarms.append(k)
            seen = Information.nothing(10)
        else:
            seen = seen.updated(rows, targets)
    return alarms


def test_the_detector_is_silent_on_noise_and_finds_a_slight_change():
    rng = np.random.default_rng(2)

    def targets_of(k: int, rows: np.ndarray) -> np.ndarray:
        return rng.normal(size=7) + (rows @ np.full(10, 0.08) if k >= 3000 else 0.0)

    alarms = alarms_of(targets_of, 4000, rng, ResidualNoise(7))
    assert len(alarms) == 1
    assert 3000 <= alarms[0] <= 3300


@pytest.mark.slow
@pytest.mark.claim("torques that are wrong now and then raise no alarm")
def test_the_detector_is_silent_on_single_torques_that_are_wrong_and_still_quick():
    """Student's noise of three degrees of freedom, and a spike of 100 deviations; then a change."""
    rng, noise = np.random.default_rng(2), ResidualNoise(7)

    def targets_of(k: int, rows: np.ndarray) -> np.ndarray:
        left = rng.standard_t(3, size=7) / np.sqrt(3) + 100.0 * (k == 3000) * np.eye(7)[2]
        noise.update(left)
        return left + (rows @ np.full(10, 1.0) if k >= 5500 else 0.0)

    alarms = alarms_of(targets_of, 6000, rng, noise)
    assert len(alarms) == 1
    assert 5500 <= alarms[0] <= 5505


@pytest.mark.claim("a statistic with longer tails than a chi-square raises no more alarms")
def test_the_alarm_level_follows_the_tails_of_what_is_usual():
    """Of a statistic with few degrees of freedom, the level is exceeded at the stated rate."""
    rng, scale, freedom = np.random.default_rng(4), 20.0, 3.0
    window = FadingWindow(10, 30.0)
    for value in scale * rng.chisquare(freedom, 20_000):
        window.statistic = value
        window.learn(1e9, ResidualNoise(7))
    exceeded = scale * rng.chisquare(freedom, 1_000_000) > window.level(1e-4)
    assert 0.5e-4 < exceeded.mean() < 2e-4


def sixty(rng, joints: int, change: int, size: float, seen: Information) -> RecentSamples:
    """Samples of so many torques, from one on with a load of that size; and what was seen before them."""
    recent = RecentSamples(maxlen=60)
    for k in range(60):
        row = rng.normal(size=(joints, 10))
        target = rng.normal(size=joints) + size * (k >= change) * row @ np.ones(10)
        recent.append(Sample(row, target, np.ones(joints, bool), row, target, float(k), seen))
        seen = seen.updated(row, target)
    return recent


def test_the_most_likely_beginning_of_a_new_load_is_where_it_was():
    rng = np.random.default_rng(5)
    for change in (25, 45):
        recent = sixty(rng, 7, change, 1.0, Information.nothing(10).updated(50 * np.eye(10), np.zeros(10)))
        kept = recent.since_change()
        assert abs(kept[0].time - (change + 1)) <= 1
        assert kept[-1].time == 59.0
        assert recent.since_change() == []


@pytest.mark.claim("a change too slight to be noticed at once is not taken for noise")
def test_residuals_of_a_change_that_is_not_noticed_yet_do_not_raise_the_alarm_level():
    """The noise as it would be learnt beside the change: blocks of it have a mean, and its inflation grows."""
    rng, noise = np.random.default_rng(3), ResidualNoise(7)

    def targets_of(k: int, rows: np.ndarray) -> np.ndarray:
        targets = rng.normal(size=7) + (rows @ np.full(10, 0.12) if k >= 1000 else 0.0)
        noise.update(targets if k < 1000 else targets + 1.0)  # what the estimate before the change leaves
        return targets

    alarms = alarms_of(targets_of, 2000, rng, noise)
    assert noise.inflation(300.0) > 3.0
    assert len(alarms) == 1
    assert 1000 <= alarms[0] <= 1300


def test_directional_forgetting_fades_only_what_is_seen():
    rng = np.random.default_rng(1)
    information = Information.nothing(5).updated(rng.normal(size=(40, 5)), rng.normal(size=40))
    rows = np.zeros((1, 5))
    rows[0, :2] = 1.0, 2.0
    faded = information.forgotten(rows, 0.5)
    A, B = information.R.T @ information.R, faded.R.T @ faded.R
    seen = A @ rows.T
    expected = A - 0.5 * seen @ seen.T / (rows @ seen).item()
    assert np.allclose(B, expected, atol=1e-12 * np.abs(A).max())
    assert np.allclose(faded.estimate, information.estimate)


@pytest.mark.claim("forgetting does not depend on the unit of the torques")
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_forgetting_knows_no_unit(scale):
    rng = np.random.default_rng(0)
    rows, newest, targets = rng.normal(size=(40, 5)), rng.normal(size=(2, 5)), rng.normal(size=40)
    faded = Information.nothing(5).updated(scale * rows, scale * targets).forgotten(scale * newest, 0.5)
    same = Information.nothing(5).updated(rows, targets).forgotten(newest, 0.5)
    assert faded.R / scale == pytest.approx(same.R, rel=1e-12, abs=1e-12)


@pytest.mark.claim("the search for an early change has the probability of a false alarm that is stated")
def test_the_search_for_an_early_change_alarms_no_more_often_than_stated():
    """Of 60 samples of two torques; a few independent samples would not do for a chi-square of known variance."""
    rng, alarms = np.random.default_rng(6), {0.0: 0, 1.0: 0}
    for size in alarms:
        for _ in range(100):
            alarms[size] += sixty(rng, 2, 30, size, Information.nothing(10)).changed(0.2)
    assert alarms[0.0] <= 20 < 90 <= alarms[1.0]
