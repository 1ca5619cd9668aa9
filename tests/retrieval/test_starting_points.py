"""Starting points: nominal boxes, random bodies within bounds, and bodies that the data weigh evenly."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import PSEUDO_INERTIA_MAP, from_pseudo_inertia, from_standard, pseudo_inertia
from casid.retrieval import Problem, inertia_bounds, least_squares, link_variables, mass_bounds, total_mass
from casid.retrieval._solution import Tolerances
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.program._determined import _Determined, balanced_bodies, solve_determined, split
from casid.retrieval.program._starts import _box, _box_body, nominal_parameters, random_parameters, uniform_parameters
from casid.testing import BODY, arm, nearest

FREE = [-np.inf, np.inf]


def test_a_nominal_box_is_the_middle_of_its_bounds_or_the_part_of_them_nearest_to_the_origin() -> None:
    for com, centre, edges in (
        ([[-0.1, 0.3], [0.2, 0.2], [-1.0, 1.0]], [0.1, 0.2, 0.0], [0.4, 0.02, 2.0]),
        ([[-0.1, 0.3], FREE, [0.0, np.inf]], [0.1, 0.0, 0.0], [0.4, 0.3, 0.3]),
        ([FREE, FREE, FREE], [0.0, 0.0, 0.0], [0.3, 0.3, 0.3]),
        ([[-50.0, 80.0], [3.0, 90.0], [-90.0, -7.0]], [0.0, 8.0, -12.0], [10.0, 10.0, 10.0]),
    ):
        found = _box(np.array(com))
        np.testing.assert_allclose(found[0], centre, atol=1e-12)
        np.testing.assert_allclose(found[1], edges, atol=1e-12)


def test_a_nominal_box_grows_by_a_fifth_and_its_mass_by_a_fiftieth_until_it_keeps_the_margin() -> None:
    edges, mass, margin = np.array([0.02, 0.3, 0.3]), 1.0, 1e-3
    made_mass, centre, inertia = from_standard(_box_body("link", mass, np.array([0.1, 0.0, 0.0]), edges, margin))
    second = np.trace(inertia) / 2 - np.diag(inertia)
    times = np.log(np.sqrt(12 * second / made_mass) / edges) / np.log(1.2)
    assert times == pytest.approx(np.full(3, round(times[0]))) and times[0] > 2
    assert made_mass == pytest.approx(1.02 ** round(times[0])) and centre == pytest.approx([0.1, 0.0, 0.0])


def test_nominal_masses_share_the_total() -> None:
    def masses(*constraints, links: int = 3):
        v = link_variables(arm(links))
        problem = Problem("arm", v, least_squares(v, np.eye(10 * links), np.zeros(10 * links)),
                          tuple(make(v) for make in constraints))  # fmt: skip
        return nominal_parameters(problem)[9::10]

    np.testing.assert_allclose(masses(lambda v: total_mass(v, 0.0, 9.0)), 1.5)
    np.testing.assert_allclose(masses(lambda v: total_mass(v, 6.0, 9.0)), 2.5)
    np.testing.assert_allclose(masses(lambda v: total_mass(v, -np.inf, 9.0)), 1.5)
    np.testing.assert_allclose(masses(), 1.0)
    np.testing.assert_allclose(
        masses(lambda v: mass_bounds(v[0], 2.0, 3.0), lambda v: mass_bounds(v[1], 4.0, np.inf)), [2.5, 8.0, 1.0]
    )


def test_random_bodies_fill_their_bounds() -> None:
    problem = nearest(BODY)
    rng = np.random.default_rng(0)
    drawn = np.array([random_parameters(problem, rng) for _ in range(300)])
    mass, com = drawn[:, 9], drawn[:, 6:9] / drawn[:, 9:]
    assert mass.min() < 0.6 and mass.max() > 7.9 and (mass >= 0.5).all() and (mass <= 8.0).all()
    assert (com.min(axis=0) < -0.28).all() and (com.max(axis=0) > 0.28).all() and (np.abs(com) <= 0.3).all()
    assert all(np.linalg.eigvalsh(pseudo_inertia(x))[0] >= -1e-12 for x in drawn)


def test_random_bodies_without_bounds_lie_within_a_factor_of_ten() -> None:
    v = link_variables(arm())
    problem = Problem("free", v, least_squares(v, np.eye(10), np.zeros(10)))
    nominal, rng = nominal_parameters(problem), np.random.default_rng(0)
    mass0, inertia0 = nominal[9], from_standard(nominal)[2]
    masses, seconds = [], []
    for _ in range(400):
        mass, _, inertia = from_standard(random_parameters(problem, rng))
        masses.append(mass / mass0)
        seconds += list((np.trace(inertia) / 2 - np.linalg.eigvalsh(inertia)) / (np.trace(inertia0) / 6))
    for ratios in (masses, seconds):
        assert 0.1 * (1 - 1e-9) <= min(ratios) < 0.11 and 9.0 < max(ratios) <= 10.0 * (1 + 1e-9)


def test_uniform_points_fill_the_bounds_that_have_two_ends() -> None:
    lower = np.array([0.01, -0.2, -np.inf, 0.02, -0.1, 0.03])
    upper = np.array([0.05, np.inf, 0.3, 0.09, 0.1, 0.07])
    problem = nearest(
        BODY, lambda v: (PhysicalConsistency(0, "link1", "none", 0.0), mass_bounds(v[0], 1.0, np.inf),
                         inertia_bounds(v[0], lower, upper)),
        bounded=False,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    drawn = [from_standard(uniform_parameters(problem, rng)) for _ in range(200)]
    entries = np.array([inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]] for _, _, inertia in drawn])
    assert np.isfinite(entries).all() and np.isfinite([mass for mass, _, _ in drawn]).all()
    for k in (0, 3, 4, 5):
        assert lower[k] <= entries[:, k].min() < lower[k] + 0.05 * (upper[k] - lower[k])
        assert upper[k] >= entries[:, k].max() > upper[k] - 0.05 * (upper[k] - lower[k])


ENTRIES = [0, 1, 2, 3, 5, 6, 7, 10, 11, 15]


def test_balanced_bodies_make_second_moments_and_mass_count_alike() -> None:
    """``s^4 = g0 / g2``, and the links' blocks the same; lengths within 1 cm and 10 m, 0.3 m where nothing is seen."""

    def block(second: float, mass: float) -> np.ndarray:
        lengths = np.full(10, 7.0)
        lengths[[0, 4, 7]] = np.sqrt(second * np.array([0.5, 1.0, 1.5]))
        lengths[9] = np.sqrt(mass)
        return np.diag(lengths) @ PSEUDO_INERTIA_MAP[ENTRIES]

    cases = [(16.0, 1.0, 0.5, 1.0), (1 / 81, 9.0, np.sqrt(27.0), 3.0), (1e-12, 25.0, 10.0, 5.0),
             (400.0, 0.0, 0.3, np.sqrt(400.0 * 0.3**4)), (0.0, 16.0, 0.3, 4.0)]  # fmt: skip
    R = np.zeros((50, 50))
    for k, (second, mass, _, _) in enumerate(cases):
        R[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block(second, mass)
    made = balanced_bodies(R, [1e-3] * 5).reshape(5, 10)
    typical = np.median([mean for *_, mean in cases])
    for body, (_, _, length, mean) in zip(made, cases, strict=True):
        expected = typical / mean * np.diag([length**2] * 3 + [1.0]) + 1e-3 * np.eye(4)
        np.testing.assert_allclose(body, from_pseudo_inertia(expected), rtol=1e-9, atol=1e-15)


def determined() -> Problem:
    rng = np.random.default_rng(1)
    v = link_variables(arm(2))
    matrix = rng.normal(size=(80, 20))
    target = matrix @ np.concatenate([BODY, 0.5 * BODY]) + 0.3 * rng.normal(size=80)
    return Problem("determined", v, least_squares(v, matrix, target))


def test_newtons_method_begins_at_an_objective_of_one() -> None:
    program = _Determined.prepare(determined())
    assert program is not None
    near = split(program.gram, program._matrix.T @ program._target, program.rho)
    scales = []
    solve = program._program.solve
    program._program.solve = lambda solver, point, scale, *rest: (
        scales.append(scale) or solve(solver, point, scale, *rest)
    )
    _, iterations, _ = program.minimise()
    assert scales == [pytest.approx(1.0 / np.sum((program._matrix @ near.v - program._target) ** 2))]
    assert iterations < 12


def test_an_unknown_that_the_data_do_not_see_is_left_to_the_general_way() -> None:
    problem = determined()
    matrix = problem.objective.matrix.copy()
    matrix[:, 13] = 0.0
    v = problem.variables
    assert (
        solve_determined(Problem("blind", v, least_squares(v, matrix, problem.objective.target)), Tolerances()) is None
    )


def test_times_of_the_fast_way_add_up() -> None:
    from time import perf_counter

    began = perf_counter()
    found = solve_determined(determined(), Tolerances())
    assert found is not None and found.certified
    assert 0 < found.build_time and 0 < found.solve_time
    assert found.build_time + found.solve_time <= perf_counter() - began
