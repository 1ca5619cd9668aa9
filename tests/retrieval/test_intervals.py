"""Intervals of parameters: members of the level set never leave them, their ends are attained, bad input is refused."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import ProblemError
from casid.report import report_of
from casid.report._intervals import MeasurementsSection, intervals_figure
from casid.retrieval import LeastSquares, mass_bounds, parameter_intervals
from casid.retrieval.insight import Intervals, ParameterInterval, weigh_each_link, what_if
from casid.retrieval.insight._intervals import indistinguishable
from casid.testing import BODY, nearest


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


def ball(*constraints, tolerance=1e-4, quantities=None, target=BODY):
    """Intervals where all sets within ``sqrt(tolerance)`` of a body explain the data: their ends are known exactly."""
    problem = nearest(target, lambda v: tuple(make(v[0]) for make in constraints))
    chosen = None if quantities is None else quantities(problem.variables)
    return problem, parameter_intervals(problem, chosen, tolerance=tolerance)


def test_ends_over_a_ball_are_its_radius_away():
    radius = 1e-3
    form = np.array([0, 0, 0, 0, 0, 0, 2.0, 0, -1.0, 0.5])
    _, found = ball(tolerance=radius**2, quantities=lambda v: {"sum": ca.dot(ca.DM(form), v.x), "m1": v[0].mass})
    for name, centre, size in (("sum", form @ BODY, np.linalg.norm(form)), ("m1", BODY[9], 1.0)):
        entry = found[name]
        for end, value in ((entry.low, centre - radius * size), (entry.high, centre + radius * size)):
            assert end == pytest.approx(value, abs=2e-5 * radius * size)
        assert entry.low <= entry.attained_low + 1e-12 and entry.attained_high <= entry.high + 1e-12
        assert entry.attained_low == pytest.approx(entry.low, abs=1e-4 * entry.width)
        assert np.linalg.norm(entry.low_point - BODY) <= radius * (1 + 1e-5)
    assert found.certified(0.001) == 4 and found.tolerance == radius**2
    assert found["m1"].low_point[9] == pytest.approx(found["m1"].attained_low)
    assert "sum" in found and "m2" not in found


def test_ends_of_a_centre_of_mass_over_a_ball():
    """``l / m = t`` touches the ball where ``(l0 - t m0)^2 = r^2 (1 + t^2)``."""
    radius, lx, m = 1e-2, BODY[6], BODY[9]
    _, found = ball(tolerance=radius**2, quantities=lambda v: {"cx": v[0].com[0]})
    low, high = np.sort(np.roots([m**2 - radius**2, -2 * lx * m, lx**2 - radius**2]))
    entry = found["cx"]
    assert entry.attained_low == pytest.approx(low, abs=1e-7) and entry.attained_high == pytest.approx(high, abs=1e-7)
    assert low - 1e-4 * (high - low) <= entry.low <= low + 1e-9
    assert high - 1e-9 <= entry.high <= high + 1e-4 * (high - low)


def test_bounds_cut_the_ball():
    most = BODY[9] + 2e-3
    _, found = ball(
        lambda link: replace(mass_bounds(link, 0.0, most), label="most"), quantities=lambda v: {"m1": v[0].mass}
    )
    entry = found["m1"]
    assert entry.high == pytest.approx(most, abs=1e-7) and entry.low == pytest.approx(BODY[9] - 1e-2, abs=1e-6)
    assert entry.prior[1] == pytest.approx(most) and entry.prior[0] >= 0.0
    assert entry.known == pytest.approx(1 - entry.width / (entry.prior[1] - entry.prior[0]))


def test_a_limit_is_the_optimum_and_a_tolerance():
    problem, found = ball(tolerance=1e-4, quantities=lambda v: {"m1": v[0].mass})
    same = parameter_intervals(problem, {"m1": problem.variables[0].mass}, limit=found.optimum + 1e-4)
    assert same.tolerance == pytest.approx(1e-4) and same["m1"].high == pytest.approx(found["m1"].high, abs=1e-8)
    for wrong in ({"tolerance": 0.0}, {"tolerance": np.inf}, {"limit": found.optimum}):
        with pytest.raises(ProblemError, match="positive and finite"):
            parameter_intervals(problem, {"m1": problem.variables[0].mass}, **wrong)
    with pytest.raises(ProblemError, match="below rounding"):
        parameter_intervals(problem, {"m1": problem.variables[0].mass}, tolerance=1e-30)


def test_the_numbers_of_an_interval():
    entry = ParameterInterval("x", 1.0, 3.0, 1.25, 2.9, (-4.0, 6.0), np.zeros(1), np.zeros(1))
    assert entry.width == 2.0 and entry.slack == pytest.approx(0.35) and entry.known == pytest.approx(0.8)
    assert replace(entry, attained_low=0.9, attained_high=3.1).slack == 0.0
    assert replace(entry, prior=(0.5, 1.5)).known == 0.0 and replace(entry, prior=(1.0, 3.0)).known == 0.0
    for prior in ((-np.inf, 6.0), (2.0, 2.0)):
        assert np.isnan(replace(entry, prior=prior).known)
    close = replace(entry, attained_low=1.0 + 1e-3, attained_high=3.0 - 3e-2)
    problem = nearest(BODY)
    assert Intervals((close, entry), problem, 0.0, 1.0, 0.0).certified(0.01) == 1
    assert Intervals((close, entry), problem, 0.0, 1.0, 0.0).certified(0.02) == 2
    assert Intervals((replace(entry, low=3.0, attained_low=3.0),), problem, 0.0, 1.0, 0.0).certified() == 1


def test_deviations_of_which_some_are_zero_are_those_of_the_others():
    problem = nearest(BODY)
    some = np.array([0.1] * 4 + [0.0] * 6)
    assert indistinguishable(problem, 1.0, sd=some) == pytest.approx(0.01 * chi2.ppf(0.95, 4))
    for wrong in (np.zeros(10), -some, np.full(10, np.nan)):
        with pytest.raises(ProblemError, match="10 non-negative numbers"):
            indistinguishable(problem, 1.0, sd=wrong)
    with pytest.raises(ProblemError, match="perfect fit"):
        indistinguishable(problem, 0.0)
    assert indistinguishable(problem, 2.0) == pytest.approx(2.0 / 10 * chi2.ppf(0.95, 10))
