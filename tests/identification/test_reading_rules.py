"""Rules by which a reading is taken, on readings whose residuals are given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.identification.diagnosis import _better_readings as better
from casid.identification.diagnosis import _consistent_readings as consistent
from casid.identification.diagnosis._readings import Readings, in_motion
from casid.measurement import Dataset

DOWN = np.array([0.0, 0.0, -9.81])


def axes(**values):
    """Gravity along +x, -x ... -z with these residuals; the others have 1."""
    made = []
    for k, letter in enumerate("xyz"):
        for sign, mark in ((1.0, "p"), (-1.0, "m")):
            g = np.zeros(3)
            g[k] = sign * 9.81
            made.append(("+-"[mark == "m"] + letter, g, values.get(mark + letter, 1.0)))
    return made


@pytest.mark.parametrize(
    ("here", "least", "asked"),
    [(0.5 * better.DOUBT, 1.0, False), (2 * better.DOUBT, 1.0, True), (0.5 * better.DOUBT, 0.96, True)],
)
def test_a_slanted_gravity_is_looked_for_where_the_fit_is_bad_or_an_axis_better(here, least, asked):
    calls = []
    readings = SimpleNamespace(
        axes=lambda: axes(px=least * here, **{"m" + c: here for c in "xyz"}, py=here, pz=here), gravity=DOWN,
        direction=lambda g: (calls.append(g), (g, here))[1],
    )  # fmt: skip
    better._gravity(readings, here)
    assert len(calls) == asked


def test_the_recorded_gravity_is_no_other_reading():
    readings = SimpleNamespace(axes=lambda: axes(mz=0.1), gravity=DOWN, direction=lambda g: (g, 1.0))
    assert better._gravity(readings, 1.0) == ([], 6)
    turned = SimpleNamespace(axes=lambda: axes(mx=0.1), gravity=DOWN, direction=lambda g: (g, 1.0))
    ((reading,), _) = better._gravity(turned, 1.0)
    assert reading.finding.values["direction"] == "-x" and reading.ratio == pytest.approx(0.1)


def test_a_zero_is_shifted_either_way():
    robot = SimpleNamespace(coordinates=[SimpleNamespace(name=name) for name in "abc"])
    made = [(1, 0.2, 0.99), (2, -0.3, 0.1)]
    readings = SimpleNamespace(shifted=lambda here, step: iter(made), model=SimpleNamespace(n=3, robot=robot))
    ((reading,), count) = better._zeros(readings, 1.0)
    assert count == 2 and reading.finding.joint == "c" and reading.finding.values["shift"] == -0.3
    assert reading.ratio == pytest.approx(0.1)
    made[1] = (2, 0.1 * better.LEAST_SHIFT, 0.1)
    assert better._zeros(readings, 1.0) == ([], 2)


def test_steps_and_readings_are_counted(monkeypatch):
    steps = []
    for name in ("_gravity", "_signs", "_orders", "_clocks", "_zeros"):
        monkeypatch.setattr(better, name, lambda samples, here: ([], 3))
    readings = SimpleNamespace(residual=lambda W: 1.0, regressor=lambda: None)
    readings.fewer = lambda dataset, count: readings
    found, tried = better.better_readings(readings, None, None, lambda done, total: steps.append((done, total)))
    assert (found, tried) == ([], 15) and steps == [(1, 4), (2, 4), (2, 4), (3, 4), (3, 4)]


def test_trials_are_under_the_gravity_of_the_model():
    slanted = (1.0, 2.0, -9.0)
    arm = Model(casid.load_robot("spatial_2r"), ("viscous",), slanted)
    trials = SimpleNamespace(_model=arm)
    np.testing.assert_array_equal(better.Trials._plain(trials).gravity_vector, slanted)
    np.testing.assert_array_equal(better.Trials._plain(trials, DOWN).gravity_vector, DOWN)


@pytest.mark.parametrize("best", [1, 2, 3])
def test_the_rival_of_the_best_consistent_fit_is_tried(monkeypatch, best):
    readings = ["first", "one", "two", "three"]
    totals = dict.fromkeys(readings, 1.0) | {readings[best]: 0.2}
    trials = SimpleNamespace(reading_of=lambda f: "first", readings=readings, better=lambda a, b: False)
    monkeypatch.setattr(
        consistent, "_reread", lambda reading, *rest: SimpleNamespace(solution=SimpleNamespace(total=totals[reading]))
    )
    monkeypatch.setattr(consistent, "consistently_better", lambda chosen, *rest: list(chosen))
    assert consistent.most_consistent(["finding"], trials, [], None, lambda fit: None) == [readings[best]]


def test_gravity_of_a_slanted_base_is_tried_the_other_way(monkeypatch):
    own, tried = np.array([6.0, 0.0, -7.7]), []
    readings = SimpleNamespace(
        gravity=own, regressor=lambda g=None: own if g is None else g, residual=lambda g: 1.0, axes=lambda: axes(px=0.9)
    )
    monkeypatch.setattr(consistent, "_with_gravity", lambda name, g, *rest: tried.append((name, g.tolist())) or [])
    assert consistent.other_gravity(readings, (), None, lambda fit: None) == ([], False)
    assert tried == [("-6,-0,7.7", (-own).tolist()), ("+x", [9.81, 0.0, 0.0])]


def fit(total, mass):
    return SimpleNamespace(
        solution=SimpleNamespace(total=total), standard_parameters=np.tile([0.0] * 9 + [mass / 2], 2), fit=None,
        model=SimpleNamespace(robot=None, terms=(), velocity_deadband=0.0),
    )  # fmt: skip


def test_gravity_of_lighter_links_states_both_masses(monkeypatch):
    monkeypatch.setattr(consistent, "Model", lambda *given: None)
    monkeypatch.setattr(consistent, "tried", lambda *given: "tried")
    feasible = fit(4.0, 20.0)
    for total, mass, proven in ((4.0, 3.0, False), (4.0 * (0.9 * consistent.PROVEN) ** 2, 30.0, True)):
        other = fit(total, mass)
        monkeypatch.setattr(consistent, "refitted", lambda *given, other=other: other)
        ((weight, finding, sure),) = consistent._with_gravity("+x", DOWN, (), feasible, None)
        assert (weight, sure) == (mass, proven) and finding.values["direction"] == "+x"
        assert (finding.values["turned_mass"], finding.values["mass"]) == (mass, 20.0)
        assert finding.values["reading"] == pytest.approx(100 * np.sqrt(total / 4.0))
        assert (finding.trial == "tried") == proven
    monkeypatch.setattr(consistent, "refitted", lambda *given: fit(4.0 * 1.5, 3.0))
    assert consistent._with_gravity("+x", DOWN, (), feasible, None) == []
    monkeypatch.setattr(consistent, "refitted", lambda *given: None)
    assert consistent._with_gravity("+x", DOWN, (), feasible, None) == []


class Sphere:
    """Readings whose residual is the angle between gravity and a direction."""

    def __init__(self, towards):
        self.towards = towards / np.linalg.norm(towards)

    def regressor(self, g):
        return g

    def residual(self, g):
        return float(np.arccos(np.clip(g @ self.towards / np.linalg.norm(g), -1, 1)))


def test_a_step_towards_gravity_turns_by_half_a_radian_at_most():
    for angle, reached in ((0.3, np.tan(0.3)), (1.2, 0.5)):
        sphere = Sphere(np.array([np.cos(angle), 0.0, np.sin(angle)]))
        found, left = Readings.direction(sphere, np.array([9.81, 0.0, 0.0]), rounds=1)
        turned = np.arctan2(found[2], found[0])
        expected = np.arctan(reached) if angle > 1 else np.arctan(angle)
        assert turned == pytest.approx(expected, abs=2e-3) and left == pytest.approx(angle - turned, abs=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "best"),
    [
        (1.2, 1.1, (1.44 - 1.21) / (2 * (1.44 + 1.21 - 2))),
        (0.9, 0.8, 0.0),
        (1.5, 0.99, 1.2699 / (2 * 1.2301)),
        (1.2, 0.8, 3.0),
    ],
)
def test_a_zero_goes_to_the_minimum_of_a_parabola(low, high, best):
    """Where it is one: three steps at most; a joint whose residuals fall to both sides stays."""
    joints = [SimpleNamespace(type=kind) for kind in ("revolute", "prismatic", "revolute")]
    values, q = iter([low, high, 0.7]), np.zeros((4, 3))
    asked = []
    readings = SimpleNamespace(model=SimpleNamespace(n=3, robot=SimpleNamespace(coordinates=joints)), q=q, gravity=DOWN)
    readings.regressor = lambda gravity: asked.append(readings.q[0].tolist())
    readings.residual = lambda W: next(values)
    ((k, shift, found),) = Readings.shifted(readings, 1.0, 0.02)
    assert k == 2 and shift == pytest.approx(0.02 * best) and found == 0.7 and readings.q is q
    np.testing.assert_allclose(asked, [[0, 0, -0.02], [0, 0, 0.02], [0, 0, 0.02 * best]])


def test_units_of_parameters_do_not_count_in_the_residual():
    rng = np.random.default_rng(0)
    W, tau = rng.normal(size=(50, 2, 3)), rng.normal(size=(50, 2))
    readings = SimpleNamespace(tau=tau, mask=np.ones((50, 2), dtype=bool))
    units = np.array([1.0, 1e-6, 1e5])
    assert Readings.residual(readings, W * units) == pytest.approx(Readings.residual(readings, W), rel=1e-6)
    assert Readings.residual(readings, W) < 0.999 * Readings.residual(readings, W[:, :, [0, 2]])


@pytest.mark.parametrize(("moving", "all_count"), [(40, True), (41, False)])
def test_ten_samples_a_joint_in_motion_are_enough(moving, all_count):
    dq = np.where(np.arange(100)[:, None] < moving, 1.0, 0.0) * np.ones((1, 4))
    data = Dataset(np.arange(100.0), np.zeros((100, 4)), np.zeros((100, 4)), dq, dq)
    assert in_motion(data).sum() == (100 if all_count else moving)
