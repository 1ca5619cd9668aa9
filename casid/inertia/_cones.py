"""The notions of physical consistency as cones of the ten standard parameters: `Full`, `Semi`, `Free`.

A cone has the matrix that must be positive definite, coordinates in which it is a quadratic image of free
numbers, a bound of linear functions over it (its dual), and the projection onto it. All per link.

**Factorisation.** The ten parameters of a body in the cone are ``x = basis y + offset`` with ``y = q(t)``, ten
quadratic forms of ten numbers t of which four are >= 0:

* `Full`: ``J(x) = S T T' S' + margin 1``, T the lower triangular matrix of t, S the Cholesky factor of a nominal
  ``J(x0) - margin 1``: a congruence, so that ``T T'`` is 1 at the nominal body. y is the lower triangle of ``T T'``.
* `Semi`: with ``m = t0^2, l = t0 v, L = v'v 1 - v v' + T T'`` (T 3x3) the 6x6 spatial inertia factorises, and ``T T'``
  is the inertia about the centre of mass; coordinates are about the nominal centre of mass, in units of the nominal
  mass and size.

The log barrier of the four non-negative numbers is then half the log det of the 4x4 matrix, or of m and I.

**Dual share.** A bound on ``g'z`` over bodies z of the cone with a margin, within limits of their size:

* `Full`: J is a bijection, so ``g'z = <Z, J(z)>`` for one symmetric Z; with N its negative part,
  ``g'z >= margin tr Z - ||N||_2 tr (J(z) - margin 1)``.
* `Semi`: with G the share of L, h of l and gamma of m, ``g'z = <G, I> + m [c; 1]' Q [c; 1]`` where
  ``Q = [[tr(G) 1 - G, h/2], [h'/2, gamma]]``: g is in the dual cone where G >= 0 and Q >= 0, and their negative parts
  count likewise; ``tr I' <= tr L`` and ``l'l / m' <= tr L / 2`` (margin taken off) limit them.
* `Free`: only the ranges of the parameters limit ``g'z``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array, read_only
from casid.inertia._parameters import (
    MOMENTS,
    PSEUDO_INERTIA_MAP,
    TENSOR_INDEX,
    express_in,
    from_standard,
    pseudo_inertia,
    spatial_inertia,
    tensor,
    to_standard,
)

# ------------------------------------------------------------------ symmetric 4x4 matrices

#: Entries (row, column) of the lower triangle of a 4x4 matrix, row by row, and the places of those on the diagonal.
_ROWS, _COLUMNS = np.tril_indices(4)
LOWER = tuple(zip(_ROWS.tolist(), _COLUMNS.tolist(), strict=True))
DIAGONAL = tuple(k for k, (i, j) in enumerate(LOWER) if i == j)
_PLACE = np.array([[LOWER.index((max(i, j), min(i, j))) for j in range(4)] for i in range(4)])


def symmetric(entries: ArrayLike) -> Array:
    """Symmetric matrices, shape (..., 4, 4), of the entries of their lower triangles, shape (..., 10)."""
    return np.asarray(entries, dtype=float)[..., _PLACE]


def lower_triangle(matrices: ArrayLike) -> Array:
    """Entries of the lower triangles, row by row, shape (..., 10), of matrices, shape (..., 4, 4)."""
    return np.asarray(matrices, dtype=float)[..., _ROWS, _COLUMNS]


#: ``vec S = TRIANGLE_MAP y`` of the lower triangle y; ``svec S = SVEC_WEIGHTS y``; ``vec S = ORTHONORMAL_MAP svec S``.
TRIANGLE_MAP = read_only(symmetric(np.eye(10)).reshape(10, 16).T.copy())
SVEC_WEIGHTS = read_only(np.linalg.norm(TRIANGLE_MAP, axis=0))
ORTHONORMAL_MAP = read_only(TRIANGLE_MAP / SVEC_WEIGHTS)
#: Standard parameters of ``vec J``, shape (10, 16): the inverse of `PSEUDO_INERTIA_MAP` on symmetric matrices.
STANDARD_MAP = read_only(np.linalg.pinv(PSEUDO_INERTIA_MAP))


def from_svec(vector: ArrayLike) -> Array:
    """Symmetric matrices, shape (n, 4, 4), of stacked ``svec``, shape (10 n,)."""
    return symmetric(np.reshape(vector, (-1, 10)) / SVEC_WEIGHTS)


def to_svec(matrices: ArrayLike) -> Array:
    """Stacked ``svec``, shape (10 n,), of symmetric matrices, shape (n, 4, 4)."""
    return np.asarray((lower_triangle(matrices) * SVEC_WEIGHTS).reshape(-1))


def congruence(factor: ArrayLike) -> Array:
    """Matrix C, shape (10, 10), with ``x = C y``: standard parameters of ``J = F Y F'``, Y of lower triangle y."""
    F = np.asarray(factor, dtype=float)
    return np.asarray(STANDARD_MAP @ np.kron(F, F) @ TRIANGLE_MAP)


# ------------------------------------------------------------------ cones


@dataclass(frozen=True, eq=False)
class Limits:
    """How large the bodies of some links can be; infinite where nothing limits them.

    Attributes
    ----------
    trace : ndarray, shape (links,)
        Upper bound of ``tr J = tr(L)/2 + m``.
    box : ndarray, shape (links, 10)
        Upper bound of each parameter's absolute value.
    body : ndarray, shape (links, 10), or None
        Nominal bodies: where nothing limits them, bodies are searched up to ``factor`` times their size.
    factor : float
    """

    trace: Array
    box: Array
    body: Array | None = None
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class DualShare:
    """``g'z >= gain - cost`` over a cone; ``searched``: within the search region only; of links, shape (links,)."""

    gain: Array
    cost: Array
    searched: NDArray[np.bool_]


class ConsistencyCone(ABC):
    """One notion of consistency; objects have no state and are equal if of the same class."""

    #: Name in files, and what its matrix is called.
    name: ClassVar[str]
    matrix_name: ClassVar[str]
    #: Whether it implies m >= 0, and the triangle inequality of the principal moments.
    positive_mass: ClassVar[bool]
    triangle: ClassVar[bool]
    #: Whether it restricts anything, and which of the ten numbers t are >= 0.
    constrains: ClassVar[bool] = True
    non_negative: ClassVar[tuple[int, ...]] = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def matrix(self, parameters: ArrayLike) -> Array:
        """The matrix that must be positive definite."""

    def dual_matrices(self, share: Array) -> tuple[Array, ...]:
        """Linear in the share, shape (..., 10), which is in the dual cone where all are positive semidefinite."""
        raise NotImplementedError

    def dual_gain(self, share: Array, margin: Array | float) -> Array:
        """What the margin adds to ``share'z``, ``margin tr Z``, for a share in the dual cone; linear in the share."""
        raise NotImplementedError

    @abstractmethod
    def dual_share(self, share: Array, margin: Array, limits: Limits) -> DualShare:
        """Bound of ``share'z`` over the bodies z of the cone; of links, shapes (links, 10) and (links,)."""

    def complementary(self, share: Array, body: Array, margin: Array, most: float) -> Array:
        """The part of a share that is in the dual cone and whose product with a body of the cone is almost zero.

        Parameters
        ----------
        share, body, margin
            Of several links, shapes (links, 10), (links, 10), (links,).
        most
            Largest product with each direction of the body.
        """
        return share

    def project(self, parameters: ArrayLike, margin: float) -> Array:
        """A body of the cone that keeps mass and centre of mass where they can be, and moves the inertia least.

        The inertia about the centre of mass gives way to the nearest one (in the Frobenius norm of the matrix that must
        be positive definite there) whose smallest eigenvalue is at least the margin [kg.m^2].
        """
        mass, com, inertia = from_standard(parameters)
        values, axes = np.linalg.eigh(inertia)  # of `Full`'s matrix, tr(I)/2 1 - I, too
        moments = values.sum() / 2 - values if self.triangle else values
        if mass > 0 and moments.min() >= margin:
            return np.array(parameters, dtype=float)
        moments = np.maximum(moments, 1.01 * margin)
        values = moments.sum() - moments if self.triangle else moments
        mass, com = (mass, com) if mass > 0 else (margin, np.zeros(3))
        return to_standard(mass, com, axes @ np.diag(values) @ axes.T)

    def violation(self, parameters: ArrayLike, margin: float) -> float:
        """By how much the smallest eigenvalue of the matrix misses the margin, >= 0; infinite for NaN."""
        matrix = self.matrix(parameters)
        if not np.isfinite(matrix).all():
            return float("inf")
        return max(0.0, margin - float(np.linalg.eigvalsh(matrix)[0]))

    def coordinates(self, nominal: Array, margin: float) -> tuple[Array, Array]:
        """``basis`` (10, 10) and ``offset`` (10,) about a nominal body whose matrix exceeds the margin."""
        raise NotImplementedError

    def products(self, t: ca.SX) -> ca.SX:
        """``y = q(t)``, shape (10, 1)."""
        raise NotImplementedError

    def factor(self, y: Array) -> Array:
        """Numbers t with ``q(t) = y``, shape (10,); what lies outside the cone is lifted to its inside."""
        raise NotImplementedError

    def compose(self, t: Array) -> Array:
        """``y = q(t)`` of numbers, shape (10,) or (links, 10)."""
        return np.asarray(np.array(_products_of(self)(np.transpose(t))).T.reshape(np.shape(t)))


class Full(ConsistencyCone):
    """``J >= margin 1``: positive mass, positive inertia, triangle inequality (Wensing et al. 2018, Thm. 1)."""

    name, matrix_name, positive_mass, triangle = "full", "pseudo-inertia", True, True
    non_negative = (0, 2, 5, 9)

    def matrix(self, parameters: ArrayLike) -> Array:
        """Pseudo-inertia, shape (4, 4)."""
        return pseudo_inertia(parameters)

    def coordinates(self, nominal: Array, margin: float) -> tuple[Array, Array]:
        """Congruence that makes the nominal ``J - margin 1`` the identity."""
        factor = np.linalg.cholesky(pseudo_inertia(nominal) - margin * np.eye(4))
        return congruence(factor), margin * STANDARD_MAP @ np.eye(4).ravel()

    def products(self, t: ca.SX) -> ca.SX:
        """Lower triangle of ``T T'``."""
        triangle = ca.SX(ca.Sparsity.upper(4), t).T
        square = triangle @ triangle.T
        return ca.vertcat(*[square[i, j] for i, j in LOWER])

    def factor(self, y: Array) -> Array:
        """Cholesky factor of the symmetric matrix with lower triangle y."""
        return lower_triangle(np.linalg.cholesky(_lifted(symmetric(y))))

    def dual_matrices(self, share: Array) -> tuple[Array, ...]:
        """Z of this module's docstring."""
        return (_symmetric((share @ STANDARD_MAP).reshape(*share.shape[:-1], 4, 4)),)

    def dual_gain(self, share: Array, margin: Array | float) -> Array:
        """``margin tr Z``."""
        return np.asarray(margin * np.trace(self.dual_matrices(share)[0], axis1=-2, axis2=-1))

    def dual_share(self, share: Array, margin: Array, limits: Limits) -> DualShare:
        """By the formula of this module's docstring."""
        dual, limit = self.dual_matrices(share)[0], np.maximum(limits.trace - 4 * margin, 0.0)
        wide = ~np.isfinite(limit) & (limits.body is not None)
        if limits.body is not None and wide.any():
            factor = np.linalg.cholesky(pseudo_inertia(limits.body[wide]) - margin[wide, None, None] * np.eye(4))
            dual[wide], limit[wide] = np.swapaxes(factor, 1, 2) @ dual[wide] @ factor, 4 * limits.factor
        return DualShare(self.dual_gain(share, margin), _cost(_negative(dual), limit), wide & share.any(axis=1))

    def complementary(self, share: Array, body: Array, margin: Array, most: float) -> Array:
        """``Z = S^-T P S^-1`` with ``S S' = J - margin 1``: P is ``S'Z S`` with eigenvalues cut to 0 and ``most``."""
        values, axes = np.linalg.eigh(pseudo_inertia(body) - margin[:, None, None] * np.eye(4))
        least = np.finfo(float).eps * np.maximum(values[:, -1], margin)
        root = axes * np.sqrt(np.maximum(values, least[:, None]))[:, None, :]
        across = np.swapaxes(root, 1, 2)
        inner, turn = np.linalg.eigh(across @ self.dual_matrices(share)[0] @ root)
        back = np.linalg.solve(across, turn)
        kept = (back * np.clip(inner, 0.0, most)[:, None, :]) @ np.swapaxes(back, 1, 2)
        return np.asarray(kept.reshape(len(share), 16) @ PSEUDO_INERTIA_MAP)


class Semi(ConsistencyCone):
    """``[[L, S(l)'], [S(l), m 1]] >= margin 1``: m > 0 and I > 0 only (Sousa 2014, eq. 3.18-3.21)."""

    name, matrix_name, positive_mass, triangle = "semi", "spatial inertia", True, False
    non_negative = (0, 4, 6, 9)

    def matrix(self, parameters: ArrayLike) -> Array:
        """Spatial inertia, shape (6, 6)."""
        return spatial_inertia(parameters)

    def coordinates(self, nominal: Array, margin: float) -> tuple[Array, Array]:
        """About the nominal centre of mass, in units of the nominal mass and size."""
        mass, com, inertia = from_standard(nominal)
        length = float(np.sqrt(np.trace(inertia) / (3 * mass)))
        scales = np.array([mass * length**2] * 6 + [mass * length] * 3 + [mass])
        offset = np.zeros(10)
        offset[[*MOMENTS, 9]] = margin
        return np.stack([express_in(unit * scales, np.eye(3), com) for unit in np.eye(10)], axis=1), offset

    def products(self, t: ca.SX) -> ca.SX:
        """Inertia about the origin, first moment and mass of the factors."""
        triangle, v = ca.SX(ca.Sparsity.upper(3), t[4:]).T, t[1:4]
        inertia = triangle @ triangle.T + ca.dot(v, v) * ca.SX.eye(3) - v @ v.T
        return ca.vertcat(*[inertia[i, j] for i, j in TENSOR_INDEX], t[0] * v, t[0] ** 2)

    def factor(self, y: Array) -> Array:
        """Root of the mass, first moment over it, Cholesky factor of the inertia about the centre of mass."""
        mass = max(float(y[9]), 1e-6)
        v = y[6:9] / np.sqrt(mass)
        about_com = tensor(y[:6]) - (v @ v * np.eye(3) - np.outer(v, v))
        triangle = np.linalg.cholesky(_lifted(about_com))
        return np.concatenate([[np.sqrt(mass)], v, triangle[np.tril_indices(3)]])

    def dual_matrices(self, share: Array) -> tuple[Array, ...]:
        """G and Q of this module's docstring."""
        inertia = (share[..., :6] * np.array([1, 0.5, 0.5, 1, 0.5, 1]))[..., [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
        quadratic = np.zeros((*share.shape[:-1], 4, 4))
        quadratic[..., :3, :3] = share[..., MOMENTS].sum(axis=-1)[..., None, None] * np.eye(3) - inertia
        quadratic[..., :3, 3] = quadratic[..., 3, :3] = share[..., 6:9] / 2
        quadratic[..., 3, 3] = share[..., 9]
        return inertia, quadratic

    def dual_gain(self, share: Array, margin: Array | float) -> Array:
        """``margin (tr G + gamma)``."""
        return np.asarray(margin * share[..., [*MOMENTS, 9]].sum(axis=-1))

    def dual_share(self, share: Array, margin: Array, limits: Limits) -> DualShare:
        """By the formula of this module's docstring."""
        inertia, quadratic = self.dual_matrices(share)
        trace, mass = limits.box[:, MOMENTS].sum(axis=1), limits.box[:, 9]
        wide = ~np.isfinite(trace + mass) & (limits.body is not None)
        if limits.body is not None:
            trace = np.where(wide, np.minimum(trace, limits.factor * limits.body[:, MOMENTS].sum(axis=1)), trace)
            mass = np.where(wide, np.minimum(mass, limits.factor * limits.body[:, 9]), mass)
        cost = _cost(_negative(inertia), trace) + _cost(_negative(quadratic), mass + trace / 2)
        return DualShare(self.dual_gain(share, margin), cost, wide & share.any(axis=1))


class Free(ConsistencyCone):
    """Any numbers, physical or not."""

    name, matrix_name, positive_mass, triangle = "none", "nothing", False, False
    constrains = False

    def matrix(self, parameters: ArrayLike) -> Array:
        """No matrix: shape (0, 0)."""
        return np.zeros((0, 0))

    def violation(self, parameters: ArrayLike, margin: float) -> float:
        """Never violated but by NaN."""
        return 0.0 if np.isfinite(np.asarray(parameters, dtype=float)).all() else float("inf")

    def complementary(self, share: Array, body: Array, margin: Array, most: float) -> Array:
        """Nothing."""
        return np.zeros_like(share)

    def dual_share(self, share: Array, margin: Array, limits: Limits) -> DualShare:
        """By the formula of this module's docstring."""
        box, wide = limits.box, np.any(~np.isfinite(limits.box), axis=1) & (limits.body is not None)
        if limits.body is not None:
            size = np.abs(limits.body).max(axis=1, keepdims=True)  # no parameter of the body is larger
            box = np.where(wide[:, None], np.minimum(box, limits.factor * size), box)
        return DualShare(np.zeros(len(share)), _cost(np.abs(share), box).sum(axis=1), wide & share.any(axis=1))

    def project(self, parameters: ArrayLike, margin: float) -> Array:
        """The parameters themselves."""
        return np.array(parameters, dtype=float)


#: The notions by name.
CONES: dict[str, ConsistencyCone] = {cone.name: cone for cone in (Full(), Semi(), Free())}


@cache
def _products_of(cone: ConsistencyCone) -> ca.Function:
    t = ca.SX.sym("t", 10)
    return ca.Function("products", [t], [cone.products(t)])


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + np.swapaxes(matrix, -2, -1)) / 2)


def _negative(matrix: Array) -> Array:
    """Size of the most negative eigenvalue of each matrix, >= 0."""
    return np.asarray(np.maximum(0.0, -np.linalg.eigvalsh(_symmetric(matrix))[..., 0]))


def _cost(amount: Array, limit: Array) -> Array:
    """The product, 0 where nothing is to be paid."""
    return np.multiply(amount, limit, out=np.zeros(np.shape(amount)), where=amount != 0)


def _lifted(matrix: Array) -> Array:
    """The matrix with eigenvalues of at least 1e-6 of the largest (or of 1)."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 1e-6 * max(float(values[-1]), 1.0))
    return np.asarray(vectors @ np.diag(values) @ vectors.T)
