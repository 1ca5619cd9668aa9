"""The feasible regression by Clarabel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from scipy import sparse

from casid.identification import RegressionProblem
from casid.inertia import PSEUDO_INERTIA_MAP, link_slice
from casid.regression import Fit
from casid.retrieval import Constraint, LinkVariables
from casid.testing._peers import need


def clarabel_regression(
    fit: Fit, constraints: Callable[[LinkVariables], Iterable[Constraint]], margin: float = 1e-6
) -> tuple[float, float]:
    """Ratio of the weighted residual norm to the unconstrained fit's, and seconds in the solver."""
    clarabel = need("clarabel")
    built = RegressionProblem(fit, constraints=constraints, margin=margin)
    objective, linear = built.problem.objective, built.linear
    n, size = fit.data.n, objective.matrix.shape[1]
    rows, offsets = [], []
    for form, low, high in zip(linear.matrix, linear.lower, linear.upper, strict=True):
        if np.isfinite(low):
            rows.append(-form)
            offsets.append(-low)
        if np.isfinite(high):
            rows.append(form)
            offsets.append(high)
    cones = [clarabel.NonnegativeConeT(len(rows))]
    for k in range(n):
        for j in range(4):
            for i in range(j + 1):
                form = np.zeros(size)
                form[link_slice(k)] = -(1.0 if i == j else np.sqrt(2.0)) * PSEUDO_INERTIA_MAP[4 * i + j]
                rows.append(form)
                offsets.append(-margin if i == j else 0.0)
        cones.append(clarabel.PSDTriangleConeT(4))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.csc_matrix(np.triu(2 * objective.matrix.T @ objective.matrix))
    A = sparse.csc_matrix(np.array(rows))
    began = time.perf_counter()
    solution = clarabel.DefaultSolver(
        P, -2 * objective.matrix.T @ objective.target, A, np.array(offsets), cones, settings
    ).solve()
    seconds = time.perf_counter() - began
    return float(np.sqrt(objective(np.array(solution.x)) / fit.objective)), seconds
