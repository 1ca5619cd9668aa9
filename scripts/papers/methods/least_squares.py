"""Ordinary and weighted least squares: the classical estimates, blind to physics (Sousa 2014, Sec. 2.5)."""

from __future__ import annotations

import time

import numpy as np

from casid.arrays import Array
from papers.methods.regression import Answer, Regression, answer


def ols(data: Regression) -> Answer:
    """``R x = r``: the smallest sum of squares there is; no claim of feasibility."""
    start = time.process_time()
    x: Array = np.asarray(np.linalg.solve(data.R, data.r), dtype=float)
    return answer("OLS", data, x, solve_time=time.process_time() - start, status="closed form")


def wls(data: Regression) -> Answer:
    """Each output weighted by the inverse of its residual's standard deviation under ordinary least squares.

    Sousa 2014, eq. 4.35. It minimises another sum of squares, so on the common one it never betters ordinary least
    squares.
    """
    start = time.process_time()
    residual = data.tau - data.W @ np.linalg.solve(data.R, data.r)
    deviation = residual.reshape(-1, data.outputs).std(axis=0)
    weight = np.tile(1.0 / deviation, data.tau.size // data.outputs)
    stacked = np.column_stack([data.W * weight[:, None], data.tau * weight])
    factor = np.asarray(np.linalg.qr(stacked, mode="r"))
    x = np.linalg.solve(factor[:-1, :-1], factor[:-1, -1])
    return answer("WLS", data, x, solve_time=time.process_time() - start, status="closed form")
