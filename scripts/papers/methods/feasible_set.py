"""The feasible set as cones, its test, the nearest point in it, and the LMI regression."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import clarabel
import numpy as np
from papers.methods.regression import MATRIX, Answer, Kind, Regression, answer
from scipy import sparse

from casid.arrays import Array
from casid.dynamics import Model
from casid.identification import RegressionProblem

ORDER: dict[Kind, int] = {"full": 4, "semi": 6}


def svec(matrix: Array) -> Array:
    """Upper triangle of a symmetric matrix by columns, off-diagonal entries times sqrt(2)."""
    columns, rows = np.tril_indices(len(matrix))
    return np.asarray(matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def smat(vector: Array) -> Array:
    """Inverse of `svec`."""
    order = int((np.sqrt(8 * len(vector) + 1) - 1) / 2)
    columns, rows = np.tril_indices(order)
    matrix = np.zeros((order, order))
    matrix[rows, columns] = matrix[columns, rows] = vector / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return matrix


def cone_map(kind: Kind) -> Array:
    """Matrix C, shape (p (p + 1) / 2, 10): ``svec`` of a link's matrix is ``C x`` for its ten standard parameters x."""
    return np.stack([svec(MATRIX[kind](unit)) for unit in np.eye(10)], axis=1)


def stack(blocks: Sequence[Sequence[Any]]) -> Any:
    """A sparse matrix in the columns' format that solvers want, from blocks (``None``: zeros)."""
    return sparse.bmat(blocks, format="csc")


@dataclass(frozen=True, eq=False)
class Verdict:
    """Outcome of the test.

    Attributes
    ----------
    feasible : bool
    margin : float
        t: smallest eigenvalue that all links can have together (SI units, at most 1).
    excluded_radius : float
        No feasible parameters shorter than this exist; infinite proofs end in rounding, about 1e6 and more is a clear
        no. Zero if feasible.
    """

    feasible: bool
    margin: float
    excluded_radius: float


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """All consistent parameters of a model.

    Attributes
    ----------
    size : int
        Number N of parameters.
    links : tuple of int
        Position of each link's first parameter.
    kind : {"full", "semi"}
    nonnegative : tuple of int
        Positions of parameters that must be >= 0 (viscous and Coulomb friction, rotor inertia).
    """

    size: int
    links: tuple[int, ...]
    kind: Kind
    nonnegative: tuple[int, ...] = ()

    @classmethod
    def of(cls, model: Model, kind: Kind = "semi") -> FeasibleSet:
        """Consistent links; friction and rotor inertia >= 0."""
        columns = model.term_columns
        positive = tuple(sorted(column for column, (term, _) in columns.items() if term.nonnegative))
        return cls(len(model.parameter_names), tuple(int(row[0]) for row in model.link_columns), kind, positive)

    def rows(self) -> tuple[sparse.csc_matrix, list[Any], Array]:
        """``S pi in cones``: S, Clarabel's cones, and the identity of the cones, shape (rows,)."""
        block, order = cone_map(self.kind), ORDER[self.kind]
        S = sparse.lil_matrix((len(self.links) * len(block) + len(self.nonnegative), self.size))
        for k, first in enumerate(self.links):
            S[len(block) * k : len(block) * (k + 1), first : first + 10] = block
        for i, position in enumerate(self.nonnegative):
            S[len(self.links) * len(block) + i, position] = 1.0
        cones = [clarabel.PSDTriangleConeT(order)] * len(self.links)
        if self.nonnegative:
            cones.append(clarabel.NonnegativeConeT(len(self.nonnegative)))
        unit = np.concatenate([np.tile(svec(np.eye(order)), len(self.links)), np.ones(len(self.nonnegative))])
        return S.tocsc(), cones, unit

    def margin(self, parameters: Array) -> float:
        """Smallest eigenvalue of the links' matrices, and of the non-negative parameters."""
        smallest = [np.linalg.eigvalsh(MATRIX[self.kind](parameters[i : i + 10]))[0] for i in self.links]
        return float(min([*smallest, *parameters[list(self.nonnegative)]]))


def feasibility_test(K: Array, beta: Array, feasible: FeasibleSet, tolerance: float = 1e-9) -> Verdict:
    """Decide whether consistent parameters with these base parameters exist.

    Parameters
    ----------
    K, beta
        ``beta = K pi``, shapes (b, N) and (b,).
    feasible
        What counts as consistent.
    tolerance
        Margins down to minus this count as feasible (the boundary does).
    """
    S, cones, unit = feasible.rows()
    size = feasible.size
    A = stack([[sparse.csc_matrix(K), None], [-S, unit[:, None]], [None, sparse.csc_matrix([[1.0]])]])
    b = np.concatenate([beta, np.zeros(len(unit)), [1.0]])
    q = np.append(np.zeros(size), -1.0)
    found = conic(q, A, b, [clarabel.ZeroConeT(len(beta)), *cones, clarabel.NonnegativeConeT(1)], 1e-10)
    witness = found.x[:size]
    witness = witness + np.linalg.lstsq(K, beta - K @ witness, rcond=None)[0]
    margin = feasible.margin(witness)
    if margin >= -tolerance:
        return Verdict(True, margin, 0.0)
    return Verdict(False, margin, _excluded_radius(K, beta, S, feasible, found.z[len(beta) : -1]))


def closest_feasible(K: Array, beta: Array, feasible: FeasibleSet) -> tuple[Array, float]:
    """Consistent parameters with base parameters nearest to given ones, and the distance (Sousa 2014, Sec. 3.4)."""
    parameters = least_squares(K, beta, *feasible.rows(), 0.0, 1e-11).x
    return parameters, float(np.linalg.norm(K @ parameters - beta))


def _excluded_radius(K: Array, beta: Array, S: sparse.csc_matrix, feasible: FeasibleSet, dual: Array) -> float:
    """Length below which no feasible parameters exist, from the projected dual; 0 if it proves nothing."""
    length = len(cone_map(feasible.kind))
    projected = dual.copy()
    for k in range(len(feasible.links)):
        values, vectors = np.linalg.eigh(smat(dual[length * k : length * (k + 1)]))
        projected[length * k : length * (k + 1)] = svec((vectors * np.maximum(values, 0.0)) @ vectors.T)
    rest = length * len(feasible.links)
    projected[rest:] = np.maximum(dual[rest:], 0.0)
    adjoint = S.T @ projected
    y = np.linalg.lstsq(K.T, adjoint, rcond=None)[0]
    error = float(np.linalg.norm(adjoint - K.T @ y))
    gain = -float(beta @ y)
    return gain / max(error, 1e-300) if gain > 0 else 0.0


def settings(tolerance: float | None = None) -> Any:
    """Quiet, single-threaded; solver defaults unless a tolerance is given."""
    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.max_threads = 1
    if tolerance is not None:
        chosen.tol_gap_abs = chosen.tol_gap_rel = chosen.tol_feas = tolerance
        chosen.max_iter = 100
    return chosen


@dataclass(frozen=True, eq=False)
class Solved:
    """Unknowns and multipliers of a cone program, the solver's status, its iterations and times [s]."""

    x: Array
    z: Array
    status: str
    iterations: int
    build_time: float
    solve_time: float

    @property
    def success(self) -> bool:
        """Whether the solver claims an answer."""
        return self.status in ("Solved", "AlmostSolved")

    def answer(self, method: str, data: Regression, x: Array) -> Answer:
        """Standard parameters x that follow from the unknowns, judged on the data."""
        times = {"build_time": self.build_time, "solve_time": self.solve_time}
        return answer(method, data, x, solved=self.success, status=self.status, iterations=self.iterations, **times)


def conic(
    q: Array, A: Any, b: Array, cones: list[Any], tolerance: float | None = None, P: Any = None,
    start: float | None = None,
) -> Solved:  # fmt: skip
    """``min x'P x / 2 + q'x  subject to  b - A x in cones`` by Clarabel; P None: zero.

    ``start`` is the processor time at which stating the program began (default: now).
    """
    start = time.process_time() if start is None else start
    P = sparse.csc_matrix((len(q), len(q))) if P is None else P
    solver = clarabel.DefaultSolver(P, q, A, b, cones, settings(tolerance))
    built = time.process_time()
    result = solver.solve()
    times = built - start, time.process_time() - built
    return Solved(np.array(result.x), np.array(result.z), str(result.status), int(result.iterations), *times)


def least_squares(
    R: Array, r: Array, S: Any, cones: list[Any], unit: Array, margin: float, tolerance: float | None,
    start: float | None = None,
) -> Solved:  # fmt: skip
    """``min |R x - r|^2  subject to  S x - margin unit in cones``; unknowns x and the residual, of which x is kept."""
    rows, size = R.shape
    P = sparse.block_diag([sparse.csc_matrix((size, size)), sparse.identity(rows)], format="csc")
    A = stack([[sparse.csc_matrix(R), -sparse.identity(rows)], [-S, None]])
    b, every = np.concatenate([r, -margin * unit]), [clarabel.ZeroConeT(rows), *cones]
    found = conic(np.zeros(size + rows), A, b, every, tolerance, P, start)
    return replace(found, x=found.x[:size])


def bounded_regression(built: RegressionProblem, margin: float, tolerance: float | None = None) -> Solved:
    """A library's regression with its affine rows and one LMI a link, by Clarabel: unknowns links first."""
    objective, linear = built.problem.objective, built.linear
    ends = [(-form, -low) for form, low in zip(linear.matrix, linear.lower, strict=True)]
    ends += [(form, high) for form, high in zip(linear.matrix, linear.upper, strict=True)]
    bounds = [(form, end) for form, end in ends if np.isfinite(end)]
    links, (_, size) = len(built.problem.cones), objective.matrix.shape
    S, cones, unit = FeasibleSet(size, tuple(range(0, 10 * links, 10)), "full").rows()
    A = sparse.vstack([sparse.csc_matrix(np.array([form for form, _ in bounds])), -S], format="csc")
    b = np.concatenate([[end for _, end in bounds], -margin * unit])
    P = sparse.csc_matrix(np.triu(2 * objective.matrix.T @ objective.matrix))
    q = -2 * objective.matrix.T @ objective.target
    return conic(q, A, b, [clarabel.NonnegativeConeT(len(bounds)), *cones], tolerance, P)


def epigraph(R: Array, r: Array, known: float = 0.0) -> tuple[Any, Array, Any]:
    """``[[u - known, (r - R x)'], [r - R x, 1]] >= 0``: A, b and the cone, in the unknowns (x, u)."""
    order, size = len(r) + 1, R.shape[1]
    # svec places entry (i, j), i <= j, at j (j + 1) / 2 + i; row 0 holds u and sqrt(2) (r - R x), the rest is the
    # identity
    column = np.arange(1, order)
    place = column * (column + 1) // 2
    A = sparse.lil_matrix((order * (order + 1) // 2, size + 1))
    A[0, size], A[place, :size] = -1.0, np.sqrt(2.0) * R
    b = svec(np.eye(order))
    b[0], b[place] = -known, np.sqrt(2.0) * r
    return A, b, clarabel.PSDTriangleConeT(order)


def lmi(data: Regression, tolerance: float | None = None) -> Answer:
    """Quadratic objective, one cone a link."""
    start, size = time.process_time(), 10 * data.links
    allowed = FeasibleSet(size, tuple(range(0, size, 10)), data.kind)
    found = least_squares(data.R, data.r, *allowed.rows(), data.margin, tolerance, start)
    return found.answer("LMI-SDP", data, found.x)


def inertia_matrix(x: ca.SX) -> ca.SX:
    """L of ten standard parameters, shape (3, 3)."""
    return ca.vertcat(ca.horzcat(x[0], x[1], x[2]), ca.horzcat(x[1], x[3], x[4]), ca.horzcat(x[2], x[4], x[5]))


def steiner(x: ca.SX) -> ca.SX:
    """``S'S = l'l 1 - l l'``, shape (3, 3)."""
    return ca.dot(x[6:9], x[6:9]) * ca.SX.eye(3) - x[6:9] @ x[6:9].T


def minors(x: ca.SX) -> ca.SX:
    """Mass, and the leading principal minors of ``m I``: all positive iff m > 0 and I > 0, shape (4, 1).

    ``m I = m L - (l'l 1 - l l')`` has entries that are polynomials of the ten standard parameters x; its minors are P_1
    to P_3 of eq. 3.3-3.5 but for powers of the mass.
    """
    matrix = x[9] * inertia_matrix(x) - steiner(x)
    return ca.vertcat(x[9], matrix[0, 0], ca.det(matrix[:2, :2]), ca.det(matrix))
