"""The method of Diaz-Rodriguez et al. (2010): drop badly identified base parameters until the estimate is feasible.

Ordinary (or weighted) least squares in the base parameters; while the estimate is infeasible, the base parameter with
the largest relative standard deviation leaves the model, and the rest is estimated again (Sousa 2014, Sec. 2.6.6,
6.4). As in the thesis, feasibility is tested by semidefinite programming instead of the article's brute-force search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from casid.arrays import Array
from papers.methods.regression import Answer, Regression, answer


@dataclass(frozen=True, eq=False)
class Reduction:
    """One step of the reduction.

    Attributes
    ----------
    removed : int
        Base parameters taken out so far.
    values : ndarray, shape (b,)
        Estimate, zero where taken out.
    residual : float
        Sum of squares ``||W beta - tau||^2`` beyond the part that no parameters can explain.
    last_removed : int or None
        Index of the base parameter that this step took out.
    """

    removed: int
    values: Array
    residual: float
    last_removed: int | None


def reductions(R: Array, r: Array, constant: float, rows: int) -> Iterator[Reduction]:
    """Estimates of ever smaller models, from all base parameters to none.

    Parameters
    ----------
    R, r, constant
        ``||W beta - tau||^2 = ||R beta - r||^2 + constant``, R of shape (b, b).
    rows
        Rows of W: the degrees of freedom of the residual variance.

    Notes
    -----
    With ``G`` the inverse Gram matrix of the kept columns, least squares without parameter j has
    ``beta - G[:, j] beta_j / G_jj`` and inverse Gram matrix ``G - G[:, j] G[j, :] / G_jj``; its residual grows by
    ``beta_j^2 / G_jj``. A step thus costs ``O(b^2)``; relative standard deviations follow from the diagonal of G.
    """
    inverse = np.linalg.inv(R)
    gram_inverse = inverse @ inverse.T
    beta = inverse @ r
    kept = np.ones(len(r), dtype=bool)
    residual, last = 0.0, None
    for removed in range(len(r) + 1):
        yield Reduction(removed, beta.copy(), residual, last)
        if removed == len(r):
            return
        variance = (residual + constant) / (rows - (len(r) - removed))
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(kept, np.sqrt(variance * np.maximum(gram_inverse.diagonal(), 0.0)) / np.abs(beta), -1.0)
        last = int(np.argmax(relative))
        pivot, column = gram_inverse[last, last], gram_inverse[:, last].copy()
        residual += float(beta[last] ** 2 / pivot)
        beta = beta - column * (beta[last] / pivot)
        gram_inverse = gram_inverse - np.outer(column, column) / pivot
        kept[last] = False
        beta[~kept] = 0.0


def model_reduction(data: Regression, feasible: Callable[[Array], bool] | None = None) -> Answer:
    """Reduce until feasible; the answer is unsolved if no level of reduction is, but for the empty model.

    Parameters
    ----------
    data
        Its columns must be independent (random regressors are): standard parameters are then base parameters.
    feasible
        Test of an estimate; default: all eigenvalues >= 0 (an absent parameter is exactly zero, so the boundary
        belongs to the feasible set of this method).
    """
    start = time.process_time()
    test = feasible or (lambda x: data.eigenvalue(x) >= 0.0)
    chosen = None
    for step in reductions(data.R, data.r, data.constant, len(data.tau)):
        chosen = step
        if test(step.values):
            break
    assert chosen is not None
    solved = bool(chosen.values.any())
    status = (
        f"feasible with {chosen.removed} of {len(data.r)} parameters removed"
        if solved
        else "no reduced model is feasible"
    )
    return answer(
        "Model reduction",
        data,
        chosen.values,
        solved=solved,
        status=status,
        iterations=chosen.removed,
        solve_time=time.process_time() - start,
    )
