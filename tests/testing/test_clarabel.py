"""The adapter of Clarabel."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.testing import random_robot


def test_clarabel_solves_the_feasible_regression() -> None:
    pytest.importorskip("clarabel", reason="needs Clarabel: pip install casid[peers]")
    from casid.dynamics import Model
    from casid.regression import compress
    from casid.regression._fit import ols
    from casid.testing import recording
    from casid.testing._clarabel import clarabel_regression

    model = Model(random_robot(1, n=2, chain=True))
    x = np.tile(casid.testing._synthetic.BODY, 2)
    fit = ols(compress(model, [recording(model, x, noise=0.01)]))
    ratio, _ = clarabel_regression(fit, lambda v: ())
    assert 1.0 <= ratio < 1.1
