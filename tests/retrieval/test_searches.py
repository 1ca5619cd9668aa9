"""Searches: where branch and bound splits, what it reports, and what annealing prices."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest

from casid.errors import ProblemError
from casid.inertia import to_standard
from casid.retrieval import Constraint, Global, PreparedProblem, SolveOptions, com_box, mass_bounds, soften, solve
from casid.retrieval._solution import reassess
from casid.retrieval._solver import Relaxed
from casid.retrieval.constraints import gyration_bound
from casid.retrieval.methods._branching import Branches, _Node, _where_to_split, close_gap
from casid.retrieval.methods._global_search import SimulatedAnnealing, _Energy
from casid.retrieval.methods._method import Direct, Start
from casid.testing import BODY, nearest

ORIGIN = to_standard(2.0, [0.0, 0.0, 0.0], np.diag([0.03, 0.04, 0.02]))


def outside(low: list[float], high: list[float], target: np.ndarray = ORIGIN):
    """The centre of mass in a box, at least 0.1 m from the origin of the link."""
    return nearest(
        target,
        lambda v: (mass_bounds(v[0], 1.0, 4.0), com_box(v[0], low, high), gyration_bound(v[0], 1.0),
                   Constraint("outside", ca.sumsqr(v[0].com), lower=0.01)),
        bounded=False,
    )  # fmt: skip


def split_at(first, inner, centre: list[float]):
    """Where a node with a box within the first one is split, its relaxation at a centre of mass."""
    original, part = outside(*first), outside(*inner)
    x = to_standard(2.0, centre, 0.01 * np.eye(3))
    return _where_to_split(original, _Node(0.0, 0, part, Relaxed(0.0, x, {})))


def test_a_box_is_split_along_the_side_that_was_cut_least() -> None:
    """Between the middle and the relaxation's centre of mass, at most a quarter of the side from the middle."""
    first = [-0.1, -0.4, -0.2], [0.1, 0.4, 0.6]
    found = split_at(first, ([-0.1, -0.4, 0.02], [0.05, 0.1, 0.58]), [0.01, 0.0, 0.05])
    assert found == (0, 0, pytest.approx(0.5 * -0.025 + 0.5 * 0.01))  # 0.75 of x, 0.625 of y, 0.7 of z are left
    found = split_at(first, ([-0.05, -0.4, 0.02], [0.05, 0.1, 0.58]), [0.01, 0.0, 0.05])
    assert found == (0, 2, pytest.approx(0.5 * 0.3 + 0.5 * 0.05))
    found = split_at(first, ([-0.05, -0.4, 0.02], [0.05, 0.1, 0.58]), [0.01, 0.0, -0.02])  # beyond the box
    assert found == (0, 2, pytest.approx(0.3 - 0.25 * 0.56))
    free = [-0.1, -np.inf, -0.2], [0.1, np.inf, 0.6]  # an open first box: the longest side
    assert split_at(free, ([-0.1, -0.4, 0.0], [0.1, 0.3, 0.6]), [0.0, -0.05, 0.03])[1] == 1
    assert split_at(first, ([-0.1, -0.4, 0.0], [0.1, 0.3, 0.6]), [0.0, 0.05, 0.3]) is None  # it misses nothing


#: Heavier than allowed, so that a part of what is missed is proven at once.
HEAVY = to_standard(4.5, [0.0, 0.0, 0.0], np.diag([0.03, 0.04, 0.02]))


def test_splitting_raises_the_bound() -> None:
    problem = outside([-0.3, -0.2, -0.2], [0.3, 0.2, 0.2], HEAVY)
    loose = Direct().solve(problem, Start())
    assert loose.usable and loose.gap > 0.05
    told = []
    found = close_gap(reassess(loose, search_region={"link1": 100.0}), 1e-3, nodes=4,
                      progress=lambda *state: told.append(state))  # fmt: skip
    bounds, used = [state[1] for state in told], [state[2] for state in told]
    assert bounds == sorted(bounds) and bounds[-1] == pytest.approx(found.lower_bound)
    assert used[0] > 1 and used == sorted(set(used)) and used[-1] <= 5
    assert loose.lower_bound <= found.lower_bound <= found.objective <= loose.objective + 1e-12
    assert found.search_region == {"link1": 100.0}  # of the bound that it began with
    silent = close_gap(loose, 1e-3, nodes=2)
    assert silent.lower_bound == pytest.approx(bounds[0]) and "relaxations" in silent.solver_status


def test_branches_that_are_late_prove_nothing() -> None:
    problem = nearest(
        BODY, lambda v: Constraint("rule", ca.if_else(v[0].mass > 3, v[0].com[0] - 0.1, v[0].com[1] - 0.1), 0.0)
    )
    whole = solve(problem, method="branches")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        late = solve(problem, method=Branches(seconds=0.0), throw=False)
    assert len(whole.trace) == 2 and len(late.trace) == 1
    assert whole.certified and late.lower_bound <= 0.0 and not late.certified


@pytest.mark.parametrize("given", [{"iterations": 0}, {"evaluations": 0}, {"price": 0.0}, {"spread": 0.0}])
def test_an_annealing_without_effort_is_refused(given) -> None:
    with pytest.raises(ProblemError, match="must be positive"):
        SimulatedAnnealing(**given)


def energy():
    """Of a body with an extra unknown, by default prices, and its starting point."""
    rows = {
        "both": lambda x: Constraint("both", x[9] + x[6], 1.5, 4.0),
        "least": lambda x: Constraint("least", x[9] - x[7], -0.5),
        "zero": lambda x: Constraint("zero", x[8] - x[10], upper=0.0),
        "soft": lambda x: soften(Constraint("soft", x[9] + x[10], upper=2.0), weight=3.0),
    }
    problem = nearest(
        np.append(BODY + 0.1, 1.0), lambda v: tuple(make(v.x) for make in rows.values()), extras={"fv1": (-2.0, 2.0)}
    )
    return problem, _Energy(PreparedProblem(problem, None, SolveOptions()), np.append(BODY, 1.0),
                            SimulatedAnnealing().price)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{}, {9: 5.0}, {9: 0.6}, {7: 3.0}, {8: 2.0}, {10: -1.5}, {6: 4.0, 7: 4.0, 8: 4.0}, {10: 1.9, 9: 2.3}],
    ids=str,
)
def test_annealing_prices_what_is_missed_relative_to_its_bound(change) -> None:
    """Ten times the objective at the start for a hard row missed by the size of its bound, or by one if that is 0."""
    problem, made = energy()
    x, start = np.append(ORIGIN, 1.0), np.append(BODY, 1.0)
    for entry, value in change.items():
        x[entry] = value
    x[:6] = to_standard(x[9], x[6:9] / x[9], 0.05 * np.eye(3))[:6]
    np.testing.assert_allclose(made.point(made.coordinates(x)), x, atol=1e-5)
    at = made.point(made.coordinates(x))
    hard = max(0.0, at[9] + at[6] - 4.0, 1.5 - at[9] - at[6]) / 4.0
    hard += max(0.0, -0.5 - at[9] + at[7]) / 0.5 + max(0.0, at[8] - at[10])
    hard += max(0.0, at[9] - 8.0, 0.5 - at[9]) / 8.0  # bounds of the arm's link
    hard += sum(max(0.0, abs(at[k]) - 0.3 * at[9]) for k in (6, 7, 8))
    soft = 3.0 * max(0.0, at[9] + at[10] - 2.0)
    expected = problem.objective(at) + 10.0 * problem.objective(start) * hard + soft
    assert made(made.coordinates(x)) == pytest.approx(expected)
    assert made.defined(at)


def test_annealing_keeps_extras_within_their_bounds() -> None:
    _, made = energy()
    assert made.point(made.coordinates(np.append(BODY, 9.0)))[10] == 2.0


def test_annealing_needs_no_seed() -> None:
    found = SimulatedAnnealing(iterations=2, evaluations=60).solve(nearest(BODY), Start())
    assert found.usable and found.seed is None


def test_a_gap_that_counts_as_certified_is_closed_enough() -> None:
    """A gap asked for that is smaller than that of a certified solution starts no search."""
    problem = outside([-0.3, -0.2, -0.2], [0.3, 0.2, 0.2], HEAVY)
    method = Global(gap=1e-9, seconds=20.0, nodes=2)
    assert "relaxations" not in solve(problem, method=method, options=SolveOptions(certified_gap=0.5)).solver_status
    assert "relaxations" in solve(problem, method=method, throw=False).solver_status
