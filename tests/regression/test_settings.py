"""Settings that are not given, and limits: what they mean is what the documentation says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.regression import Estimate, compress, irls, wls
from casid.testing import recording
from problems.spatial_2r import true_parameters


@pytest.fixture(scope="module")
def recorded():
    arm = Model("spatial_2r")
    data = recording(arm, true_parameters(), samples=300, noise=0.1)
    return arm, data


def test_reweighting_goes_on_until_weights_hardly_change(recorded):
    arm, data = recorded
    tau = np.array(data.tau)
    tau[::7] += 5.0
    outlying = replace(data, tau=tau)
    start = wls(compress(arm, outlying))
    beta = irls(outlying, start).beta
    exact, once = (irls(outlying, start, 50, tolerance=tolerance).beta for tolerance in (1e-12, 1.0))
    size = np.abs(exact - once).max()
    assert size > 1e-3 and np.abs(beta - exact).max() < 0.05 * size


def test_values_within_thirty_percent_are_reliable(recorded):
    base = recorded[0].base
    values = np.ones(base.rank)
    sd = np.where(np.arange(base.rank) % 2, 0.29, 0.31)
    made = Estimate(base, values, np.diag(sd**2), 1.0, 0.0, 10)
    np.testing.assert_array_equal(made.reliable(), np.arange(base.rank) % 2 == 1)
    np.testing.assert_array_equal(made.reliable(15.0), np.zeros(base.rank, dtype=bool))
