"""Sousa and Cortesao's method: linear matrix inequalities and a semidefinite program, here given to Clarabel directly.

Two forms of the same problem:

* `lmi` passes the quadratic objective as it is: ``min 1/2 |t|^2`` subject to ``t = R x - r`` and one cone a link.
  This is the fastest form we know for a conic solver, and the reference for times and optima.
* `lmi_epigraph` is the thesis's: ``min u`` subject to ``[[u - |rho|^2, (r - R x)'], [r - R x, 1]] >= 0`` (Sousa 2014,
  eq. 3.42, 3.48), one dense cone of the size of the regression, which limits it to a few links.
"""

from __future__ import annotations

import time
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from papers.methods.cones import ORDER, cone_map, stack, svec
from papers.methods.regression import Answer, Regression, answer


def settings(tolerance: float | None = None) -> Any:
    """Quiet, single-threaded; solver defaults unless a tolerance is given."""
    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.max_threads = 1
    if tolerance is not None:
        chosen.tol_gap_abs = chosen.tol_gap_rel = chosen.tol_feas = tolerance
        chosen.max_iter = 100
    return chosen


def link_cones(data: Regression) -> tuple[sparse.csc_matrix, np.ndarray, list[Any]]:
    """``A x + s = b, s in cones`` of all links."""
    block = cone_map(data.kind)
    order = ORDER[data.kind]
    A = sparse.kron(sparse.identity(data.links), sparse.csc_matrix(-block), format="csc")
    b = np.tile(-data.margin * svec(np.eye(order)), data.links)
    return A, b, [clarabel.PSDTriangleConeT(order)] * data.links


def lmi(data: Regression, tolerance: float | None = None) -> Answer:
    """Quadratic objective, one cone a link."""
    start = time.process_time()
    size = 10 * data.links
    cones_A, cones_b, cones = link_cones(data)
    P = sparse.block_diag([sparse.csc_matrix((size, size)), sparse.identity(size)], format="csc")
    A = stack([[sparse.csc_matrix(data.R), -sparse.identity(size)], [cones_A, None]])
    b = np.concatenate([data.r, cones_b])
    solver = clarabel.DefaultSolver(
        P, np.zeros(2 * size), A, b, [clarabel.ZeroConeT(size), *cones], settings(tolerance)
    )
    built = time.process_time()
    result = solver.solve()
    done = time.process_time()
    return _answer("LMI-SDP", data, result, np.array(result.x)[:size], built - start, done - built)


def lmi_epigraph(data: Regression, tolerance: float | None = None) -> Answer:
    """The thesis's form: a linear objective and one more cone, of order ``10 n + 1``."""
    start = time.process_time()
    size = 10 * data.links
    cones_A, cones_b, cones = link_cones(data)
    order = size + 1
    # svec places entry (i, j), i <= j, at j (j + 1) / 2 + i; row 0 holds u and sqrt(2) (r - R x), the rest is the
    # identity
    column = np.arange(1, order)
    place = column * (column + 1) // 2
    epigraph = sparse.lil_matrix((order * (order + 1) // 2, size + 1))
    epigraph[0, size] = -1.0
    epigraph[place, :size] = np.sqrt(2.0) * data.R
    constant = svec(np.eye(order))
    constant[0] = 0.0
    constant[place] = np.sqrt(2.0) * data.r
    A = stack([[epigraph], [sparse.hstack([cones_A, sparse.csc_matrix((cones_A.shape[0], 1))])]])
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((size + 1, size + 1)),
        np.append(np.zeros(size), 1.0),
        A,
        np.concatenate([constant, cones_b]),
        [clarabel.PSDTriangleConeT(order), *cones],
        settings(tolerance),
    )
    built = time.process_time()
    result = solver.solve()
    done = time.process_time()
    return _answer("LMI-SDP (epigraph)", data, result, np.array(result.x)[:size], built - start, done - built)


def _answer(method: str, data: Regression, result: Any, x: np.ndarray, build_time: float, solve_time: float) -> Answer:
    status = str(result.status)
    return answer(
        method,
        data,
        x,
        solved=status in ("Solved", "AlmostSolved"),
        status=status,
        iterations=int(result.iterations),
        build_time=build_time,
        solve_time=solve_time,
    )
