"""A constrained regression that every method solves, and what a method answers.

``min ||W x - tau||^2`` over the standard parameters x of n links, each link physically consistent. W enters through its
R factor only: ``||W x - tau||^2 = ||R x - r||^2 + constant``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from casid.arrays import Array
from casid.inertia import pseudo_inertia
from casid.inertia._parameters import spatial_inertia

Kind = Literal["full", "semi"]

#: A link counts as feasible when the smallest eigenvalue of its matrix is above minus this (SI units).
FEASIBILITY_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Regression:
    """Data of a constrained regression.

    Attributes
    ----------
    W : ndarray, shape (rows, 10 n)
        Observation matrix.
    tau : ndarray, shape (rows,)
        Measurements.
    outputs : int
        Rows of one sample: row i measures output ``i % outputs``; weighted least squares gives each its own weight.
    boxes : ndarray, shape (n, 3, 2)
        Axis-aligned box that encloses each link, in its frame [m]: what a CAD model would give.
    kind : {"full", "semi"}
        Constraint set: pseudo-inertia ``J >= margin 1``, or the thesis's 6x6 matrix ``D >= margin 1`` (Sousa 2014,
        eq. 3.20).
    margin : float
        See ``kind``.
    truth : ndarray, shape (10 n,)
        Parameters that made the data; no method sees them.
    """

    W: Array
    tau: Array
    outputs: int
    boxes: Array
    kind: Kind
    margin: float
    truth: Array

    @property
    def links(self) -> int:
        """Number n of links."""
        return int(self.W.shape[1]) // 10

    @cached_property
    def triangle(self) -> Array:
        """R factor of ``[W, tau]``, shape (10 n + 1, 10 n + 1): all that the methods need of the data."""
        return np.asarray(np.linalg.qr(np.column_stack([self.W, self.tau]), mode="r"))

    @property
    def R(self) -> Array:
        """Upper triangular, shape (10 n, 10 n)."""
        return self.triangle[:-1, :-1]

    @property
    def r(self) -> Array:
        """Shape (10 n,)."""
        return self.triangle[:-1, -1]

    @property
    def constant(self) -> float:
        """Residual sum of squares of ordinary least squares: what no x can better."""
        return float(self.triangle[-1, -1] ** 2)

    def excess(self, x: Array) -> float:
        """``||R x - r||^2``: by how much the sum of squares at x exceeds that of ordinary least squares."""
        return float(np.sum((self.R @ x - self.r) ** 2))

    def relative_error(self, x: Array) -> float:
        """``||W x - tau|| / ||tau||`` (Sousa 2014, eq. 4.37)."""
        return float(np.sqrt(self.excess(x) + self.constant) / np.linalg.norm(self.tau))

    def error_above_ols(self, x: Array) -> float:
        """Percentage by which ``||W x - tau||`` exceeds that of ordinary least squares (Sousa 2014, Fig. 6.2)."""
        return 100.0 * float(np.sqrt(1.0 + self.excess(x) / self.constant) - 1.0)

    def eigenvalue(self, x: Array) -> float:
        """Smallest eigenvalue of all links' matrices: positive where every link is physically consistent."""
        matrix = pseudo_inertia if self.kind == "full" else spatial_inertia
        return float(min(np.linalg.eigvalsh(matrix(link))[0] for link in x.reshape(-1, 10)))


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method made of a regression; feasibility and error are computed here, not believed.

    Attributes
    ----------
    method : str
    x : ndarray, shape (10 n,)
    solved : bool
        What the method itself says.
    status : str
        In the solver's words.
    iterations : int
    build_time, solve_time : float
        Preparing the problem, and the solver alone [s].
    excess : float
        ``||R x - r||^2``.
    error_above_ols : float
        In percent.
    eigenvalue : float
        Smallest eigenvalue of all links' matrices (SI units); the problem asks for at least its margin.
    """

    method: str
    x: Array
    solved: bool
    status: str
    iterations: int
    build_time: float
    solve_time: float
    excess: float
    error_above_ols: float
    eigenvalue: float

    @property
    def feasible(self) -> bool:
        """Whether every link is physically consistent, to `FEASIBILITY_TOLERANCE`; the margin is not asked for."""
        return self.eigenvalue >= -FEASIBILITY_TOLERANCE

    @property
    def success(self) -> bool:
        """The method claims an answer, and the answer is feasible."""
        return self.solved and self.feasible


def answer(
    method: str,
    data: Regression,
    x: Array,
    *,
    solved: bool = True,
    status: str = "",
    iterations: int = 0,
    build_time: float = 0.0,
    solve_time: float = 0.0,
) -> Answer:
    """An `Answer`, measured on the data; parameters that are not finite count as zeros and as not solved."""
    x = np.asarray(x, dtype=float)
    if not np.isfinite(x).all():
        x, solved, status = np.zeros_like(x), False, f"{status} (not finite)".strip()
    return Answer(
        method,
        x,
        solved,
        status,
        iterations,
        build_time,
        solve_time,
        data.excess(x),
        data.error_above_ols(x),
        data.eigenvalue(x),
    )
