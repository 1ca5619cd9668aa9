"""Solutions: values by name, expressions, violations."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

from casid.errors import CasidError, ProblemError
from casid.retrieval import (
    parameter_intervals,
    solve,
)
from casid.retrieval._solution import assess
from casid.testing import BODY, nearest


@pytest.mark.claim("standard parameters are 10 n numbers, extras are apart")
def test_solution_answers_questions() -> None:
    problem = nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)})
    found = solve(problem)
    assert found.standard_parameters.shape == (20,) and found.x.shape == (21,)
    assert found.extras == {"fv1": found["fv1"]} and found["fv1"] == pytest.approx(0.3, abs=1e-6)
    assert found.links["link2"].mass == found["m2"] and list(found.links) == ["link1", "link2"]
    link = problem.variables["link2"]
    np.testing.assert_allclose(found(link.inertia_com), found.links["link2"].inertia_com, atol=1e-15)
    assert found(link.mass) == found["m2"]
    with pytest.raises(ProblemError):
        found(ca.SX.sym("m2"))
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


def test_a_point_is_assessed_without_a_solver() -> None:
    problem = nearest(BODY)
    found = assess(problem, BODY)
    assert found.objective == pytest.approx(0.0, abs=1e-20) and found.max_violation == 0.0
    assert found.lower_bound <= found.objective
