"""Algorithm 1 of Gaz et al. (2019): what stays hard, how the unknowns are shifted, where it starts."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import pseudo_inertia, to_standard
from casid.retrieval import PreparedProblem, SolveOptions, com_box, inertia_bounds, mass_bounds, total_mass
from casid.retrieval.constraints import gyration_bound
from casid.retrieval.methods import _penalty
from casid.retrieval.methods._method import Start
from casid.retrieval.methods._penalty import Penalty, _shift_matrix, _slacks, penalised, unshifted
from casid.testing import BODY, nearest

#: Its largest principal moment exceeds the sum of the others by 0.02.
IMPOSSIBLE = to_standard(2.0, [0.05, 0.0, 0.1], np.diag([0.02, 0.03, 0.07]))


def problem():
    return nearest(
        np.append(BODY, BODY),
        lambda v: (*(inertia_bounds(k, -1.0, 1.0) for k in v), gyration_bound(v[0], 1.0), total_mass(v, 2.0, 6.0)),
    )


def test_bounds_of_masses_centres_and_inertias_stay_hard() -> None:
    stated = problem()
    hard = [c.label for c in stated.constraints if c.label not in ("link1 extent", "total mass")]
    first, later = penalised(stated, 0.0), penalised(stated, 20.0)
    assert [c.label for c in first.constraints] == hard and all(c.hard for c in first.constraints)
    weights = {c.label: c.weight for c in later.constraints}
    assert all(weights.pop(label) is None for label in hard)
    assert set(weights) >= {"link1 extent", "total mass"} and set(weights.values()) == {20.0} and len(weights) == 4
    for constraint, kept in ((mass_bounds, True), (com_box, True), (inertia_bounds, True)):
        assert constraint(stated.variables[0], -1.0, 1.0).hard_in_algorithm_1 == kept


def test_a_shift_adds_second_moments_alone() -> None:
    shift = _shift_matrix(problem())
    assert shift.shape == (20, 2)
    for column, link in ((0, slice(0, 10)), (1, slice(10, 20))):
        np.testing.assert_allclose(pseudo_inertia(shift[link, column]), np.diag([1.0, 1.0, 1.0, 0.0]))
        assert np.count_nonzero(shift[:, column]) == 3
    np.testing.assert_allclose(
        pseudo_inertia(unshifted(problem(), np.concatenate([BODY, BODY, [0.3, 0.0]]))[:10]),
        pseudo_inertia(BODY) - 0.3 * np.diag([1.0, 1.0, 1.0, 0.0]),
    )


def test_slacks_are_what_the_triangle_inequality_lacks() -> None:
    stated = problem()
    assert _slacks(stated, np.append(IMPOSSIBLE, BODY)) == pytest.approx([1.01 * (0.01 + 1e-6), 0.0])


@pytest.mark.parametrize("nominal", [None, np.append(BODY, 0.5 * BODY)])
def test_the_first_step_starts_at_the_given_point_whose_shifted_bodies_are_consistent(nominal, monkeypatch) -> None:
    seen = []

    class Seen(PreparedProblem):
        def __init__(self, problem, given, options):
            super().__init__(problem, given, options)
            seen.append([problem, given])

        def solve(self, start=None, *given, **named):
            seen[-1].append(start)
            return super().solve(start, *given, **named)

    monkeypatch.setattr(_penalty, "PreparedProblem", Seen)
    stated, start = problem(), np.append(IMPOSSIBLE, BODY)
    Penalty(1, lower_bound=0.0).solve(stated, Start(start, nominal=nominal, options=SolveOptions()))
    step, scale, point = seen[0]
    np.testing.assert_allclose(unshifted(stated, point), start, atol=1e-12)
    assert np.linalg.eigvalsh(pseudo_inertia(point[:10]))[0] > 0 and step.violations(point)["link1 mass"] == 0.0
    if nominal is None:
        assert scale is None
    else:
        np.testing.assert_array_equal(scale, np.append(nominal, [0.0, 0.0]))
