"""Algorithm 1 of Gaz et al.: penalised retrieval by global search."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from papers.two_links import box
from scipy.optimize import dual_annealing, minimize

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
        assert robot.total_mass is not None
        lower, upper = box(problem)
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

    def successes(self, optimum: float) -> int:
        """Runs that ended feasible and within 1 % of the optimum."""
        return int((self.feasible <= 1.01 * optimum).sum())


def panda(margin: float = 1e-9) -> tuple[PenalisedRetrieval, casid.Solution]:
    """The Panda's problem in this form, and the library's certified solution of the same."""
    problem = casid.load_problem("panda_retrieval", margin=margin)
    return PenalisedRetrieval.of(problem), casid.solve(problem)


#: Iterations of the local search that follows each of the kappa searches, and of the last one.
BETWEEN, LAST = 30, 400


def weights(kappa: int) -> list[float]:
    """xi_k."""
    return [10.0 * k for k in range(kappa)]


def anneal_once(problem: PenalisedRetrieval, seed: int, kappa: int, evaluations: int) -> tuple[Array, int, float]:
    """One run: SciPy's dual annealing, then a local search in the box, kappa times.

    Returns
    -------
    point, evaluations, seconds of one core
    """
    began, rng = time.process_time(), np.random.default_rng(seed)
    p, used = problem.uniform(rng, 1)[0], 0
    bounds = np.stack([problem.lower, problem.upper], axis=1)
    for step, weight in enumerate(weights(kappa)):
        found = dual_annealing(
            lambda x, w=weight: float(problem.value(x, w)), bounds, x0=p, maxiter=10**6, maxfun=evaluations,
            no_local_search=True, seed=1000 * seed + step,
        )  # fmt: skip
        value, point, count = _local(problem, found.x, weight, step == kappa - 1)
        p = point if value < problem.value(p, weight) else p
        used += int(found.nfev) + count
    return p, used, time.process_time() - began


def annealing(problem: PenalisedRetrieval, runs: int, kappa: int = 10, evaluations: int = 2000, jobs: int = 2) -> Runs:
    """Q runs of simulated annealing on a few processes."""
    done = Parallel(n_jobs=jobs)(delayed(anneal_once)(problem, seed, kappa, evaluations) for seed in range(runs))
    points = np.array([point for point, _, _ in done])
    return _runs("simulated annealing", problem, points, [u for _, u, _ in done], [s for _, _, s in done])


def genetic(
    problem: PenalisedRetrieval, runs: int, kappa: int = 10, population: int = 60, generations: int = 75, jobs: int = 2
) -> Runs:
    """Q runs of a genetic algorithm with real genes, on a few processes, see `evolve`."""
    seeds = [part for part in np.array_split(np.arange(runs), jobs) if len(part)]
    done = Parallel(n_jobs=jobs)(
        delayed(evolve)(problem, len(part), kappa, population, generations, int(part[0])) for part in seeds
    )
    points = np.concatenate([point for point, _, _ in done])
    used = sum(u for _, u, _ in done) // runs
    return _runs("genetic algorithm", problem, points, [used], [sum(s for _, _, s in done) / runs])


def evolve(
    problem: PenalisedRetrieval, runs: int, kappa: int, population: int, generations: int, seed: int
) -> tuple[Array, int, float]:
    """Runs of the genetic algorithm side by side in one array.

    Tournaments of two, blend crossover (BLX-0.5), normal mutation of a tenth of the genes whose size shrinks over the
    generations, the best two kept; as in the paper's hybrid, a local search follows each of the kappa searches, from
    the best individual, and its result takes the place of the worst.

    Returns
    -------
    points, evaluations, seconds of one core
    """
    began, rng = time.process_time(), np.random.default_rng([seed, 1])
    pool = problem.uniform(rng, runs * population).reshape(runs, population, -1)
    row = np.arange(runs)[:, None]
    used = 0
    for step, weight in enumerate(weights(kappa)):
        fitness = problem.value(pool, weight)
        for generation in range(generations):
            rivals = rng.integers(population, size=(2, 2, runs, population))
            winners = np.where(fitness[row, rivals[0]] < fitness[row, rivals[1]], rivals[0], rivals[1])
            mother, father = pool[row, winners[0]], pool[row, winners[1]]
            child = mother + rng.uniform(-0.5, 1.5, mother.shape) * (father - mother)
            mutated = rng.random(child.shape) < 0.1
            child += mutated * 0.1 * 0.95**generation * problem.width * rng.standard_normal(child.shape)
            child = np.clip(child, problem.lower, problem.upper)
            child[:, :2] = pool[row, np.argsort(fitness, axis=1)[:, :2]]
            pool, fitness = child, problem.value(child, weight)
            used += runs * population
        for run in range(runs):
            best, worst = int(fitness[run].argmin()), int(fitness[run].argmax())
            value, point, count = _local(problem, pool[run, best], weight, step == kappa - 1)
            used += count
            if value < fitness[run, best]:
                pool[run, worst] = point
    final = problem.value(pool, weights(kappa)[-1])
    return pool[np.arange(runs), final.argmin(axis=1)], used, time.process_time() - began


def _local(problem: PenalisedRetrieval, start: Array, weight: float, last: bool) -> tuple[float, Array, int]:
    """Sequential quadratic programming (SLSQP) in the box scaled to one, as the paper's hybrid ``fmincon``.

    The penalties have kinks where the optimum lies: quasi-Newton descent (L-BFGS-B) stops at the first one.
    """

    def scaled(u: Array) -> tuple[float, Array]:
        value, gradient = problem.value_and_gradient(problem.lower + u * problem.width, weight)
        return value, gradient * problem.width

    found = minimize(
        scaled, np.clip((start - problem.lower) / problem.width, 0.0, 1.0), jac=True, method="SLSQP",
        bounds=[(0.0, 1.0)] * problem.size, options={"maxiter": LAST if last else BETWEEN, "ftol": 1e-12},
    )  # fmt: skip
    return float(found.fun), problem.lower + np.clip(found.x, 0.0, 1.0) * problem.width, int(found.nfev)


def _runs(method: str, problem: PenalisedRetrieval, points: Array, used: list[int], seconds: list[float]) -> Runs:
    return Runs(
        method,
        problem.phi(points),
        problem.violations(points).max(axis=1),
        float(np.mean(seconds)),
        float(np.mean(used)),
    )
