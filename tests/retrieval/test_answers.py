"""What solutions, rows, studies and problem files answer at the edges of what they are asked."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from casid.errors import BoundWarning, ProblemError, SolveError
from casid.retrieval import (
    Constraint,
    Problem,
    SolveOptions,
    _problem_files,
    link_variables,
    load_constraints,
    load_problem,
    mass_bounds,
    solve,
)
from casid.retrieval._rows import NonlinearRows, Row, split_rows
from casid.retrieval._solution import _EXPLAINED, Tolerances, assess, checked_bound
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.methods._method import Direct
from casid.retrieval.study import _study
from casid.retrieval.study._file import record, revived
from casid.testing import BODY, arm, nearest


def test_an_expression_with_one_foreign_symbol_has_no_value() -> None:
    problem = nearest(BODY)
    found = assess(problem, BODY)
    mass = problem.variables[0].mass
    assert found(2 * mass) == 4.0
    with pytest.raises(ProblemError, match="no variables of problem"):
        found(mass + ca.SX.sym("m1"))


@pytest.mark.parametrize(("starts", "restarts", "words"), [(1, 0, "from 1 start "), (1, 2, "from 3 starts"),
                                                           (5, 2, "from 5 starts")])  # fmt: skip
def test_a_failure_says_from_how_many_starts(starts: int, restarts: int, words: str) -> None:
    failed = assess(nearest(BODY), -BODY, converged=False, restarts=restarts, starts=starts)
    assert not failed.usable
    with pytest.raises(SolveError, match=words):
        failed.or_raise()


@pytest.mark.parametrize("value", [1e6, 1.0, 1e-6])
def test_a_bound_above_the_value_is_explained_by_rounding_of_the_value(value: float) -> None:
    assert checked_bound(value * (1 + 0.9 * _EXPLAINED), value, 1e-30, "it") == value
    assert checked_bound(0.9 * value, value, 1e-30, "it") == 0.9 * value
    with pytest.warns(BoundWarning, match="it: its lower bound"):
        assert checked_bound(value * (1 + 1.1 * _EXPLAINED), value, 1e-30, "it") == -np.inf


def test_a_row_is_in_units_of_its_bound_or_of_a_mass() -> None:
    assert Row(0, 0, None, "plain").unit_size(BODY) == 1.0
    assert Row(0, 0, None, "times its mass", mass_of=0).unit_size(BODY) == 2.0
    symbols = ca.SX.sym("x", 10)
    assert NonlinearRows.none().values(symbols, BODY).shape == (0,)
    problem = nearest(BODY, lambda v: Constraint("curved", ca.tanh(v[0].mass), upper=2.0))
    values = split_rows(problem)[1].values(problem.variables.x, BODY)
    np.testing.assert_allclose(values, [np.tanh(2.0)])


def test_a_problem_refuses_consistency_of_a_link_that_it_has_not() -> None:
    v = link_variables(arm())
    objective = nearest(BODY).objective
    with pytest.raises(ProblemError, match="consistency of link 3, but it has fewer"):
        Problem("small", v, objective, (PhysicalConsistency(2, "link3", "full"),))


def test_extras_may_be_known() -> None:
    assert link_variables(arm(), {"fv1": (0.5, 0.5)}).extras["fv1"] == (0.5, 0.5)


def test_options_reach_the_method() -> None:
    curved = nearest(BODY, lambda v: Constraint("curved", ca.tanh(v[0].com[0]) + v[0].com[1] ** 2, 0.1, 0.2))
    stopped = solve(curved, options=SolveOptions(max_iterations=1, restarts=0), throw=False)
    assert not stopped.usable and solve(curved).usable


def test_a_record_keeps_the_conflict() -> None:
    problem = nearest(
        BODY, lambda v: (mass_bounds(v[0], 3.0, 4.0), Constraint("light", v[0].mass, upper=2.0)), bounded=False
    )
    found = solve(problem, throw=False)
    again = revived(problem, record("one", 0, found), Tolerances())
    assert found.status == again.status == "infeasible"
    assert again.conflict == found.conflict and again.conflict is not None


def test_a_result_of_a_study_repeats_with_its_seed() -> None:
    found = assess(nearest(BODY), BODY, seed=7)
    assert _study.StudyResult("one", 3, found).seed == 7


def test_a_worker_watches_the_study_that_started_it(monkeypatch) -> None:
    watched = []
    monkeypatch.setattr(_study, "_end_with", watched.append)
    blob = pickle.dumps((nearest(BODY), Direct(), None, SolveOptions()))
    for study in (None, os.getpid(), os.getpid() + 1):
        assert _study._solve_one(blob, "one", 0, 1, study)["status"] == "optimal"
    assert watched == [os.getpid() + 1]


@pytest.mark.parametrize("ours", [True, False])
def test_the_watch_is_kept_over_a_parent_only(ours: bool, monkeypatch) -> None:
    started = []

    class Stub:
        def __init__(self, **given) -> None:
            assert given["daemon"]

        def start(self) -> None:
            started.append(1)

    monkeypatch.setattr(_study, "Thread", Stub)
    _study._end_with.cache_clear()
    _study._end_with(os.getppid() if ours else os.getppid() + 1)
    _study._end_with.cache_clear()
    assert bool(started) == ours


def test_an_error_shows_the_frames_of_what_the_users_file_calls(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import json\n\ndef build():\n    return json.loads('{')\n")
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert "decoder.py" in caught.value.detail and str(file) in caught.value.detail


def test_a_constraint_file_that_gives_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="does not exist"):
        load_constraints(tmp_path / "none.py")
    file = tmp_path / "mine.py"
    v = link_variables(arm())
    file.write_text("def constraints(variables):\n    return None\n")
    with pytest.raises(ProblemError, match="it returned None"):
        load_constraints(file)(v)
    file.write_text(
        "from casid.retrieval import mass_bounds\n\n"
        "def constraints(variables):\n    return mass_bounds(variables[0], 1, 2)\n"
    )
    (made,) = load_constraints(file)(v)
    assert made.upper[0] == 2.0


def test_constraints_are_left_out_by_their_labels() -> None:
    problem = nearest(BODY)
    assert [c.label for c in problem.without("link1 com").constraints] == ["link1 mass"]
    assert replace(problem, constraints=()).constraints == ()


def test_an_error_in_a_shipped_problem_shows_its_own_lines(tmp_path: Path, monkeypatch) -> None:
    """A problem file within the package, as those that ship with it are once it is installed."""
    monkeypatch.setattr(_problem_files, "__file__", str(tmp_path / "casid" / "retrieval" / "_problem_files.py"))
    file = tmp_path / "casid" / "problems" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text("def build():\n    return own()\n\ndef own():\n    return 1 / 0\n")
    with pytest.raises(ProblemError, match="line 5, in own") as caught:
        load_problem(file)
    assert "line 5, in own" in caught.value.detail
