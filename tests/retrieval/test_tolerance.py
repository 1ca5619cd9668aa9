"""The tolerance of coefficients: how the fit follows them, and what it rests on in words."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from casid.errors import ProblemError
from casid.inertia import to_standard
from casid.retrieval import (
    Coefficients,
    Constraint,
    LeastSquares,
    Problem,
    SolveOptions,
    com_box,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval._solution import assess
from casid.retrieval.plausible import Believable, PlausibleBodies, believable, coefficient_tolerance, polished
from casid.retrieval.plausible._tolerance import sensitivity
from casid.testing import BODY, arm
from tests.helpers import nearest

#: Heavier than allowed; and a body whose largest moment exceeds the sum of the others.
TARGET = to_standard(5.0, [0.05, -0.02, 0.1], np.diag([0.5, 0.6, 0.7]))
IMPOSSIBLE = to_standard(5.0, [0.05, -0.02, 0.1], np.diag([0.3, 0.4, 0.75]))


def problem(target: np.ndarray = TARGET, sd: float | None = 0.01, extra: float | None = None) -> Problem:
    """Twelve coefficients of a link; its mass is at most 4.9 kg, in the second row of three of a constraint."""
    v = link_variables(arm(), None if extra is None else {"fv1": (0.0, 5.0)})
    forms = np.vstack([np.eye(10), np.random.default_rng(0).normal(size=(2, 10))])
    forms = np.hstack([forms, np.full((12, v.size - 10), 0.3)])
    values = forms @ np.append(target, [extra] * (v.size - 10))
    values[:10] += 0.02 * np.random.default_rng(1).normal(size=10)
    given = Coefficients(forms, values, None if sd is None else np.full(12, sd))
    own = (
        com_box(v[0], -0.3, 0.3),
        Constraint(
            "three",
            ca.vertcat(v[0].first_moment[0], v[0].mass, v[0].first_moment[1]),
            [-5.0, 0.5, -5.0],
            [5.0, 4.9, 5.0],
        ),
    )
    return Problem("coefficients", v, LeastSquares(forms, values, 0.0), own, coefficients=given)


@pytest.fixture(scope="module")
def fitted():
    return solve(problem())


def test_the_fit_follows_the_coefficients_as_the_sensitivity_says(fitted) -> None:
    stated = fitted.problem
    S = sensitivity(fitted)
    assert S.shape == (12, 12)
    np.testing.assert_allclose(S, S.T, atol=1e-3)
    rng = np.random.default_rng(2)
    for _ in range(3):
        shift = 1e-4 * rng.normal(size=12)
        objective = replace(stated.objective, target=stated.objective.target + shift)
        moved = solve(replace(stated, objective=objective))
        change = stated.objective.matrix @ (moved.x - fitted.x)
        assert np.linalg.norm(change - S @ shift) < 0.02 * np.linalg.norm(change)


def test_a_fit_that_can_miss_nothing_has_no_ratio_to_raise() -> None:
    """As many coefficients as parameters, all of them met: what they may be missed by is their deviations' square."""
    v = link_variables(arm())
    given = Coefficients(np.eye(10), BODY, np.full(10, 0.02))
    free = Problem("free", v, LeastSquares(np.eye(10), BODY), (mass_bounds(v[0], 0.5, 4.0),), coefficients=given)
    found = coefficient_tolerance(solve(free))
    assert found.ratio == 1.0 and found.value == pytest.approx(10 * 0.02**2, rel=1e-6) and found.given
    zero = replace(free, coefficients=replace(given, sd=np.zeros(10)))
    made = coefficient_tolerance(solve(zero))
    assert made.ratio == 1.0 and made.value == 0.0
    with pytest.raises(ProblemError, match="perfect"):
        coefficient_tolerance(solve(replace(free, coefficients=replace(given, sd=None))))


# ---------------------------------------------------------------------- the choice within a tolerance


@pytest.fixture(scope="module")
def chosen() -> Believable:
    stated = nearest(IMPOSSIBLE)
    bodies = PlausibleBodies(to_standard(4.0, [0.0, 0.0, 0.1], 0.1 * np.eye(3)), ("description",))
    return believable(stated, solve(stated), bodies, share=0.05)


@pytest.mark.claim("a best fit that the solver leaves without proof is proven by Newton's method")
def test_what_is_certified_failed_or_not_fully_consistent_is_not_polished(chosen) -> None:
    best = solve(chosen.problem)
    assert best.certified and polished(best, chosen.bodies) is best
    loose = replace(best, lower_bound=0.5 * best.objective)
    semi = replace(loose, problem=replace(best.problem, consistency="semi"))
    assert not semi.certified and polished(semi, chosen.bodies) is semi
    made = polished(loose, chosen.bodies)
    assert made.certified and loose.lower_bound < made.lower_bound <= best.total and made.total <= loose.total
    assert made.max_violation <= best.tolerances.feasibility
    failed = assess(chosen.problem, -BODY, converged=False)
    assert not failed.usable and polished(failed, chosen.bodies) is failed


@pytest.mark.claim("the sensitivity of fitted coefficients holds for bodies on the boundary of what can exist")
def test_the_fit_of_a_body_on_the_boundary_follows_its_coefficients() -> None:
    exact = SolveOptions(target_gap=1e-10)
    fitted = solve(problem(IMPOSSIBLE), options=exact)
    stated, S = fitted.problem, sensitivity(fitted)
    shift = 1e-3 * np.random.default_rng(2).normal(size=12)
    moved = replace(stated, objective=replace(stated.objective, target=stated.objective.target + shift))
    change = stated.objective.matrix @ (np.array(solve(moved, options=exact).x) - fitted.x)
    assert np.linalg.norm(change - S @ shift) <= 0.02 * np.linalg.norm(change)
