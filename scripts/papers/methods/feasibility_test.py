"""Is a set of base parameters that of any real robot? The question of Yoshida and Khalil (2000), answered with a proof.

Their test walks from the last link to the base and looks, link by link, for standard parameters that match the base
parameters and are feasible, in regions of up to three dimensions drawn on screen, going back when a choice proves
wrong: a search by hand for the point that is found here in one go. The modern equivalent (Sousa 2014, Sec. 3.3) is a
conic program,

    max t   subject to   K pi = beta,   M_k(pi) >= t 1,   pi_i >= t (friction),   t <= 1,

feasible when ``t >= 0``, with pi as the witness. Their recursion is
`methods.yoshida_recursion`; this program decides the same set. When ``t <
0`` its dual gives ``Z_k >= 0`` whose adjoint is ``K'y + e`` with ``beta'y < 0`` and e of rounding size: since every
feasible pi has ``sum <Z_k, M_k(pi)> >= 0``, one of length less than ``-beta'y / |e|`` cannot exist. Both proofs are
evaluated in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from casid.arrays import Array
from casid.inertia import pseudo_inertia
from casid.inertia._parameters import spatial_inertia
from papers.methods.cones import ORDER, cone_map, smat, stack, svec
from papers.methods.lmi import settings
from papers.methods.regression import Kind


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
    A = stack(
        [
            [sparse.csc_matrix(K), None],
            [-S, unit[:, None]],
            [None, sparse.csc_matrix([[1.0]])],
        ]
    )
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
