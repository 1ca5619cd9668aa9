"""Standard deviations of noise against their definitions."""

import numpy as np
import pytest

from casid.evidence import robust_sd, white_sd


def white_variance(values):
    return white_sd(values, 6) ** 2


def test_the_robust_deviation_is_that_of_normal_values_whatever_a_third_of_them_are():
    values = np.random.default_rng(0).normal(scale=[0.3, 20.0], size=(20_000, 2))
    np.testing.assert_allclose(robust_sd(values), [0.3, 20.0], rtol=0.03)
    few = np.array([1.0, -1.0, 1.0, 1.0, 1e9])
    assert robust_sd(few) == pytest.approx(1.4826, rel=1e-5)


@pytest.mark.parametrize("lag", [0, 3])
def test_the_white_part_is_what_sixth_differences_leave(lag):
    """A motion of fifth order is none of it, one of sixth order is; jumps far beyond the rest do not count."""
    t = np.linspace(-1.0, 1.0, 400)[:, None]
    assert white_variance(t**5 - 3 * t**2)[0] < 1e-20
    noise = 0.1 * np.random.default_rng(8 + lag).normal(size=(400, 1))
    spread = 1.4826 * np.median(np.abs(np.diff(noise[:, 0], 6)))
    noise[170:200] = 0.0
    noise[185] = 5.5 * spread / 20  # the middle one of its seven differences is 20 times as large
    steps = np.diff(noise[:, 0], 6)
    spread = 1.4826 * np.median(np.abs(steps))
    assert 5.1 * spread < np.abs(steps).max() < 6 * spread
    inside = steps[np.abs(steps) <= 5.0 * spread]
    plain = np.mean(inside**2) / 924
    assert white_variance(noise + t**5)[0] == pytest.approx(plain, rel=1e-6) == pytest.approx(0.01, rel=0.3)
    assert white_variance(noise + 100.0 * (t > 0))[0] == pytest.approx(plain, rel=0.05)
    mostly_still = np.zeros((400, 1))
    mostly_still[200:] = 1.0
    assert white_variance(mostly_still)[0] == pytest.approx(np.sum(np.diff(mostly_still[:, 0], 6) ** 2) / 394 / 924)
