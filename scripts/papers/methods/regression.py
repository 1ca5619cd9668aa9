"""Constrained regression: data as matrices, an answer and its judgement, random data, least squares."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from casid.arrays import Array
from casid.inertia import pseudo_inertia, to_standard
from casid.inertia._parameters import spatial_inertia

Kind = Literal["full", "semi"]
#: A link's matrix of ten standard parameters, positive definite where it is consistent.
MATRIX: dict[Kind, Callable[[Array], Array]] = {"full": pseudo_inertia, "semi": spatial_inertia}

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
        return float(min(np.linalg.eigvalsh(MATRIX[self.kind](link))[0] for link in x.reshape(-1, 10)))


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
    method: str, data: Regression, x: Array, solved: bool = True, status: str = "", iterations: int = 0,
    build_time: float = 0.0, solve_time: float = 0.0,
) -> Answer:  # fmt: skip
    """An `Answer`, measured on the data; parameters that are not finite count as zeros and as not solved."""
    x = np.asarray(x, dtype=float)
    if not np.isfinite(x).all():
        x, solved, status = np.zeros_like(x), False, f"{status} (not finite)".strip()
    judged = data.excess(x), data.error_above_ols(x), data.eigenvalue(x)
    return Answer(method, x, solved, status, iterations, build_time, solve_time, *judged)


class Stopwatch:
    """Processor times of preparing a problem and of solving it [s], from its making on."""

    def __init__(self) -> None:
        self.start = self.built = time.process_time()

    def prepared(self) -> None:
        """The solver begins."""
        self.built = time.process_time()

    def answer(
        self, method: str, data: Regression, x: Array, solved: bool = True, status: str = "closed form",
        iterations: int = 0,
    ) -> Answer:  # fmt: skip
        """The solver has ended with these parameters."""
        times = self.built - self.start, time.process_time() - self.built
        return answer(method, data, x, solved, status, iterations, *times)


#: Measurement points and rows each gives, as in the thesis.
POINTS, OUTPUTS = 1000, 10
#: Standard deviation of the noise as a share of that of the torque.
NOISE = 0.1
MARGIN = 1e-6


def random_link(rng: np.random.Generator) -> tuple[Array, Array]:
    """Standard parameters of a random uniform box, shape (10,), and the box that encloses it, shape (3, 2)."""
    mass = rng.uniform(0.5, 5.0)
    edges = rng.uniform(0.05, 0.4, 3)
    edges[rng.integers(3)] /= 3.0
    com = rng.uniform(-0.2, 0.2, 3)
    axis = rng.standard_normal(3)
    rotation = _rotation(axis / np.linalg.norm(axis), rng.uniform(0.0, 0.3))
    spread = rotation @ np.diag(edges**2 / 12.0) @ rotation.T * mass
    half = np.abs(rotation) @ edges / 2.0
    return to_standard(mass, com, np.trace(spread) * np.eye(3) - spread), np.column_stack([com - half, com + half])


def random_regression(
    links: int, seed: int = 0, points: int = POINTS, kind: Kind = "full", margin: float = MARGIN
) -> Regression:
    """Random data about ``links`` links; the same seed and number of links always give the same data."""
    rng = np.random.default_rng([seed, links])
    bodies = [random_link(rng) for _ in range(links)]
    truth = np.concatenate([parameters for parameters, _ in bodies])
    W = rng.standard_normal((points * OUTPUTS, 10 * links))
    torque = W @ truth
    tau = torque + NOISE * torque.std() * rng.standard_normal(torque.size)
    return Regression(W, tau, OUTPUTS, np.stack([box for _, box in bodies]), kind, margin, truth)


def _rotation(axis: Array, angle: float) -> Array:
    """Rodrigues's formula."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def ols(data: Regression) -> Answer:
    """``R x = r``: the smallest sum of squares there is; no claim of feasibility."""
    return Stopwatch().answer("OLS", data, np.asarray(np.linalg.solve(data.R, data.r), dtype=float))


def wls(data: Regression) -> Answer:
    """Each output weighted by the inverse of its residual's standard deviation under ordinary least squares.

    Sousa 2014, eq. 4.35. It minimises another sum of squares, so on the common one it never betters ordinary least
    squares.
    """
    watch = Stopwatch()
    residual = data.tau - data.W @ np.linalg.solve(data.R, data.r)
    deviation = residual.reshape(-1, data.outputs).std(axis=0)
    weight = np.tile(1.0 / deviation, data.tau.size // data.outputs)
    stacked = np.column_stack([data.W * weight[:, None], data.tau * weight])
    factor = np.asarray(np.linalg.qr(stacked, mode="r"))
    x = np.linalg.solve(factor[:-1, :-1], factor[:-1, -1])
    return watch.answer("WLS", data, x)
