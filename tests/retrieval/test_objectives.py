"""Objectives: least squares, coefficients, priors."""

from __future__ import annotations

import numpy as np
import pytest

from casid.retrieval._objectives import LeastSquares


def test_least_squares_objective_is_its_own_scale() -> None:
    objective = LeastSquares(np.eye(2), np.array([3.0, 4.0]), 1.0)
    assert objective.size == 26.0 and objective.negligible(np.zeros(2)) == pytest.approx(1e-20 * 25, abs=1e-14)
