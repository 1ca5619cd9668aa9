"""Intervals of parameters: members of the level set never leave them, their ends are attained, bad input is refused."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import ProblemError
from casid.report._intervals import MeasurementsSection, intervals_figure
from casid.report._section import report_of
from casid.retrieval import parameter_intervals
from casid.retrieval._objectives import LeastSquares
from casid.retrieval.insight._explain import weigh_each_link, what_if
from casid.retrieval.insight._intervals import indistinguishable


@pytest.fixture(scope="module")
def panda():
    problem = casid.load_problem("panda_retrieval")
    return problem, parameter_intervals(problem)


@pytest.mark.slow
def test_all_ends_are_proven_and_attained(panda):
    problem, found = panda
    assert len(found.entries) == 70
    assert found.certified(0.01) == 140
    limit = found.optimum + found.tolerance
    members = [p for e in found.entries for p in (e.low_point, e.high_point)]
    for x in members:
        assert problem.objective(x) <= limit * (1 + 1e-6)
    values = np.array(members)
    lows, highs = (np.array([getattr(e, side) for e in found.entries]) for side in ("low", "high"))
    size = 1e-9 + 1e-7 * np.abs(values).max(axis=0)
    assert (values >= lows - size).all() and (values <= highs + size).all()


@pytest.mark.slow
def test_what_is_known_and_what_is_not(panda):
    problem, found = panda
    for name in ("lx7", "ly7"):  # coefficients of the table themselves
        k = problem.variables.names.index(name)
        row = int(
            np.flatnonzero((problem.objective.matrix[:, k] == 1) & (np.abs(problem.objective.matrix).sum(axis=1) == 1))[
                0
            ]
        )
        radius = np.sqrt(found.optimum + found.tolerance)
        assert (
            problem.objective.target[row] - radius
            <= found[name].low
            < found[name].high
            <= problem.objective.target[row] + radius
        )
    assert found["m1"].low <= 2e-6 and found["m1"].high > 8  # nothing is known of it but the total mass
    free = parameter_intervals(
        problem.without("total mass"), {"m1": problem.variables[0].mass}, limit=found.optimum + found.tolerance
    )
    assert free["m1"].attained_high >= 9.99


@pytest.mark.slow
def test_centre_of_mass_and_torque(panda):
    problem, found = panda
    limit = found.optimum + found.tolerance
    model = casid.Model(problem.variables.robot)
    row = np.array(model.regressor(np.full(7, 0.5), np.zeros(7), np.zeros(7)))[1]
    quantities = {"c4x": problem.variables[3].com[0], "torque 2": ca.dot(ca.DM(row), problem.variables.x)}
    extra = parameter_intervals(problem, quantities, limit=limit)
    for entry in extra.entries:
        assert entry.low <= entry.attained_low <= entry.attained_high <= entry.high
        assert entry.slack <= 0.01 * entry.width
    members = [p for e in found.entries for p in (e.low_point, e.high_point)]
    for x in members:
        assert extra["c4x"].low - 1e-7 <= x[36] / x[39] <= extra["c4x"].high + 1e-7
        assert extra["torque 2"].low - 1e-6 <= row @ x <= extra["torque 2"].high + 1e-6
    assert extra["torque 2"].width < 0.1  # a torque is known although most parameters are not


@pytest.mark.slow
def test_weighing_a_link_settles_its_mass(panda):
    problem, found = panda
    candidates = weigh_each_link(problem, found)
    effects = what_if(found, {"weigh link7": candidates["weigh link7"]}, quantities=["m6", "m7"])
    assert effects[0].most_helped[0][0] == "m7"
    assert effects[0].reduction > 0.5
    (table,) = MeasurementsSection(effects).tables()
    assert table.row_count == 1


@pytest.mark.slow
def test_report(panda, tmp_path):
    _, found = panda
    report = report_of(found)
    assert [table.row_count for table in report.tables()] == [70]
    assert len(intervals_figure(found).axes) == 2
    files = report.write(tmp_path / "out")
    assert (tmp_path / "out" / "intervals.csv").read_text().count("\n") == 71
    assert {f.name for f in files} == {"intervals.csv", "intervals.png"}


def test_tolerance_is_that_of_the_noise():
    problem = casid.load_problem("panda_retrieval")
    rows = len(problem.objective.target)
    equal = indistinguishable(problem, 1.0, sd=np.full(rows, 0.1))
    assert equal == pytest.approx(0.01 * chi2.ppf(0.95, rows))
    spread = np.linspace(0.01, 0.2, rows)
    noise = np.random.default_rng(0).normal(size=(40_000, rows)) * spread
    assert indistinguishable(problem, 1.0, sd=spread) == pytest.approx(
        np.quantile((noise**2).sum(axis=1), 0.95), rel=0.02
    )
    plain = replace(problem, coefficients=replace(problem.coefficients, sd=None, samples=1000))
    rank = np.linalg.matrix_rank(problem.objective.matrix)
    assert indistinguishable(plain, 2.0) == pytest.approx(2.0 / (1000 - rank) * chi2.ppf(0.95, rank))


@pytest.mark.slow
def test_bad_input(panda):
    problem, _ = panda
    x = problem.variables.x
    for quantities, message in (
        ({"q": x[0] * x[1]}, "neither linear"),
        ({"q": ca.SX(1.0)}, "does not depend"),
        ({"q": x[:2]}, "scalar"),
        ({"q": np.ones(70)}, "scalar"),
    ):
        with pytest.raises(ProblemError, match=message):
            parameter_intervals(problem, quantities)
    with pytest.raises(ProblemError, match="positive"):
        parameter_intervals(problem, {"m1": x[9]}, tolerance=-1.0)
    with pytest.raises(ProblemError, match="one a residual"):
        indistinguishable(problem, 1.0, sd=[1.0])
    with pytest.raises(ProblemError, match="confidence"):
        indistinguishable(problem, 1.0, confidence=1.5)
    perfect = casid.load_problem("spatial_2r")
    with pytest.raises(ProblemError, match="perfect fit"):
        parameter_intervals(perfect)
    with pytest.raises(ProblemError, match="rounding"):
        parameter_intervals(perfect, tolerance=1e-20)
    assert isinstance(perfect.objective, LeastSquares)
