"""Intervals and explanations: no member of the level set leaves them, ends are attained, gains are multipliers."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import ProblemError
from casid.inertia import to_standard
from casid.loads import load_intervals
from casid.report import report_of
from casid.retrieval import Constraint, com_box, explain, mass_bounds, parameter_intervals, solve, total_mass
from casid.retrieval.insight import ParameterInterval, what_if
from casid.retrieval.insight._explain import ActiveBound
from casid.retrieval.insight._intervals import _least_ratio, indistinguishable
from casid.testing import BODY
from tests.helpers import nearest


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
def test_report(panda, tmp_path):
    _, found = panda
    report = report_of(found)
    assert [table.row_count for table in report.tables()] == [70]
    files = report.write(tmp_path / "out")
    assert (tmp_path / "out" / "intervals.csv").read_text().count("\n") == 71
    assert {f.name for f in files} == {"intervals.csv", "intervals.png", "intervals.html"}


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
    x = problem.variables.x
    for quantities, message in (
        ({"q": x[0] * x[1]}, "neither linear"), ({"q": ca.SX(1.0)}, "does not depend"), ({"q": x[:2]}, "scalar"),
        ({"q": np.ones(70)}, "scalar"),
    ):  # fmt: skip
        with pytest.raises(ProblemError, match=message):
            parameter_intervals(problem, quantities, tolerance=1e-4)
    with pytest.raises(ProblemError, match="perfect fit"):
        parameter_intervals(casid.load_problem("spatial_2r"))


def test_deviations_of_which_some_are_zero_are_those_of_the_others():
    problem = nearest(BODY)
    some = np.array([0.1] * 4 + [0.0] * 6)
    assert indistinguishable(problem, 1.0, sd=some) == pytest.approx(0.01 * chi2.ppf(0.95, 4))
    for wrong in (np.zeros(10), -some, np.full(10, np.nan)):
        with pytest.raises(ProblemError, match="10 non-negative numbers"):
            indistinguishable(problem, 1.0, sd=wrong)
    for given, words in (({"sd": [1.0]}, "one a residual"), ({"confidence": 1.5}, "confidence")):
        with pytest.raises(ProblemError, match=words):
            indistinguishable(problem, 1.0, **given)
    with pytest.raises(ProblemError, match="perfect fit"):
        indistinguishable(problem, 0.0)
    assert indistinguishable(problem, 2.0) == pytest.approx(2.0 / 10 * chi2.ppf(0.95, 10))


def interval(name: str, low: float, high: float) -> ParameterInterval:
    return ParameterInterval(name, low, high, low + 0.1, high - 0.2, (0.0, 9.0), BODY, BODY)


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


def test_the_gain_of_a_bound_is_that_of_the_problem_with_it_relaxed() -> None:
    """``(m - 2)^2`` with ``m <= 1.5``: the slope is one; from 0.25 to 0.16 with a bound of 1.6."""
    heavy = to_standard(2.0, [0.0, 0.0, 0.0], 0.1 * np.eye(3))
    problem = nearest(heavy, lambda v: mass_bounds(v[0], 0.5, 1.5), bounded=False)
    found = solve(problem)
    (bound,) = explain(found).bounds
    assert bound.multiplier == pytest.approx(1.0, rel=1e-3) and bound.step == 0.1
    assert bound.gain == pytest.approx(0.09 / 0.25, rel=1e-5)
    assert str(bound) == "link1 mass <= 1.5 kg: relaxing it by 0.1 kg would improve the fit by 36 %"
    plain = ActiveBound("own <= 1", 0.5, "", np.nan, 1.0)
    assert str(plain) == "own <= 1: relaxing it by 1 would improve the objective by 0.5 (to first order)"


@pytest.mark.claim("Fieller's interval knows the correlation of first moment and mass")
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_the_centre_of_mass_takes_all_values_of_the_ellipsoid_and_no_other(correlation):
    rng = np.random.default_rng(0)
    covariance = np.eye(10) * 1e-4
    covariance[6, 9] = covariance[9, 6] = correlation * 1e-4
    R = np.linalg.cholesky(np.linalg.inv(covariance)).T
    x = np.array([0.1] * 6 + [0.4, 0.1, -0.2, 1.0])
    tolerance = 4.0
    low, high = load_intervals(R, x, tolerance)["cx"]
    plane = np.linalg.solve(R, rng.normal(size=(10, 200_000)))
    plane *= np.sqrt(tolerance) / np.linalg.norm(R @ plane, axis=0)
    angle = np.linspace(0, 2 * np.pi, 20_000)
    block = np.linalg.cholesky(covariance[np.ix_([6, 9], [6, 9])])
    ring = np.sqrt(tolerance) * block @ np.array([np.cos(angle), np.sin(angle)])
    ratios = (x[6] + ring[0]) / (x[9] + ring[1])
    assert (low, high) == pytest.approx((ratios.min(), ratios.max()), rel=1e-6)
    inside = (x[6] + plane[6]) / (x[9] + plane[9])
    assert low - 1e-12 <= inside.min()
    assert inside.max() <= high + 1e-12


def test_explanation_predicts_the_effect_of_relaxing():
    problem = casid.load_problem("panda_retrieval")
    link = problem.variables[6]
    tight = problem.add(total_mass(problem.variables.links[4:], 1.0, 2.5, label="wrist"))
    solution = casid.solve(tight)
    wrist = next(b for b in explain(solution).bounds if b.text.startswith("wrist"))
    step = 1e-3
    looser = problem.add(total_mass(problem.variables.links[4:], 1.0, 2.5 + step, label="wrist"))
    gained = solution.objective - casid.solve(looser).objective
    assert gained == pytest.approx(wrist.multiplier * step, rel=0.02)
    narrow = replace(com_box(link, [-0.001, -0.05, 0.04], [0.001, 0.05, 0.15]), label="narrow")
    boxed = casid.solve(problem.add(narrow))
    bound = next(b for b in explain(boxed).bounds if b.text.startswith("narrow x <="))
    wider = replace(com_box(link, [-0.001, -0.05, 0.04], [0.00101, 0.05, 0.15]), label="narrow")
    other = casid.solve(problem.add(wider))
    assert boxed.objective - other.objective == pytest.approx(bound.multiplier * 1e-5, rel=0.05)
    text = str(explain(boxed))
    assert "narrow x <= 0.001 m" in text and "pseudo-inertia" in text


@pytest.mark.claim("interval ends are not passed by feasible points, saturating functions included")
def test_interval_ends_with_a_saturating_constraint() -> None:
    def build(v):
        return Constraint("soft limit", ca.tanh(40 * (0.12 - v[0].com[2])) + 0.5, lower=0.0)

    target = to_standard(2.0, [0.05, 0.0, 0.15], np.diag([0.03, 0.04, 0.02]))
    problem = nearest(target, build)
    found = parameter_intervals(
        problem, {"m": problem.variables[0].mass, "c": problem.variables[0].com[2]}, tolerance=0.05
    )
    rng = np.random.default_rng(0)
    best = solve(problem).x
    hits = 0
    for scale in np.repeat(np.logspace(-4, -1, 20), 60):
        x = best + scale * rng.normal(size=10)
        if (
            problem.hard_violation(problem.violations(x)) == 0
            and problem.objective(x) <= found.optimum + found.tolerance
        ):
            hits += 1
            assert found["m"].low - 1e-9 <= x[9] <= found["m"].high + 1e-9
            assert found["c"].low - 1e-9 <= x[8] / x[9] <= found["c"].high + 1e-9
    assert hits > 20


class UnprovenSearch:
    """A level set whose relaxations reach no certificate: every bound is lower than what is attained."""

    def __init__(self, missed: float, least: float) -> None:
        self.point = np.array([0.0] * 6 + [0.2, 0.0, 0.0, 2.0])
        self.missed, self.least = missed, least

    def minimum(self, form, ended=None):
        return float(form @ self.point) - self.missed, float(form @ self.point), self.point

    def least_mass(self, link):
        return self.least


@pytest.mark.claim("an end of a ratio interval that is not proven is not stated as proven")
@pytest.mark.parametrize(("missed", "least"), [(0.5, 0.1), (0.3, 1.0), (0.5, 0.0)])
def test_an_unproven_end_lies_beyond_the_attained_value(missed, least):
    form = np.eye(10)[6]
    proven, attained, _ = _least_ratio(UnprovenSearch(missed, least), form, 0)
    assert attained == pytest.approx(0.1)
    if least > 0:
        assert proven <= attained - missed / least + 1e-12
    else:
        assert proven == -np.inf


class ThoroughSearch(UnprovenSearch):
    """A level set of two points that are tried eight times, unless what is asked for is there before."""

    def minimum(self, form, ended=lambda bound, x: False):
        other = np.array([0.0] * 6 + [0.1, 0.0, 0.0, 2.0])
        best = min((self.point, other), key=lambda x: float(form @ x))
        bound = float(form @ best) - self.missed
        for _ in range(8):
            self.tried += 1
            if ended(bound, best):
                break
        return bound, float(form @ best), best

    tried = 0


@pytest.mark.claim("a search for an end of a ratio goes on only until it has what is asked for")
def test_a_search_ends_with_a_smaller_ratio_or_with_a_proof() -> None:
    search = ThoroughSearch(missed=5e-7, least=0.1)
    low, attained, point = _least_ratio(search, np.eye(10)[6], 0)
    assert attained == pytest.approx(0.05) and point[6] == 0.1
    assert low == pytest.approx(0.05 - 1e-5 * 0.05, abs=1e-12)  # the second step below it is proven
    assert search.tried == 1 + 8 + 8 + 1  # a smaller ratio, none, a step that is not proven, one that is
