"""The parametrisations of a link, by increasing structure (Sutanto et al. 2020, Sec. 3), and the catalogue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import DatasetError, ProblemError
from casid.files import near, numeric_array
from casid.inertia import TENSOR_INDEX, from_standard, pseudo_inertia, tensor_entries

#: Added to masses [kg] and to the diagonals of inertias [kg.m^2], so that "positive" keeps a distance from zero.
BIAS = 1e-6


class Parametrisation(ABC):
    """Coordinates theta of one link, free in R^size, and its parameters as functions of them.

    A new one is a subclass that gives ``expression`` and ``coordinates``; training, guarantees and tests follow.

    Attributes
    ----------
    name : str
        What a user writes.
    size : int
        Number of coordinates.
    positive_mass, symmetric, definite, triangle : bool
        What holds for **every** theta: m > 0, I = I', I > 0 about the centre of mass, and the triangle inequality of
        the principal moments (so that a body of positive density exists).
    """

    name: ClassVar[str]
    size: ClassVar[int]
    positive_mass: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    definite: ClassVar[bool] = True
    triangle: ClassVar[bool] = True

    @abstractmethod
    def expression(self, theta: ca.SX) -> ca.SX:
        """Standard parameters, shape (10,), of coordinates theta, shape (size,).

        Parametrisations that are not ``symmetric`` return 13 numbers: the ten of the symmetric part of the inertia,
        then the vector a of its antisymmetric part S(a) (`casid.dynamics`).
        """

    @abstractmethod
    def coordinates(self, parameters: Array) -> Array:
        """A theta of these parameters; called with ten finite numbers inside the map's image."""

    @property
    def count(self) -> int:
        """Length of what the map returns: 10, or 13 where the inertia is not symmetric."""
        return 10 if self.symmetric else 13

    @cached_property
    def map(self) -> ca.Function:
        """``theta (size) -> pi (count)``."""
        theta = ca.SX.sym("theta", self.size)
        pi = ca.densify(self.expression(theta))
        return ca.Function(f"{type(self).__name__}_map", [theta], [pi], ["theta"], ["pi"])

    def parameters(self, theta: ArrayLike) -> Array:
        """Parameters of coordinates, shape (count,).

        Raises
        ------
        DatasetError
            If theta has another shape or is not finite.
        """
        where = f"parametrisation '{self.name}': theta"
        given = numeric_array(theta, where, DatasetError, finite=True, shape=(self.size,))
        return np.asarray(self.map(given)).reshape(-1)

    def inverse(self, parameters: ArrayLike) -> Array:
        """Coordinates, shape (size,), whose map gives these standard parameters, shape (10,).

        Raises
        ------
        DatasetError
            If the parameters lie outside the map's image (a negative mass, an inertia that no such theta reaches).
        """
        where = f"parametrisation '{self.name}': parameters"
        given = numeric_array(parameters, where, DatasetError, finite=True, shape=(10,))
        with np.errstate(all="ignore"):
            theta = np.asarray(self.coordinates(given), dtype=float)
        if not np.isfinite(theta).all():
            raise DatasetError(
                f"parametrisation '{self.name}' does not reach these parameters (mass {given[9]:.6g} kg); start from a "
                "physically consistent body"
            )
        return theta

    def random(self, rng: np.random.Generator, scale: float = 1.0) -> Array:
        """Random coordinates, normal with standard deviation ``scale``."""
        return scale * rng.standard_normal(self.size)

    def draw(self, rng: np.random.Generator) -> Array:
        """Coordinates that training starts from where nothing is known of the body.

        Those of Sutanto et al. (2020) start as in their published code: the mass is the square of a standard normal
        number, the centre of mass the magnitude of three [m], and the coordinates of the inertia are normal with
        standard deviation 0.01 (`NoStr`: 1, free mass).
        """
        return np.concatenate([rng.standard_normal(1), np.abs(rng.standard_normal(3)), self.draw_inertia(rng)])

    def draw_inertia(self, rng: np.random.Generator) -> Array:
        """The share of `draw` beyond mass and centre of mass."""
        return 0.01 * rng.standard_normal(self.size - 4)

    def __repr__(self) -> str:
        words = ("positive mass", "symmetric", "positive definite", "triangle inequality")
        holds = [w for w, yes in zip(words, (self.positive_mass, self.symmetric, self.definite, self.triangle)) if yes]  # noqa: B905
        return f"<{type(self).__name__}: {self.size} coordinates, guarantees {', '.join(holds) or 'nothing'}>"


def body(mass: ca.SX, com: ca.SX, inertia: ca.SX) -> ca.SX:
    """Ten standard parameters of mass, centre of mass and inertia I about it: ``L = I + m (c'c 1 - c c')``."""
    about_origin = inertia + mass * (ca.dot(com, com) * ca.SX.eye(3) - ca.mtimes(com, com.T))
    return ca.vertcat(*[about_origin[i, j] for i, j in TENSOR_INDEX], mass * com, mass)


def lower_triangular(entries: ca.SX) -> ca.SX:
    """Lower triangular 3x3 matrix of ``xx yy zz yx zx zy`` (diagonal first)."""
    matrix = ca.diag(entries[:3])
    matrix[1, 0], matrix[2, 0], matrix[2, 1] = ca.vertsplit(entries[3:])
    return matrix


def triangular_entries(factor: Array) -> Array:
    """Inverse of `lower_triangular`."""
    return np.array([factor[0, 0], factor[1, 1], factor[2, 2], factor[1, 0], factor[2, 0], factor[2, 1]])


def biased_cholesky(matrix: Array) -> Array:
    """Lower factor T with ``T T' + bias 1 = matrix``; NaN where there is none."""
    try:
        return np.asarray(np.linalg.cholesky(matrix - BIAS * np.eye(len(matrix))))
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)


def rotation(vector: ca.SX) -> ca.SX:
    """Rotation matrix exp(S(v)) (Rodrigues), smooth at v = 0."""
    angle = ca.sqrt(ca.dot(vector, vector) + 1e-30)
    S = ca.skew(vector)
    half = ca.sin(angle / 2) / (angle / 2)
    return ca.SX.eye(3) + ca.sin(angle) / angle * S + half * half / 2 * ca.mtimes(S, S)


def rotation_vector(matrix: Array) -> Array:
    """Vector v with ``exp(S(v)) = matrix``."""
    from scipy.spatial.transform import Rotation  # SciPy's spatial package costs 0.1 s of import

    return np.asarray(Rotation.from_matrix(matrix).as_rotvec())


def principal_axes(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and a right-handed frame of eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    if np.linalg.det(vectors) < 0:
        vectors = vectors * np.array([1.0, 1.0, -1.0])
    return values, vectors


def square(theta: ca.SX) -> ca.SX:
    """``theta^2 + bias``: positive (Sutanto et al. 2020, eq. 4)."""
    return theta * theta + BIAS


def root(value: float) -> float:
    """Inverse of `square`; NaN below the bias."""
    return float(np.sqrt(value - BIAS))


class NoStr(Parametrisation):
    """``theta = m, c, I11 I12 ... I33``: the inertia need not be symmetric, the mass may be negative."""

    name = "nostr"
    size = 13
    positive_mass = symmetric = definite = triangle = False

    def expression(self, theta: ca.SX) -> ca.SX:
        """Thirteen numbers: the symmetric body, and a of the antisymmetric part ``(I - I')/2 = S(a)``."""
        A = ca.reshape(theta[4:13], 3, 3).T
        asymmetry = ca.vertcat(A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1])
        return ca.vertcat(body(theta[0], theta[1:4], (A + A.T) / 2), asymmetry / 2)

    def draw_inertia(self, rng: np.random.Generator) -> Array:
        """Standard normal entries [kg.m^2]."""
        return rng.standard_normal(9)

    def coordinates(self, parameters: Array) -> Array:
        """The symmetric inertia's own entries."""
        mass, com, inertia = from_standard(parameters)
        return np.concatenate([[mass], com, ((inertia + inertia.T) / 2).ravel()])


class Symm(Parametrisation):
    """``theta = theta_m, c, Ixx Ixy Ixz Iyy Iyz Izz`` with ``m = theta_m^2 + bias``."""

    name = "symm"
    size = 10
    definite = triangle = False

    def expression(self, theta: ca.SX) -> ca.SX:
        """A body of positive mass."""
        i = theta[4:10]
        rows = ((i[0], i[1], i[2]), (i[1], i[3], i[4]), (i[2], i[4], i[5]))
        return body(square(theta[0]), theta[1:4], ca.vertcat(*[ca.horzcat(*row) for row in rows]))

    def coordinates(self, parameters: Array) -> Array:
        """Six entries, the root of the mass."""
        mass, com, inertia = from_standard(parameters)
        return np.concatenate([[root(mass)], com, tensor_entries(inertia)])


class SPD(Parametrisation):
    """``I = T T' + bias 1``: positive mass and inertia (semi-consistent); the triangle inequality may fail."""

    name = "spd"
    size = 10
    triangle = False

    def expression(self, theta: ca.SX) -> ca.SX:
        """``theta = theta_m, c, T`` with T's diagonal first."""
        T = lower_triangular(theta[4:10])
        return body(square(theta[0]), theta[1:4], ca.mtimes(T, T.T) + BIAS * ca.SX.eye(3))

    def coordinates(self, parameters: Array) -> Array:
        """The factor with a positive diagonal."""
        mass, com, inertia = from_standard(parameters)
        return np.concatenate([[root(mass)], com, triangular_entries(biased_cholesky(inertia))])


class Tri(Parametrisation):
    """``I = R diag(J1, J2, J3) R'``, ``J3^2 = J1^2 + J2^2 - 2 J1 J2 cos(alpha)``, ``alpha = pi sigmoid(theta_a)``.

    ``theta = theta_m, c, v, theta_1, theta_2, theta_a`` with ``R = exp(S(v))`` and ``J1 = theta_1^2 + bias``. The
    third side lies strictly between |J1 - J2| and J1 + J2: a triangle whatever theta is.
    """

    name = "tri"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """A fully consistent body."""
        R = rotation(theta[4:7])
        J1, J2 = square(theta[7]), square(theta[8])
        # half angles: |J1 - J2|^2 + 4 J1 J2 sin^2(alpha/2) keeps its digits where J1 + J2 and J3 are nearly equal
        half = ca.pi / 2 / (1 + ca.exp(-theta[9]))
        J3 = ca.sqrt((J1 - J2) ** 2 + 4 * J1 * J2 * ca.sin(half) ** 2)
        return body(square(theta[0]), theta[1:4], ca.mtimes([R, ca.diag(ca.vertcat(J1, J2, J3)), R.T]))

    def draw_inertia(self, rng: np.random.Generator) -> Array:
        """Axes close to those of the link, moments about 0.01 kg.m^2, alpha close to a right angle."""
        return np.array([0.01, 0.01, 0.01, 0.1, 0.1, 0.01]) * rng.standard_normal(6)

    def coordinates(self, parameters: Array) -> Array:
        """The two smaller moments as J1 and J2, the largest as the third side."""
        mass, com, inertia = from_standard(parameters)
        moments, axes = principal_axes(inertia)
        if moments[0] <= BIAS:
            return np.full(10, np.nan)
        J1, J2, J3 = moments
        # tan^2(alpha/2) = (J3^2 - (J1 - J2)^2) / ((J1 + J2)^2 - J3^2)
        near, far = (J3 - J2 + J1) * (J3 + J2 - J1), (J1 + J2 - J3) * (J1 + J2 + J3)
        share = np.arctan2(np.sqrt(near), np.sqrt(far)) * 2 / np.pi
        odds = np.arctan2(np.sqrt(far), np.sqrt(near)) * 2 / np.pi
        angle = np.log(share / odds)
        return np.concatenate([[root(mass)], com, rotation_vector(axes), [root(J1), root(J2), angle]])


class Cov(Parametrisation):
    """``I = tr(Sigma) 1 - Sigma`` with ``Sigma = T T' + bias 1``, the second moments about the centre of mass."""

    name = "cov"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """``theta = theta_m, c, T`` with T's diagonal first."""
        T = lower_triangular(theta[4:10])
        sigma = ca.mtimes(T, T.T) + BIAS * ca.SX.eye(3)
        return body(square(theta[0]), theta[1:4], ca.trace(sigma) * ca.SX.eye(3) - sigma)

    def coordinates(self, parameters: Array) -> Array:
        """The factor with a positive diagonal."""
        mass, com, inertia = from_standard(parameters)
        sigma = np.trace(inertia) / 2 * np.eye(3) - inertia
        return np.concatenate([[root(mass)], com, triangular_entries(biased_cholesky(sigma))])


class LogCholesky(Parametrisation):
    """``J = U U'`` with an upper triangular U of positive diagonal (Rucker and Wensing 2022, eq. 12)::

        U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]
        theta = alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3

    Mass ``e^(2 alpha)`` and centre of mass ``t``: every positive definite J has exactly one theta.
    """

    name = "log-cholesky"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """A fully consistent body, of J = U U'."""
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = ca.vertsplit(theta)
        U = ca.vertcat(
            ca.horzcat(ca.exp(d1), s12, s13, t1),
            ca.horzcat(0, ca.exp(d2), s23, t2),
            ca.horzcat(0, 0, ca.exp(d3), t3),
            ca.horzcat(0, 0, 0, 1),
        )
        J = ca.exp(2 * alpha) * ca.mtimes(U, U.T)
        sigma = J[:3, :3]
        inertia = ca.trace(sigma) * ca.SX.eye(3) - sigma
        return ca.vertcat(*[inertia[i, j] for i, j in TENSOR_INDEX], J[:3, 3], J[3, 3])

    def draw(self, rng: np.random.Generator) -> Array:
        """Bodies of about 3 kg and 0.15 m, whose mass point lies as far from the origin."""
        log_mass, log_size = np.log(3.0) / 2, np.log(0.15)
        shear, com = 0.05 * rng.standard_normal(3), 0.15 * rng.standard_normal(3)
        mass, sizes = log_mass + 0.3 * rng.standard_normal(1), log_size + 0.3 * rng.standard_normal(3)
        return np.concatenate([mass, sizes, shear, com])

    def coordinates(self, parameters: Array) -> Array:
        """The unique ones: U is the reversed Cholesky factor of J."""
        try:
            reverse = np.linalg.cholesky(pseudo_inertia(parameters)[::-1, ::-1])
        except np.linalg.LinAlgError:
            return np.full(10, np.nan)
        U = reverse[::-1, ::-1]
        scale = U[3, 3]
        W = U / scale
        d = np.log(np.diag(W)[:3])
        return np.array([np.log(scale), *d, W[0, 1], W[1, 2], W[0, 2], *W[:3, 3]])


class Spectral(Parametrisation):
    """``m = e^theta_m`` and ``Sigma = m R diag(e^s1, e^s2, e^s3) R'`` about the centre of mass, ``R = exp(S(v))``.

    ``theta = theta_m, c, v, s1, s2, s3``; ``I = tr(Sigma) 1 - Sigma``. ``e^(s/2)`` are the body's radii of gyration:
    steps in theta are relative, whatever the size of the link.
    """

    name = "spectral"
    size = 10

    def expression(self, theta: ca.SX) -> ca.SX:
        """A fully consistent body."""
        mass, R = ca.exp(theta[0]), rotation(theta[4:7])
        sigma = mass * ca.mtimes([R, ca.diag(ca.exp(theta[7:10])), R.T])
        return body(mass, theta[1:4], ca.trace(sigma) * ca.SX.eye(3) - sigma)

    def draw(self, rng: np.random.Generator) -> Array:
        """Bodies of about 3 kg and 0.15 m in any attitude, whose mass point lies as far from the origin."""
        mass, com, axes = np.log(3.0) + 0.6 * rng.standard_normal(1), 0.15 * rng.standard_normal(3), rng.normal(size=3)
        return np.concatenate([mass, com, axes, 2 * np.log(0.15) + 0.6 * rng.standard_normal(3)])

    def coordinates(self, parameters: Array) -> Array:
        """Logarithms of mass and squared radii."""
        mass, com, inertia = from_standard(parameters)
        squares, axes = principal_axes((np.trace(inertia) / 2 * np.eye(3) - inertia) / mass)
        return np.concatenate([[np.log(mass)], com, rotation_vector(axes), np.log(squares)])


#: By name, from least to most structure.
PARAMETRISATIONS: dict[str, Parametrisation] = {
    p.name: p for p in (NoStr(), Symm(), SPD(), Tri(), Cov(), LogCholesky(), Spectral())
}


def parametrisation(name: str) -> Parametrisation:
    """The parametrisation of a name; ProblemError lists the known ones."""
    if name not in PARAMETRISATIONS:
        hint = near(name, PARAMETRISATIONS)
        raise ProblemError(f"unknown parametrisation '{name}'{hint}; known: {', '.join(PARAMETRISATIONS)}")
    return PARAMETRISATIONS[name]
