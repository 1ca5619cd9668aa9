"""Sec. 3.5, 3.6 and 7.2: regression as a semidefinite program, its size, its parameter space, its file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import clarabel
import numpy as np
from scipy import sparse

import casid
from casid.arrays import Array
from casid.dynamics import BaseParameters, Model
from casid.inertia._parameters import spatial_inertia
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, below
from papers.methods.cones import stack, svec
from papers.methods.feasibility_test import FeasibleSet, feasibility_test
from papers.methods.lmi import settings
from papers.methods.sdpa import solve_sdpa
from papers.methods.sdpa_files import read_sdpa, write_sdpa
from papers.methods.yoshida_khalil import BETA_T1, BETA_T2

SAMPLES = 20


def ols_by_sdp(W: Array, w: Array, known: float = 0.0) -> tuple[Array, float]:
    """``min u, [[u - known, (w - W b)'], [w - W b, 1]] >= 0`` (eq. 3.44; eq. 3.51 with known = |rho_2|^2): b and u."""
    order, size = len(w) + 1, W.shape[1]
    column = np.arange(1, order)
    place = column * (column + 1) // 2
    A = np.zeros((order * (order + 1) // 2, size + 1))
    A[0, size], A[place, :size] = -1.0, np.sqrt(2.0) * W
    b = svec(np.eye(order))
    b[0], b[place] = -known, np.sqrt(2.0) * w
    cost = np.append(np.zeros(size), 1.0)
    none, cones = sparse.csc_matrix((size + 1, size + 1)), [clarabel.PSDTriangleConeT(order)]
    x = np.array(clarabel.DefaultSolver(none, cost, sparse.csc_matrix(A), b, cones, settings(1e-11)).solve().x)
    return x[:size], float(x[size])


def constrained(base: BaseParameters, R: Array, rho: Array, dependent: bool) -> tuple[Array, float]:
    """Eq. 3.53 in the base-dependent space, or eq. 3.58 in that of the standard parameters: beta and its error."""
    S, cones, unit = FeasibleSet(30, (0, 10, 20), "semi").rows()
    rank, others = base.rank, [k for k in range(30) if k not in base.independent]
    if dependent:  # delta from (beta, delta_d): the inverse of eq. 3.11
        to_delta = np.zeros((30, 30))
        to_delta[list(base.independent), :rank] = np.eye(rank)
        to_delta[np.ix_(list(base.independent), range(rank, 30))] = -base.K[:, others]
        to_delta[others, rank:] = np.eye(30 - rank)
        forms = np.hstack([np.eye(rank), np.zeros((rank, 30 - rank))])
    else:
        to_delta, forms = np.eye(30), base.K
    P = sparse.block_diag([sparse.csc_matrix((30, 30)), sparse.identity(rank)], format="csc")
    A = stack([[sparse.csc_matrix(R @ forms), -sparse.identity(rank)], [-S @ sparse.csc_matrix(to_delta), None]])
    b = np.concatenate([rho, -1e-6 * unit])
    found = clarabel.DefaultSolver(P, np.zeros(30 + rank), A, b, [clarabel.ZeroConeT(rank), *cones], settings(1e-11))
    beta = forms @ np.array(found.solve().x)[:30]
    return beta, float(np.sum((R @ beta - rho) ** 2))


def sec_3_5(setting: Setting) -> Outcome:
    """The same optimum by every form; and a set that is infeasible, yet feasible in what it shows."""
    base, rng = Model(casid.load_robot("three_link")).base, np.random.default_rng(35)
    target = np.array([BETA_T2[name] for name in base.names])
    W = rng.normal(size=(3 * SAMPLES, base.rank))
    w = W @ target + 0.1 * rng.normal(size=len(W))
    analytic = np.linalg.lstsq(W, w, rcond=None)[0]
    least = float(np.sum((w - W @ analytic) ** 2))
    Q, R = np.linalg.qr(W)
    rho = Q.T @ w
    whole, reduced = ols_by_sdp(W, w), ols_by_sdp(R, rho, least)
    standard, based = constrained(base, R, rho, False), constrained(base, R, rho, True)
    feasible = np.array([BETA_T1[name] for name in base.names])
    hat = np.zeros(30)
    hat[list(base.independent)] = feasible
    own = min(float(np.linalg.eigvalsh(spatial_inertia(hat[k : k + 10]))[0]) for k in (0, 10, 20))
    virtually = feasibility_test(base.K, base.K @ hat, FeasibleSet(30, (0, 10, 20), "semi"))
    rows: list[list[object]] = [
        ["OLS, analytic (eq. 2.58)", "", least, ""],
        ["OLS as an SDP (eq. 3.44)", len(w) + 1, whole[1], below(float(np.abs(whole[0] - analytic).max()), 1e-5)],
        ["reduced by QR (eq. 3.51)", base.rank + 1, reduced[1],
         below(float(np.abs(reduced[0] - analytic).max()), 1e-5)],
        ["feasible, base-dependent space (eq. 3.53)", "", least + based[1], ""],
        ["feasible, standard space (eq. 3.58)", "", least + standard[1],
         below(float(np.abs(standard[0] - based[0]).max()), 1e-5)],
    ]  # fmt: skip
    apart = max(float(np.abs(one[0] - analytic).max()) for one in (whole, reduced))
    columns = ("form", "order of the matrix U", "least u", "largest difference of beta from the form before")
    return Outcome(
        (Comparison.of("Regression of the three-link robot, 60 equations around beta_t2", columns, rows),),
        words=(
            "delta-hat with beta_t1 in its leading parameters and zeros elsewhere is no set of bodies (least "
            f"eigenvalue of its links {own:.3g}), yet 'virtually feasible' (eq. 3.55): others with the "
            "same base parameters are.",
        ),
        checks=(
            Check("OLS as an SDP, whole and reduced, is the analytic solution (to 1e-5)", apart <= 1e-5),
            Check("beta* is the same in the base-dependent and in the standard space (to 1e-5)",
                  float(np.abs(standard[0] - based[0]).max()) <= 1e-5),
            Check("a standard parameter set can be infeasible and virtually feasible", own < 0 and virtually.feasible),
        ),
    )  # fmt: skip


def sec_7_2(setting: Setting) -> Outcome:
    """The Panda's retrieval as an SDPA file, read back and solved by another solver."""
    solution = casid.solve(casid.load_problem("panda_retrieval"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panda.dat-s"
        write_sdpa(solution.problem, path)
        program, size = read_sdpa(path), path.stat().st_size
    found = solve_sdpa(program)
    apart = abs(found.objective / solution.objective - 1)
    rows = [[len(program.cost), len(program.blocks), size, found.objective, solution.objective]]
    columns = ("unknowns", "blocks", "bytes", "optimum of the file, Clarabel", "optimum, casid")
    return Outcome(
        (Comparison.of("From symbols to coefficient matrices to an SDPA file and back", columns, rows),),
        words=("The WAM's regression goes the same way in `python scripts/acceptance.py seeds --only SDPA`.",),
        checks=(Check("the file alone has the same optimum (to 1e-6)", apart <= 1e-6),),
    )


ITEMS = (
    Item(
        "Sec. 3.5",
        "regression as a semidefinite program: size reduction, parameter spaces (Sec. 3.5, 3.6)",
        Status.REPRODUCED,
        "eq. 3.44, 3.51, 3.53 and 3.58 given to Clarabel on equations drawn for the robot of Table 6.1",
        sec_3_5,
        repeatable=True,
    ),
    Item(
        "Sec. 7.2",
        "implementation of the LMI-SDP methods: coefficient matrices and SDPA files",
        Status.REPRODUCED,
        "the shipped Panda problem written as an SDPA file, read back and solved by Clarabel",
        sec_7_2,
        repeatable=True,
    ),
)
