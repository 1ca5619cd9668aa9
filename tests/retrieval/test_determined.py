"""The fast way for data that determine every parameter: same answers as the general way, or none."""

import numpy as np
import pytest

from casid.inertia import from_pseudo_inertia, pseudo_inertia
from casid.retrieval import Problem, SolveOptions, least_squares, link_variables, mass_bounds, solve
from casid.retrieval._solution import Tolerances
from casid.retrieval.program._determined import applies, solve_determined
from casid.testing import random_body, random_robot, standard_parameters


def regression(links=3, noise=0.1, seed=0, scales=1.0, rows=None, **options):
    """A random regression about random bodies; ``scales`` spreads the columns' lengths over so many decades."""
    rng = np.random.default_rng(seed)
    truth = standard_parameters([random_body(rng) for _ in range(links)])
    W = rng.normal(size=(rows or 60 * links, truth.size)) * 10 ** rng.uniform(-scales / 2, scales / 2, truth.size)
    tau = W @ truth
    tau = tau + noise * tau.std() * rng.normal(size=tau.size)
    variables = link_variables(random_robot(seed, links))
    return Problem("regression", variables, least_squares(variables, W, tau), **options), W, tau


def direct(problem):
    return solve_determined(problem, Tolerances())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scales", [0.0, 1.0])
def test_same_optimum_as_the_general_way(seed, scales):
    problem, _, _ = regression(links=1 + seed % 4, seed=seed, noise=0.3, scales=scales)
    assert applies(problem)
    quick, general = direct(problem), solve(problem, options=SolveOptions(direct=False))
    assert quick is not None and quick.certified and general.certified
    assert quick.lower_bound <= general.objective * (1 + 1e-12)
    assert quick.objective <= general.objective * (1 + 1e-9)
    assert quick.objective == pytest.approx(general.objective, rel=1e-6)
    for link in quick.standard_parameters.reshape(-1, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(link))[0] >= 1e-6 - 1e-12


def test_solve_takes_it_and_says_the_same():
    problem, _, _ = regression(seed=3)
    np.testing.assert_array_equal(solve(problem).standard_parameters, direct(problem).standard_parameters)


def test_lower_bound_holds_for_feasible_points():
    problem, _, _ = regression(links=2, noise=0.5, seed=4)
    found = direct(problem)
    rng = np.random.default_rng(0)
    for scale in 10.0 ** np.arange(-6, 1):
        for _ in range(20):
            nearby = []
            for link in found.standard_parameters.reshape(-1, 10):
                values, vectors = np.linalg.eigh(pseudo_inertia(link + scale * rng.normal(size=10)))
                nearby.append(from_pseudo_inertia((vectors * np.maximum(values, 1e-6)) @ vectors.T))
            assert problem.objective(np.concatenate(nearby)) >= found.lower_bound


def test_least_squares_where_they_are_feasible():
    problem, W, tau = regression(links=2, noise=1e-5, seed=5)
    expected = np.linalg.lstsq(W, tau, rcond=None)[0]
    assert min(np.linalg.eigvalsh(pseudo_inertia(k))[0] for k in expected.reshape(-1, 10)) > 1e-6
    np.testing.assert_allclose(solve(problem).standard_parameters, expected, atol=1e-7)


def test_undetermined_parameters_are_left_to_the_general_way():
    few, W, tau = regression(links=2, rows=15)
    assert not applies(few)
    W = np.vstack([W] * 4)
    W[:, 3] = W[:, 4]  # only a sum is determined
    variables = few.variables
    deficient = Problem("deficient", variables, least_squares(variables, W, np.concatenate([tau] * 4)))
    assert direct(deficient) is None
    assert solve(deficient).status in ("optimal", "feasible")


def test_other_constraints_are_left_to_the_general_way():
    problem, W, tau = regression(seed=2)
    variables = problem.variables
    objective = least_squares(variables, W, tau)
    assert not applies(Problem("bounded", variables, objective, constraints=(mass_bounds(variables[0], 0.0, 1.0),)))
    assert not applies(Problem("semi", variables, objective, consistency="semi"))
    extra = link_variables(variables.robot, {"fv1": (0.0, np.inf)})
    wide = np.column_stack([W, np.ones(len(W))])
    assert not applies(Problem("friction", extra, least_squares(extra, wide, tau)))
