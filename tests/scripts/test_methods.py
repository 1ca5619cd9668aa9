"""The methods of scripts/papers/methods on small problems: against each other, known answers and published examples."""

import numpy as np
import pytest

from casid.inertia import from_standard

pytest.importorskip("clarabel", reason="needs the extra test")

from papers.methods.comparison import casid_answer
from papers.methods.earlier import EigenvalueStep, mata_eigenvalues, mata_ipopt
from papers.methods.feasible_set import FeasibleSet, closest_feasible, feasibility_test, lmi
from papers.methods.point_masses import grid, mass_map, point_masses
from papers.methods.reduction import model_reduction, reductions
from papers.methods.regression import random_link, random_regression
from scipy.optimize import nnls


@pytest.fixture(scope="module", params=["full", "semi"])
def data(request):
    return random_regression(3, seed=1, points=60, kind=request.param)


def test_the_semidefinite_program_and_the_library_agree(data):
    quadratic, (own, bound) = lmi(data, 1e-10), casid_answer(data)
    assert quadratic.success and own.success
    assert own.excess <= quadratic.excess * (1 + 1e-6)
    assert bound <= own.excess
    assert own.excess - bound <= 1e-5 * own.excess


def test_other_methods_are_feasible_and_above_the_optimum(data):
    optimum = lmi(data, 1e-10).excess
    for found in (point_masses(data), mata_ipopt(data), model_reduction(data)):
        assert found.success, found
        assert found.excess >= optimum * (1 - 1e-6)


@pytest.mark.parametrize("kind", ["full", "semi"])
def test_eigenvalues_as_constraints_find_the_semidefinite_optimum(kind):
    data = random_regression(3, points=100, kind=kind)
    found, optimum = mata_eigenvalues(data), lmi(data, 1e-11).excess
    assert found.feasible
    # its margin is asked of a smaller matrix: the set is slightly larger than the program's
    assert optimum * (1 - 5e-3) <= found.excess <= optimum * (1 + 1e-4)


def test_slopes_of_the_eigenvalues():
    data = random_regression(2)
    step = EigenvalueStep(data)
    values, steps = step.constraints(data.truth), 1e-6 * np.eye(20)
    for k in range(2):
        mass, com, inertia = from_standard(data.truth[10 * k : 10 * k + 10])
        second = np.trace(inertia) / 2 * np.eye(3) - inertia - data.margin * np.eye(3)
        ratio = values[4 * k + 1 : 4 * k + 4] / np.linalg.eigvalsh(second)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
        assert values[4 * k] == pytest.approx(mass, abs=1e-2) and np.isfinite(com).all()
    numeric = np.array([step.constraints(data.truth + e) - step.constraints(data.truth - e) for e in steps]).T / 2e-6
    np.testing.assert_allclose(step.jacobian(data.truth), numeric, atol=1e-3)


def test_point_masses_solve_the_quadratic_program():
    data = random_regression(2, points=60, margin=0.0)
    maps = [mass_map(grid(box)) for box in data.boxes]
    A = np.block([[maps[0], np.zeros_like(maps[1])], [np.zeros_like(maps[0]), maps[1]]])
    _, residual = nnls(data.R @ A, data.r)
    assert point_masses(data, tolerance=1e-11).excess == pytest.approx(residual**2, rel=1e-6)


def test_reduction_steps_are_least_squares_of_the_smaller_model():
    data = random_regression(1, points=30)
    for step in reductions(data.R, data.r, data.constant, len(data.tau)):
        kept = step.values != 0
        expected = np.linalg.lstsq(data.W[:, kept], data.tau, rcond=None)[0] if kept.any() else np.zeros(0)
        np.testing.assert_allclose(step.values[kept], expected, rtol=1e-7, atol=1e-10)
        assert step.residual == pytest.approx(data.excess(step.values), rel=1e-6, abs=1e-9)
        assert step.removed == np.sum(~kept)


def test_feasibility_of_a_known_body():
    body, _ = random_link(np.random.default_rng(0))
    K = np.random.default_rng(1).normal(size=(6, 10))
    allowed = FeasibleSet(10, (0,), "full")
    assert feasibility_test(K, K @ body, allowed).feasible
    assert closest_feasible(K, K @ body, allowed)[1] < 1e-6
    weightless = feasibility_test(np.eye(10)[9:], np.array([-1.0]), allowed)
    assert not weightless.feasible and weightless.excluded_radius > 1e6
