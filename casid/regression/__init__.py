"""Closed-form estimates of base parameters and their statistics."""

from casid.regression.estimate import Estimate, ordinary_least_squares
from casid.regression.reverse_engineering import reverse_engineer

__all__ = ["Estimate", "ordinary_least_squares", "reverse_engineer"]
