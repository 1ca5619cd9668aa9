"""The paper's own form of the retrieval: masses, centres of mass, inertias in a box, exterior penalties for the rest.

    f_k(p) = phi(p) + xi_k (sum_i g_1i + g_2),    phi = |K pi(p) - beta|^2,
    g_1i = -min(0, tr(I_i)/2 - lambda_max(I_i)),    g_2 = -min(0, m_max - sum m, sum m - m_min)

(Gaz et al. 2019, eq. 29, 32), with p = (m, c, I) of every link between the bounds of Tables VIII and IX. This is what
global methods of the literature search; the library solves the same problem in convex form and proves its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import casid
from casid.arrays import Array
from casid.retrieval import Problem

#: Positions of Ixx Ixy Ixz Iyy Iyz Izz in a 3x3 matrix.
_ROWS, _COLUMNS = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2])
#: A violation up to this [kg.m^2, kg] is that of a feasible point.
FEASIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class PenalisedRetrieval:
    """The objective of Algorithm 1 and its gradient, in numpy, for any number of points at once.

    A point has ten numbers a link: ``m, cx, cy, cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz``.

    Attributes
    ----------
    forms, values : ndarray, shapes (b, 10 n), (b,)
        Coefficients as linear forms of standard parameters, and their identified values.
    lower, upper : ndarray, shape (10 n,)
        The box.
    total : tuple of float
        Least and largest sum of the masses [kg].
    """

    forms: Array
    values: Array
    lower: Array
    upper: Array
    total: tuple[float, float]

    @classmethod
    def of(cls, problem: Problem) -> PenalisedRetrieval:
        """The same problem as the library's: its objective's rows and the bounds of its robot."""
        robot = problem.variables.robot
        low, high = [], []
        for link in robot.links:
            bounds = link.bounds
            rows = np.vstack([bounds.mass, bounds.com, bounds.inertia_com])
            low.append(rows[:, 0])
            high.append(rows[:, 1])
        assert robot.total_mass is not None
        lower, upper = np.ravel(low).astype(float), np.ravel(high).astype(float)
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise ValueError(f"robot '{robot.name}': every mass, centre of mass and inertia needs bounds")
        total = (float(robot.total_mass[0]), float(robot.total_mass[1]))
        return cls(problem.objective.matrix, problem.objective.target, lower, upper, total)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.lower)

    def standard(self, p: Array) -> Array:
        """Standard parameters, shape (..., 10 n)."""
        links = p.reshape(*p.shape[:-1], -1, 10)
        m, c = links[..., :1], links[..., 1:4]
        square = (c**2).sum(axis=-1, keepdims=True) * (_ROWS == _COLUMNS)
        inertia = links[..., 4:] + m * (square - c[..., _ROWS] * c[..., _COLUMNS])
        return np.concatenate([inertia, m * c, m], axis=-1).reshape(p.shape)

    def phi(self, p: Array) -> Array:
        """Sum of squared deviations of the coefficients, shape (...)."""
        return np.asarray(((self.standard(p) @ self.forms.T - self.values) ** 2).sum(axis=-1))

    def violations(self, p: Array) -> Array:
        """``g_1`` of every link, then ``g_2``: shape (..., n + 1), all >= 0."""
        eigenvalues = np.linalg.eigvalsh(self._tensors(p))
        triangle = np.maximum(0.0, eigenvalues[..., 2] - eigenvalues.sum(axis=-1) / 2)
        mass = p.reshape(*p.shape[:-1], -1, 10)[..., 0].sum(axis=-1)
        total = np.maximum(0.0, np.maximum(mass - self.total[1], self.total[0] - mass))
        return np.concatenate([triangle, total[..., None]], axis=-1)

    def value(self, p: Array, weight: float) -> Array:
        """F at points of shape (..., 10 n)."""
        return np.asarray(self.phi(p) + weight * self.violations(p).sum(axis=-1))

    def value_and_gradient(self, p: Array, weight: float) -> tuple[float, Array]:
        """F at one point, and a subgradient."""
        links = p.reshape(-1, 10)
        m, c = links[:, 0], links[:, 1:4]
        residual = self.forms @ self.standard(p) - self.values
        slope = (2.0 * self.forms.T @ residual).reshape(-1, 10)  # in standard parameters
        of_inertia, of_moment = slope[:, :6], slope[:, 6:9]
        gradient = np.empty_like(links)
        gradient[:, 4:] = of_inertia
        square = (c**2).sum(axis=1)[:, None] * (_ROWS == _COLUMNS) - c[:, _ROWS] * c[:, _COLUMNS]
        gradient[:, 0] = (of_inertia * square).sum(axis=1) + (of_moment * c).sum(axis=1) + slope[:, 9]
        tensor = np.zeros((len(links), 3, 3))  # d(sum of slopes times entries) / dL, both triangles
        tensor[:, _ROWS, _COLUMNS] = of_inertia
        trace = of_inertia[:, [0, 3, 5]].sum(axis=1)
        both = tensor + tensor.transpose(0, 2, 1)
        gradient[:, 1:4] = m[:, None] * (2 * trace[:, None] * c - np.einsum("kij,kj->ki", both, c) + of_moment)
        value = float(residual @ residual)
        if weight > 0:
            eigenvalues, vectors = np.linalg.eigh(self._tensors(p))
            excess = eigenvalues[:, 2] - eigenvalues.sum(axis=1) / 2
            broken = excess > 0
            value += weight * float(excess[broken].sum())
            top = vectors[:, :, 2]
            push = top[:, _ROWS] * top[:, _COLUMNS] * np.where(_ROWS == _COLUMNS, 1.0, 2.0) - 0.5 * (_ROWS == _COLUMNS)
            gradient[:, 4:] += weight * push * broken[:, None]
            mass = float(m.sum())
            over, under = mass - self.total[1], self.total[0] - mass
            value += weight * max(0.0, over, under)
            gradient[:, 0] += weight * (float(over > 0) - float(under > 0))
        return value, gradient.ravel()

    def uniform(self, rng: np.random.Generator, count: int) -> Array:
        """Points uniform in the whole box, shape (count, 10 n): line 1 of Algorithm 1."""
        return np.asarray(rng.uniform(self.lower, self.upper, (count, self.size)))

    def _tensors(self, p: Array) -> Array:
        links = p.reshape(*p.shape[:-1], -1, 10)
        tensors = np.empty((*links.shape[:-1], 3, 3))
        tensors[..., _ROWS, _COLUMNS] = tensors[..., _COLUMNS, _ROWS] = links[..., 4:]
        return tensors

    @cached_property
    def width(self) -> Array:
        """Edges of the box."""
        return np.asarray(self.upper - self.lower)


@dataclass(frozen=True, eq=False)
class Runs:
    """What the runs of one method reached.

    Attributes
    ----------
    method : str
    phi : ndarray, shape (Q,)
    violation : ndarray, shape (Q,)
        Largest of g_1 and g_2.
    seconds : float
        Of one core, of one run on average.
    evaluations : float
        Of the objective, of one run on average.
    """

    method: str
    phi: Array
    violation: Array
    seconds: float
    evaluations: float

    @property
    def feasible_runs(self) -> NDArray[np.bool_]:
        """Whether each run ended feasible, shape (Q,)."""
        return np.asarray(self.violation <= FEASIBLE)

    @property
    def feasible(self) -> Array:
        """Values of the runs that ended feasible."""
        return np.asarray(self.phi[self.feasible_runs])

    def successes(self, optimum: float, tolerance: float = 0.01) -> int:
        """Runs that ended feasible and within a tolerance of the optimum."""
        return int((self.feasible <= optimum * (1 + tolerance)).sum())


def panda(margin: float = 1e-9) -> tuple[PenalisedRetrieval, casid.Solution]:
    """The Panda's problem in this form, and the library's certified solution of the same."""
    problem = casid.load_problem("panda_retrieval", margin=margin)
    return PenalisedRetrieval.of(problem), casid.solve(problem)
