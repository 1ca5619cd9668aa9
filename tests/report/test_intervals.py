"""Verdicts on intervals: by the value and by the torque that the range makes."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.report import report_of
from casid.report._intervals import IntervalsSection, digits, intervals_figure, torque_shares, verdict
from casid.retrieval import parameter_intervals
from casid.retrieval.insight import ParameterInterval
from casid.testing import BODY
from tests.helpers import nearest, two_links


def interval(low: float, high: float, name: str = "m1", point: np.ndarray | None = None) -> ParameterInterval:
    point = np.zeros(1) if point is None else point
    return ParameterInterval(name, low, high, low, high, (-1e3, 1e3), point, point)


@pytest.mark.claim("no parameter whose sign is open, or that spans a factor of two, is called known")
@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.0, 1.05, "known"), (-1.05, -1.0, "known"), (1.0, 1.5, "roughly known"), (1.0, 2.1, "open"),
        (-1e-3, 1e-3, "open"), (0.0, 1e-6, "open"),
    ],
)  # fmt: skip
def test_a_verdict_is_relative_to_the_value(low: float, high: float, word: str) -> None:
    assert verdict(interval(low, high)) == word


def test_a_range_that_makes_no_torque_is_small_whatever_its_sign() -> None:
    assert verdict(interval(-1e-3, 1e-3), 0.005) == "small"
    assert verdict(interval(-1e-3, 1e-3), 0.05) == "open"
    assert verdict(interval(-1e-3, 100.0), 0.0) == "no effect"
    assert verdict(interval(1.0, 1.01), 0.5) == "known"


def test_shares_of_the_torque_are_those_of_the_regressor() -> None:
    """Twice the width makes twice the torque, a parameter without effect none."""
    robot = two_links()
    names, pi = tuple(robot.parameter_names()), robot.standard_parameters()
    entries = tuple(interval(value - 0.01, value + 0.01, name, pi) for name, value in zip(names, pi, strict=True))
    problem = SimpleNamespace(variables=SimpleNamespace(robot=robot, names=names))
    shares = torque_shares(SimpleNamespace(problem=problem, entries=entries))  # type: ignore[arg-type]
    model = casid.Model(robot)
    without = [name for name in names if name in model.base.unidentifiable]
    assert without and all(shares[name] == 0 for name in without)
    assert 0 < shares["lx2"] < 1 and 0 < shares["Lxy2"] < 1
    wider = tuple(interval(e.low - 0.01, e.high + 0.01, e.name, pi) for e in entries)
    doubled = torque_shares(SimpleNamespace(problem=problem, entries=wider))  # type: ignore[arg-type]
    assert doubled["lx2"] == pytest.approx(2 * shares["lx2"])


@pytest.fixture(scope="module")
def found():
    problem = nearest(BODY)
    return parameter_intervals(problem, {"m1": problem.variables.x[9]}, tolerance=1e-4)


def test_a_quantity_is_known_by_its_digits(found):
    entry = found["m1"]
    prior = entry.prior[1] - entry.prior[0]
    reference = prior if np.isfinite(prior) else max(abs(entry.attained_low), abs(entry.attained_high))
    assert digits(entry) == pytest.approx(np.log10(reference / entry.width))
    assert verdict(entry) in ("known", "roughly known")


def test_tables_files_and_picture(found, tmp_path):
    section = IntervalsSection(found)
    (table,) = section.tables()
    assert table.row_count == 1 and len(intervals_figure(found).axes) == 2
    written = {path.name for path in report_of(found).write(tmp_path / "out")}
    assert written == {"intervals.csv", "intervals.png", "intervals.html"}


def test_base_parameters_have_a_table_of_their_own_and_are_known() -> None:
    """Where torques leave every mass open, what they depend on is known; the picture shows single parameters."""
    problem = casid.load_problem("spatial_2r")
    x, base = problem.variables.x, casid.Model(problem.variables.robot).base
    sums = dict(zip(base.expressions, ca.vertsplit(ca.DM(base.K) @ x[: base.K.shape[1]]), strict=True))
    found = parameter_intervals(problem, {"m1": x[9]} | sums, tolerance=1e-4)
    table, own = IntervalsSection(found).tables()
    assert (
        own.row_count == base.rank and "known" in {*map(str, own.columns[4].cells)} and table.row_count < own.row_count
    )
    assert "<table>" in report_of(found).html()
