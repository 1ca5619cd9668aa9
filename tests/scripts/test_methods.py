"""The methods of scripts/papers/methods on small problems: against each other, known answers and published examples."""

import numpy as np
import pytest

from casid.inertia import from_standard, pseudo_inertia
from tests.helpers import spatial_inertia

pytest.importorskip("clarabel", reason="needs the extra test")

from papers.methods.comparison import casid_answer
from papers.methods.earlier import EigenvalueStep, mata_eigenvalues, mata_ipopt, mata_sqp, prior
from papers.methods.feasible_set import (
    ORDER,
    FeasibleSet,
    closest_feasible,
    cone_map,
    feasibility_test,
    lmi,
    smat,
    svec,
)
from papers.methods.point_masses import grid, mass_map, point_masses
from papers.methods.reduction import model_reduction, reductions
from papers.methods.regression import answer, ols, random_link, random_regression, wls
from scipy.optimize import nnls


@pytest.fixture(scope="module", params=["full", "semi"])
def data(request):
    return random_regression(3, seed=1, points=60, kind=request.param)


def test_random_links_fill_their_boxes():
    rng = np.random.default_rng(0)
    for _ in range(50):
        parameters, box = random_link(rng)
        assert np.linalg.eigvalsh(pseudo_inertia(parameters))[0] > 0
        com = parameters[6:9] / parameters[9]
        assert (box[:, 0] < com).all() and (com < box[:, 1]).all()


def test_random_data_are_reproducible_and_noisy():
    first, again = random_regression(2, seed=3, points=20), random_regression(2, seed=3, points=20)
    np.testing.assert_array_equal(first.tau, again.tau)
    assert not np.array_equal(first.tau, random_regression(2, seed=4, points=20).tau)
    assert 0.05 < first.relative_error(first.truth) < 0.2


def test_compression_keeps_the_sum_of_squares(data):
    x = data.truth + 0.1
    assert data.excess(x) + data.constant == pytest.approx(np.sum((data.W @ x - data.tau) ** 2), rel=1e-12)


def test_least_squares(data):
    best = ols(data)
    np.testing.assert_allclose(best.x, np.linalg.lstsq(data.W, data.tau, rcond=None)[0], atol=1e-10)
    assert best.excess < 1e-20 and not best.feasible
    assert wls(data).excess > best.excess


@pytest.mark.parametrize("kind", ["full", "semi"])
def test_svec_and_cone_maps(kind):
    x = np.random.default_rng(0).normal(size=10)
    expected = pseudo_inertia(x) if kind == "full" else spatial_inertia(x)
    np.testing.assert_allclose(smat(cone_map(kind) @ x), expected, atol=1e-14)
    other = np.random.default_rng(1).normal(size=(ORDER[kind],) * 2)
    other = other + other.T
    assert svec(expected) @ svec(other) == pytest.approx(np.trace(expected @ other))


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


def test_sequential_programming_on_one_link():
    data = random_regression(1)
    found, optimum = mata_sqp(data), lmi(data, 1e-12).excess
    assert found.success
    assert optimum <= found.excess <= 1.001 * optimum


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


def test_sequential_programming_stops_in_time():
    found = mata_sqp(random_regression(4, points=60), iterations=10**6, seconds=0.0)
    assert not found.solved and "stopped" in found.status


def test_prior_is_feasible(data):
    assert data.eigenvalue(prior(data)) > data.margin


def test_point_masses_solve_the_quadratic_program():
    data = random_regression(2, points=60, margin=0.0)
    maps = [mass_map(grid(box)) for box in data.boxes]
    A = np.block([[maps[0], np.zeros_like(maps[1])], [np.zeros_like(maps[0]), maps[1]]])
    _, residual = nnls(data.R @ A, data.r)
    assert point_masses(data, tolerance=1e-11).excess == pytest.approx(residual**2, rel=1e-6)


def test_more_point_masses_come_closer(data):
    assert lmi(data).excess <= point_masses(data, 5).excess <= point_masses(data, 3).excess


def test_reduction_steps_are_least_squares_of_the_smaller_model():
    data = random_regression(1, points=30)
    for step in reductions(data.R, data.r, data.constant, len(data.tau)):
        kept = step.values != 0
        expected = np.linalg.lstsq(data.W[:, kept], data.tau, rcond=None)[0] if kept.any() else np.zeros(0)
        np.testing.assert_allclose(step.values[kept], expected, rtol=1e-7, atol=1e-10)
        assert step.residual == pytest.approx(data.excess(step.values), rel=1e-6, abs=1e-9)
        assert step.removed == np.sum(~kept)


def test_not_a_number_is_no_answer():
    data = random_regression(1, points=20)
    bad = answer("broken", data, np.full(10, np.nan))
    assert not bad.solved and not bad.success and np.isfinite(bad.excess)


def test_feasibility_of_a_known_body():
    body, _ = random_link(np.random.default_rng(0))
    K = np.random.default_rng(1).normal(size=(6, 10))
    allowed = FeasibleSet(10, (0,), "full")
    assert feasibility_test(K, K @ body, allowed).feasible
    assert closest_feasible(K, K @ body, allowed)[1] < 1e-6
    weightless = feasibility_test(np.eye(10)[9:], np.array([-1.0]), allowed)
    assert not weightless.feasible and weightless.excluded_radius > 1e6
