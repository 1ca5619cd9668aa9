"""Ends of intervals: the best point is kept, the search for a ratio ends, ranges by the bounds alone, explanations."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from casid.errors import ProblemError
from casid.inertia import to_standard
from casid.retrieval import SolveOptions, com_box, explain, mass_bounds, parameter_intervals, solve
from casid.retrieval._solution import assess
from casid.retrieval.insight import Intervals, ParameterInterval, weigh_each_link, what_if
from casid.retrieval.insight._explain import ActiveBound
from casid.retrieval.insight._intervals import _least_ratio
from casid.retrieval.insight._level_set import LevelSet
from casid.testing import BODY, nearest


class Points:
    """A level set of given points, the answers in turn: each with its bound so much below the value."""

    def __init__(self, point: np.ndarray, answers: list[np.ndarray], missed: float = 0.0, least: float = 1.0) -> None:
        self.point, self.answers, self.missed, self.least, self.count = point, answers, missed, least, 0
        self.problem = SimpleNamespace(variables=SimpleNamespace(links=[SimpleNamespace(name="elbow")]))

    def minimum(self, form):
        found = self.answers[min(self.count, len(self.answers) - 1)]
        self.count += 1
        return float(form @ found) - self.missed, float(form @ found), found

    def least_mass(self, link):
        return self.least


def weighing(mass: float, first: float) -> np.ndarray:
    return np.array([0.0] * 6 + [first, 0.0, 0.0, mass])


FORM = np.eye(10)[6]


def test_a_ratio_needs_a_point_of_positive_mass() -> None:
    search = Points(weighing(0.0, 0.0), [weighing(2.0, 0.6)], least=0.5)
    proven, attained, point = _least_ratio(search, FORM, 0)
    assert attained == pytest.approx(0.3) and proven <= attained and point[9] == 2.0
    with pytest.raises(ProblemError, match="'elbow' weighs nothing"):
        _least_ratio(Points(weighing(0.0, 0.0), [weighing(0.0, 0.0)]), FORM, 0)


@pytest.mark.parametrize("ratio", [0.1, 1e4])
def test_the_search_for_a_ratio_ends_where_it_hardly_moves(ratio: float) -> None:
    """By less than 1e-9, or by as much of a ratio above one."""
    size = max(1.0, ratio)
    slow = [weighing(1.0, ratio - 6e-10 * size * k) for k in range(1, 40)]
    search = Points(weighing(1.0, ratio), slow)
    assert _least_ratio(search, FORM, 0)[1] == ratio and search.count <= 2
    falling = [weighing(1.0, ratio - 0.01 * size * k) for k in (1, 2, 3)]
    assert _least_ratio(Points(weighing(1.0, ratio), falling), FORM, 0)[1] == pytest.approx(ratio - 0.03 * size)


def test_a_bound_just_below_the_ratio_is_proven_without_dividing_by_the_mass() -> None:
    search = Points(weighing(2.0, 0.2), [weighing(2.0, 0.2)], missed=1e-9, least=1e-3)
    proven, attained, _ = _least_ratio(search, FORM, 0)
    assert attained == 0.1 and attained - 2e-7 < proven <= attained - 1e-9 / 2.0


@pytest.fixture(scope="module")
def level() -> LevelSet:
    """All bodies within 1 cm (in the parameters' own units) of one, whose bounds are far."""
    problem = nearest(
        BODY, lambda v: (mass_bounds(v[0], 0.5, 4.0), com_box(v[0], [-0.3, 0.1 - 0.4, -0.2], [0.25, 0.4, 0.3])),
        bounded=False,
    )  # fmt: skip
    return LevelSet(problem, assess(problem, BODY, 0.0), 1e-4, SolveOptions())


def test_points_beyond_the_limit_explain_nothing(level: LevelSet) -> None:
    way = np.eye(10)[9]
    assert level._explains(BODY + 0.0099 * way) and not level._explains(BODY + 0.0101 * way)
    assert not level._explains(BODY - 2 * BODY)  # no body


def test_the_best_point_of_all_is_kept(level: LevelSet) -> None:
    """One that attains a bit more than the solver's interior point."""
    form = np.eye(10)[9]
    known = LevelSet(level.problem, assess(level.problem, BODY, 0.0), 1e-4, SolveOptions())
    known.point = BODY - 0.01 * form * (1 + 1e-7)
    bound, attained, point = known.minimum(form)
    assert attained == known.point[9] and point is known.point
    assert bound == pytest.approx(BODY[9] - 0.01, abs=1e-6)


def test_ranges_by_the_bounds_alone(level: LevelSet) -> None:
    low, high = np.array([level.prior(row) for row in np.eye(10)]).T
    np.testing.assert_allclose(low[6:], [-1.2, -1.2, -0.8, 0.5])
    np.testing.assert_allclose(high[6:], [1.0, 1.6, 1.2, 4.0])
    assert (low[[0, 3, 5]] == 0).all() and (low[[1, 2, 4]] < 0).all()
    assert level.prior(np.eye(10)[6] - 2 * np.eye(10)[9]) == pytest.approx((-1.2 - 8.0, 1.0 - 1.0))
    assert level.ratio_prior(np.eye(10)[7] * 2 + 3 * np.eye(10)[9], 0) == pytest.approx((2 * -0.3 + 3, 2 * 0.4 + 3))
    assert level.ratio_prior(np.eye(10)[7] + np.eye(10)[0], 0) == (-np.inf, np.inf)


def test_the_least_tolerance_that_is_named_is_enough() -> None:
    problem = nearest(BODY)
    exact = assess(problem, BODY, 0.0)
    assert exact.objective == 0.0
    least = 1e-11 * problem.objective.size
    mass = {"m1": problem.variables[0].mass}
    assert parameter_intervals(problem, mass, tolerance=least, solution=exact).tolerance == least
    with pytest.raises(ProblemError, match="below rounding"):
        parameter_intervals(problem, mass, tolerance=0.99 * least, solution=exact)


def interval(name: str, low: float, high: float) -> ParameterInterval:
    return ParameterInterval(name, low, high, low + 0.1, high - 0.2, (0.0, 9.0), BODY, BODY)


def test_a_link_is_weighed_at_the_middle_of_what_is_attained() -> None:
    problem = nearest(np.tile(BODY, 2))
    found = Intervals((interval("m1", 1.0, 3.0), interval("m2", 2.0, 2.5)), problem, 0.0, 1.0, 0.0)
    made = weigh_each_link(problem, found, 0.02)["weigh link1"]
    assert (made.lower[0], made.upper[0]) == pytest.approx((1.95 * 0.98, 1.95 * 1.02))
    assert made.label == "weighed link1"


def test_what_a_measurement_would_settle_is_asked_of_the_masses() -> None:
    problem = nearest(BODY)
    x = problem.variables.x
    found = parameter_intervals(problem, {"m1": x[9], "c1": problem.variables[0].com[0], "mx": x[6]}, tolerance=1e-4)
    weighed = replace(mass_bounds(problem.variables[0], BODY[9] - 1e-3, BODY[9] + 1e-3), label="scale")
    (effect,) = what_if(found, {"weigh": weighed})
    assert [name for name, _ in effect.most_helped] == ["m1"]
    assert effect.reduction == pytest.approx(0.9, abs=1e-3)  # of 1e-2 to either side 1e-3 is left
    with pytest.raises(ProblemError, match="must be unknowns"):
        what_if(found, {"weigh": weighed}, ["c1"])


def test_the_gain_of_a_bound_is_its_multiplier_times_its_step_over_the_objective() -> None:
    """``(m - 2)^2`` with ``m <= 1.5``: the slope is one."""
    heavy = to_standard(2.0, [0.0, 0.0, 0.0], 0.1 * np.eye(3))
    problem = nearest(heavy, lambda v: mass_bounds(v[0], 0.5, 1.5), bounded=False)
    found = solve(problem)
    (bound,) = explain(found).bounds
    assert bound.multiplier == pytest.approx(1.0, rel=1e-5) and bound.step == 0.1
    assert bound.gain == pytest.approx(0.1 / 0.25, rel=1e-5)
    assert str(bound) == "link1 mass <= 1.5 kg: relaxing it by 0.1 kg would improve the fit by 40 % (to first order)"
    plain = ActiveBound("own <= 1", 0.5, "", np.inf, 1.0)
    assert str(plain) == "own <= 1: relaxing it by 1 would improve the fit by 0.5 (to first order)"
