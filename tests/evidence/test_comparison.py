"""The one comparison, against scipy's paired t-test and by how often chance deceives it."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from casid.evidence import CONFIDENCE, compared, jackknife


@pytest.mark.parametrize("tried", [1, 5, 70])
@pytest.mark.parametrize("gain", [-0.5, 0.0, 0.2, 0.6, 1.5])
def test_better_is_a_paired_t_test_at_the_confidence(gain: float, tried: int) -> None:
    rng = np.random.default_rng(3)
    common = 5.0 * rng.random(12)  # what the stretches' errors have in common says nothing
    before, after = common + 0.3 * rng.normal(size=12), common - gain + 0.3 * rng.normal(size=12)
    found = compared(before, after, tried)
    theirs = ttest_rel(before, after, alternative="greater")
    assert found.gain == pytest.approx(theirs.statistic) and found.stretches == 12
    assert found.better == (tried * theirs.pvalue < (1 - CONFIDENCE) / 2)
    assert (found.before, found.after) == (pytest.approx(before.mean()), pytest.approx(after.mean()))


def test_the_best_of_many_equals_is_seldom_called_better() -> None:
    """Twenty accounts that are as good as the one they are compared with: fewer than 5 % of the best are believed."""
    rng, deceived = np.random.default_rng(4), 0
    for _ in range(1000):
        losses = rng.normal(size=(20, 12)) + 3.0 * rng.random(12)
        best = losses[1:].mean(axis=1).argmin() + 1
        deceived += compared(losses[0], losses[best], tried=19).better
    assert deceived <= 50


def test_stretches_that_never_differ_or_are_too_few_prove_nothing() -> None:
    same = compared([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert not same.better and same.gain == 0.0
    alone = compared([2.0], [1.0])
    assert not alone.better
    assert compared([2.0, 3.0, 4.0], [1.0, 2.0, 3.0]).better  # the same gain everywhere
    assert not compared([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).better


def test_losses_that_differ_by_rounding_are_equal():
    rng = np.random.default_rng(0)
    losses = 1e3 + rng.standard_normal(40)
    assert not compared(losses, losses * (1.0 - 1e-16) - 1e-13, tried=1).better
    assert compared(losses, losses - 1e-6, tried=1).better


@pytest.mark.claim("the jackknife's variance holds with few stretches")
@pytest.mark.parametrize("stretches", [4, 10])
def test_jackknife_intervals_of_a_mean_hold(stretches):
    """The mean of values that are independent between stretches: its jackknife is the classical variance."""
    rng, held = np.random.default_rng(0), []
    for _ in range(2000):
        values = rng.normal(size=stretches)
        left_out = (values.sum() - values) / (stretches - 1)
        variance = jackknife(left_out)
        held.append(abs(values.mean()) <= 1.96 * np.sqrt(variance))
    assert 0.93 < np.mean(held) < 0.97
    assert jackknife(np.ones((1, 3))).tolist() == [0.0] * 3
