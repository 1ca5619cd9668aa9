"""An independent solver for semidefinite programs as files hold them."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from casid.arrays import Array
from papers.methods.lmi import settings
from papers.methods.sdpa_files import SemidefiniteProgram


@dataclass(frozen=True, eq=False)
class SdpaAnswer:
    """Optimum of a program: ``c'y + constant``, the unknowns, the solver's word."""

    objective: float
    y: Array
    status: str


def solve_sdpa(program: SemidefiniteProgram, tolerance: float = 1e-11) -> SdpaAnswer:
    """Clarabel on ``minimise c'y  subject to  sum_k y_k F_k - F_0 >= 0``, given the file alone."""
    starts = np.cumsum([0, *(-size if size < 0 else size * (size + 1) // 2 for size in program.blocks)])
    k, block, i, j = program.places.T - np.array([[0], [1], [1], [1]])
    diagonal = np.array(program.blocks)[block] < 0
    rows = starts[block] + np.where(diagonal, i, j * (j + 1) // 2 + i)  # upper triangle by columns
    values = program.values * np.where(diagonal | (i == j), 1.0, np.sqrt(2.0))
    unknown = k > 0
    shape = (int(starts[-1]), len(program.cost))
    A = -sparse.coo_matrix((values[unknown], (rows[unknown], k[unknown] - 1)), shape).tocsc()
    b = np.zeros(shape[0])
    np.add.at(b, rows[~unknown], -values[~unknown])
    cones = [clarabel.NonnegativeConeT(-s) if s < 0 else clarabel.PSDTriangleConeT(s) for s in program.blocks]
    empty = sparse.csc_matrix((shape[1], shape[1]))
    result = clarabel.DefaultSolver(empty, program.cost, A, b, cones, settings(tolerance)).solve()
    y = np.array(result.x)
    return SdpaAnswer(float(program.cost @ y) + program.constant, y, str(result.status))
