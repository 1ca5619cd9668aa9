"""The feasible set as cones, its test, the nearest point in it, and the LMI regression."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import clarabel
import numpy as np
from papers.methods.regression import Answer, Kind, Regression, answer
from scipy import sparse

from casid.arrays import Array
from casid.inertia import pseudo_inertia
from casid.inertia._parameters import spatial_inertia

ORDER: dict[Kind, int] = {"full": 4, "semi": 6}


def svec(matrix: Array) -> Array:
    """Upper triangle of a symmetric matrix by columns, off-diagonal entries times sqrt(2)."""
    rows, columns = _upper(len(matrix))
    return np.asarray(matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def smat(vector: Array) -> Array:
    """Inverse of `svec`."""
    order = int((np.sqrt(8 * len(vector) + 1) - 1) / 2)
    rows, columns = _upper(order)
    matrix = np.zeros((order, order))
    matrix[rows, columns] = matrix[columns, rows] = vector / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return matrix


def cone_map(kind: Kind) -> Array:
    """Matrix C, shape (p (p + 1) / 2, 10): ``svec`` of a link's matrix is ``C x`` for its ten standard parameters x."""
    matrix = pseudo_inertia if kind == "full" else spatial_inertia
    return np.stack([svec(matrix(unit)) for unit in np.eye(10)], axis=1)


def _upper(order: int) -> tuple[np.ndarray, np.ndarray]:
    columns = np.repeat(np.arange(order), np.arange(1, order + 1))
    rows = np.concatenate([np.arange(j + 1) for j in range(order)])
    return rows, columns


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
    witness : ndarray, shape (N,)
        Standard parameters with these base parameters; feasible if the verdict is.
    mismatch : float
        ``|K witness - beta| / |beta|``.
    excluded_radius : float
        No feasible parameters shorter than this exist; infinite proofs end in rounding, about 1e6 and more is a clear
        no. Zero if feasible.
    """

    feasible: bool
    margin: float
    witness: Array
    mismatch: float
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
        matrix = pseudo_inertia if self.kind == "full" else spatial_inertia
        smallest = [np.linalg.eigvalsh(matrix(parameters[i : i + 10]))[0] for i in self.links]
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
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((size + 1, size + 1)),
        q,
        A,
        b,
        [clarabel.ZeroConeT(len(beta)), *cones, clarabel.NonnegativeConeT(1)],
        settings(1e-10),
    )
    result = solver.solve()
    witness = np.array(result.x)[:size]
    witness = witness + np.linalg.lstsq(K, beta - K @ witness, rcond=None)[0]
    margin = feasible.margin(witness)
    mismatch = float(np.linalg.norm(K @ witness - beta) / max(np.linalg.norm(beta), 1e-300))
    if margin >= -tolerance:
        return Verdict(True, margin, witness, mismatch, 0.0)
    return Verdict(
        False, margin, witness, mismatch, _excluded_radius(K, beta, S, feasible, np.array(result.z)[len(beta) : -1])
    )


def closest_feasible(K: Array, beta: Array, feasible: FeasibleSet, margin: float = 0.0) -> tuple[Array, float]:
    """Consistent parameters with base parameters nearest to given ones, and the distance (Sousa 2014, Sec. 3.4)."""
    S, cones, unit = feasible.rows()
    rank, size = K.shape
    P = sparse.block_diag([sparse.csc_matrix((size, size)), sparse.identity(rank)], format="csc")
    A = stack([[sparse.csc_matrix(K), -sparse.identity(rank)], [-S, None]])
    solver = clarabel.DefaultSolver(
        P,
        np.zeros(size + rank),
        A,
        np.concatenate([beta, -margin * unit]),
        [clarabel.ZeroConeT(rank), *cones],
        settings(1e-11),
    )
    parameters = np.array(solver.solve().x)[:size]
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


def minors(x: ca.SX) -> ca.SX:
    """Mass, and the leading principal minors of ``m I``: all positive iff m > 0 and I > 0, shape (4, 1).

    ``m I = m L - (l'l 1 - l l')`` has entries that are polynomials of the ten standard parameters x; its minors are P_1
    to P_3 of eq. 3.3-3.5 but for powers of the mass.
    """
    L = ca.vertcat(ca.horzcat(x[0], x[1], x[2]), ca.horzcat(x[1], x[3], x[4]), ca.horzcat(x[2], x[4], x[5]))
    moment, mass = x[6:9], x[9]
    matrix = mass * L - (ca.dot(moment, moment) * ca.SX.eye(3) - moment @ moment.T)
    return ca.vertcat(mass, matrix[0, 0], ca.det(matrix[:2, :2]), ca.det(matrix))
