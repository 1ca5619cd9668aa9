"""Quantiles of the chi-square distribution: how large a weighted sum of squares noise alone makes."""

from __future__ import annotations


def chi_square(freedom: float, tail: float) -> float:
    """Value that a chi-square variable of so many degrees of freedom exceeds with probability ``tail``."""
    from scipy.special import chdtri  # imported late: it takes longer than the rest of casid together

    return float(chdtri(freedom, tail))
