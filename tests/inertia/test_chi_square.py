"""Quantiles of the chi-square distribution."""

import pytest
from scipy.stats import chi2

from casid.inertia._chi_square import chi_square


@pytest.mark.parametrize("freedom", [1, 2.5, 10, 3000])
def test_quantiles_of_chi_square(freedom):
    assert chi_square(freedom, 0.05) == pytest.approx(chi2.ppf(0.95, freedom))
