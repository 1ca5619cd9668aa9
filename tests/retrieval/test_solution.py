"""Solutions: values by name, gaps and checked bounds, conflicts in words."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

from casid.errors import BoundWarning, CasidError, ProblemError, SolveError
from casid.inertia import Parameters, to_standard
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    ParameterResult,
    com_box,
    mass_bounds,
    parameter_intervals,
    solve,
)
from casid.retrieval._solution import assess
from casid.retrieval.constraints import gyration_bound
from casid.retrieval.program._nlp import random_parameters
from casid.testing import BODY
from tests.helpers import nearest


@pytest.mark.claim("standard parameters are 10 n numbers, extras are apart")
@pytest.mark.claim("a result's parameters are Parameters; links, extras and standard parameters follow from them")
def test_solution_answers_questions() -> None:
    problem = nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)})
    found = solve(problem)
    assert found.standard_parameters.shape == (20,) and found.x.shape == (21,)
    assert isinstance(found, ParameterResult) and isinstance(found.parameters, Parameters)
    np.testing.assert_array_equal(found.parameters.values, found.x)
    np.testing.assert_array_equal(found.standard_parameters, found.parameters.standard)
    assert [link.name for link in found.link_parameters] == list(found.links)
    assert found.extras == dict(found.parameters.terms) == {"fv1": pytest.approx(0.3, abs=1e-6)}
    assert found.links["link2"].mass == found["m2"] and list(found.links) == ["link1", "link2"]
    link = problem.variables["link2"]
    np.testing.assert_allclose(found.value(link.inertia_com), found.links["link2"].inertia_com, atol=1e-15)
    assert found.value(link.mass) == found["m2"]
    with pytest.raises(ProblemError):
        found.value(ca.SX.sym("m2"))
    assert "nearest" in repr(found) and "optimal" in repr(found) and len(repr(found)) < 200
    assert "2 links" in repr(problem) and len(repr(problem)) < 200


@pytest.mark.claim("house h: a lookup by name that fails is a CasidError and a KeyError; `in` never raises")
def test_lookups_by_name_follow_one_rule() -> None:
    problem = nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)})
    found = solve(problem)
    intervals = parameter_intervals(problem, {"m1": problem.variables.x[9]}, tolerance=0.1, solution=found)
    lookups = (
        (found, "m1"), (found, "fv1"), (found.links, "link2"), (found.parameters, "m2"),
        (problem.variables, "link1"), (intervals, "m1"),
    )  # fmt: skip
    for owner, name in lookups:
        assert name in owner and owner[name] is not None
        for wrong in ("hand", "", 0.5, None):
            assert wrong not in owner
        with pytest.raises(CasidError, match="'hand'") as caught:
            owner["hand"]
        assert isinstance(caught.value, KeyError) and str(caught.value) == caught.value.message
    with pytest.raises(KeyError):
        problem.variables.extra("fv9")
    assert problem.variables[0] in problem.variables and found.links.get("hand") is None
    assert pickle.loads(pickle.dumps(found)).parameters["m1"] == found["m1"]


@pytest.mark.claim("a bound above the point's own value voids itself, loudly")
def test_a_contradicted_bound_is_given_up() -> None:
    problem = nearest(BODY)
    value = problem.objective(1.1 * BODY)
    with pytest.warns(BoundWarning, match="discarded"):
        found = assess(problem, 1.1 * BODY, 3 * value)
    assert found.lower_bound == 0.0 and not found.certified and found.gap == pytest.approx(1.0)
    slightly = assess(problem, 1.1 * BODY, value * (1 + 1e-9))
    assert slightly.gap == 0.0


@pytest.mark.claim("a light link beside a heavy one counts")
def test_the_gap_sees_light_links() -> None:
    heavy = to_standard(1e6, [0.0, 0.0, 0.1], np.diag([1e4, 1e4, 1e4]))
    light = to_standard(1.0, [0.0, 0.0, 0.0], np.diag([0.02, 0.02, 0.03]))
    problem = nearest(np.concatenate([heavy, light]), lambda v: mass_bounds(v[1], 0.0, 0.5), bounded=False)
    best, poor = (np.concatenate([heavy, light]) for _ in range(2))
    best[19], poor[19] = 0.5, 0.45
    bound = problem.objective(best)
    found = assess(problem, poor, bound)
    assert bound == pytest.approx(0.25) and found.feasible
    assert found.gap == pytest.approx(1 - 0.25 / 0.3025) and not found.certified
    assert assess(problem, best, bound).certified


@pytest.mark.claim("no set that has feasible points is called infeasible")
@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, 2, 3, 4, 5))])
def test_no_false_infeasible(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def build(v):
        c, w = v[0].com, rng.normal(size=3)
        wave = ca.sin(30 * ca.dot(ca.DM(w), c) + rng.uniform(0, 6))
        return Constraint("wave", wave - 0.95, lower=0.0)

    problem = nearest(BODY, build)
    points = [random_parameters(problem, rng) for _ in range(400)]
    assert any(problem.hard_violation(problem.violations(x)) == 0.0 for x in points)
    for start in range(3):
        assert solve(problem, seed=start, throw=False).status != "infeasible"


@pytest.mark.claim("one constraint that cannot be met is named with the smallest relaxation")
def test_a_single_impossible_constraint_is_named() -> None:
    rows = lambda v: (com_box(v[0], -0.05, 0.05), mass_bounds(v[0]), Constraint("reach", v[0].com[0], lower=0.2))  # noqa: E731
    with pytest.raises(InfeasibleError, match=r"reach >= 0\.2") as caught:
        solve(nearest(BODY, rows, bounded=False))
    assert sum(caught.value.relaxation.values()) == pytest.approx(0.15, abs=1e-4)


@pytest.mark.claim("a conflict that is proven only within a search region says so, and names the unit that leads there")
def test_the_region_of_a_proof_is_stated() -> None:
    problem = nearest(BODY, lambda v: (
        Constraint("near", ca.sumsqr(v[0].com), upper=0.05**2), Constraint("far", v[0].com[0], lower=0.2),
        mass_bounds(v[0], 0, 5), com_box(v[0], -1, 1)), bounded=False,
    )  # fmt: skip
    link = problem.variables[0]
    found = solve(problem, throw=False)
    assert found.status == "infeasible"
    assert found.conflict is not None
    assert list(found.conflict.region) == [link.name]
    assert f"holds for {link.name} up to 1e+06 times" in found.conflict.words()
    assert "g.mm^2" in found.conflict.words()
    bounded = solve(problem.add(gyration_bound(link, 1.0)), throw=False).conflict
    assert bounded is not None
    assert bounded.proven
    assert not bounded.region
    assert "proof holds" not in bounded.words()


@pytest.mark.parametrize(("starts", "restarts", "words"), [(1, 0, "from 1 start "), (1, 2, "from 3 starts"),
                                                           (5, 2, "from 5 starts")])  # fmt: skip
def test_a_failure_says_from_how_many_starts(starts: int, restarts: int, words: str) -> None:
    failed = assess(nearest(BODY), -BODY, converged=False, restarts=restarts, starts=starts)
    assert not failed.usable
    with pytest.raises(SolveError, match=words):
        failed.or_raise()


@pytest.mark.claim("a body of grams is not feasible because its violation is below an absolute tolerance")
def test_a_violation_as_large_as_a_small_link_is_not_feasible() -> None:
    truth = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 2.5e-9]))
    problem = nearest(truth, lambda v: (mass_bounds(v[0], 0.0, 1e-2), com_box(v[0], -5e-3, 5e-3)), bounded=False)
    needle = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 9e-9]))
    found = assess(problem, needle)
    assert 0 < found.max_violation < 1e-8
    assert not found.feasible and not found.usable
    assert assess(problem, truth).feasible
