"""Algorithm 1 of Gaz et al. (2019) with global methods: simulated annealing, and a genetic algorithm.

Both run kappa successive searches, each from where the last one ended, with ``xi_1 = 0, xi_{k+1} = 10 k``; a run's
start is uniform in all unknowns between their bounds.
"""

from __future__ import annotations

import time

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import dual_annealing, minimize

from casid.arrays import Array
from papers.methods.penalised_retrieval import PenalisedRetrieval, Runs

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
    problem: PenalisedRetrieval,
    runs: int,
    kappa: int = 10,
    population: int = 60,
    generations: int = 75,
    jobs: int = 2,
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
