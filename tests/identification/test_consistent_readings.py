"""Readings that consistent fits tell apart: another gravity, and what free parameters leave open."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.identification.diagnosis import Finding
from casid.identification.diagnosis import _consistent_readings as module
from casid.identification.diagnosis._better_readings import Reading
from casid.identification.diagnosis._consistent_readings import _left_by, other_gravity
from casid.identification.diagnosis._findings import Trial
from casid.identification.diagnosis._trial import HeldOutErrors
from casid.testing import arm as arm_of


@pytest.mark.claim("gravity the other way is named where consistent bodies prove it or are far lighter")
@pytest.mark.parametrize(
    ("ratio", "mass", "stated", "proven"),
    [(0.4, 2.0, True, True), (0.6, 0.8, True, False), (0.6, 0.95, False, False), (1.05, 0.4, True, False),
     (1.05, 0.6, False, False), (1.2, 0.4, False, False)],
)  # fmt: skip
def test_opposite_gravity_needs_a_better_fit_or_lighter_links(monkeypatch, ratio, mass, stated, proven):
    model = Model(arm_of(1))

    def fit(total, weight):
        return SimpleNamespace(
            model=model, fit=None, solution=SimpleNamespace(total=total), relative_error=1.0,
            standard_parameters=np.array([0.0] * 9 + [weight]),
        )  # fmt: skip

    trial = Trial("held-out error", 2.0, 1.0, 9.0)
    monkeypatch.setattr(module, "refitted", lambda *given: fit(ratio**2, mass))
    monkeypatch.setattr(module, "tried", lambda *given: trial)
    down = np.array([0.0, 0.0, -9.81])
    axes = [("-z", down, 1.0), ("+z", -down, 1.0), ("+x", np.array([9.81, 0.0, 0.0]), 1.3)]
    readings = SimpleNamespace(gravity=down, residual=lambda Y: 1.0, regressor=lambda: None, axes=lambda: axes)
    found, certain = module.other_gravity(readings, (), fit(1.0, 1.0), lambda fit: fit)
    assert (bool(found), certain) == (stated, proven)
    if found:  # where consistent bodies fit as well either way, the masses are the evidence
        assert found[0].trial.measure == ("held-out error" if ratio < 0.9 else "total mass")
    axes[1:] = [("+z", -down, 1.3), ("+x", np.array([9.81, 0.0, 0.0]), 1.0)]  # another axis is tried alike
    found, certain = module.other_gravity(readings, (), fit(1.0, 1.0), lambda fit: fit)
    assert (bool(found), certain) == (stated, proven) and all(f.values["direction"] == "+x" for f in found)
    axes[2] = ("+x", axes[2][1], 1.3)  # the torques alone tell the sign
    assert module.other_gravity(readings, (), fit(1.0, 1.0), lambda fit: fit) == ([], False)


@pytest.mark.claim("gravity goes before a fault of one joint that explains no more and needs heavier links")
@pytest.mark.parametrize(
    ("surely", "mass", "kind"), [(False, 5.0, "gravity"), (True, 5.0, "sign"), (False, 0.8, "sign")]
)
def test_one_fault_of_all_joints_goes_before_one_that_was_picked_among_many(monkeypatch, surely, mass, kind):
    sign = Finding(
        "reversed joint", joint="joint2", values={"what": "torque", "reading": 5.0, "recorded": 6.0},
        trial=Trial("held-out error", 2.0, 1.0, 9.0),
    )  # fmt: skip
    values = {"turned_mass": 1.0, "mass": 6.0, "reading": 80.0, "direction": "+z"}
    turned = Finding("gravity of lighter links", values=values)
    trials = SimpleNamespace(
        reading_of=lambda finding: SimpleNamespace(change=lambda data: data),
        better_than_gravity=lambda reading, gravity: surely,
    )
    other = SimpleNamespace(standard_parameters=np.array([0.0] * 9 + [mass]))
    monkeypatch.setattr(module, "refitted", lambda *given: other)
    feasible = SimpleNamespace(model=Model(arm_of(2)), fit=SimpleNamespace(data=SimpleNamespace(model=None)))
    (found,) = module.simplest([sign], [turned], trials, (), feasible, lambda fit: fit)
    assert found.kind == kind
    if kind == "gravity":
        assert "'joint2'" in found.text and "5 kg" in found.text  # the alternative is named


def reversed_joint(name, ratio):
    finding = Finding("reversed joint", joint=name, values={"what": "torque", "reading": 6.9, "recorded": 7.0})
    return Reading(ratio, finding, change=lambda data: name)


@pytest.fixture
def fits(monkeypatch):
    """Consistent fits by the reading: the square of the residual, and the errors of predicted stretches."""
    made = {"recorded": (1.0, 1.0), "j1": (0.9, 0.2), "j2": (0.5, 0.5), "j3": (0.4, 2.0)}
    spread = np.linspace(0.9, 1.1, 8)[:, None]

    def fit(name):
        return SimpleNamespace(
            solution=SimpleNamespace(total=made[name][0]), relative_error=10 * made[name][0],
            fit=SimpleNamespace(data=SimpleNamespace(model=Model(arm_of(1)))),
        )  # fmt: skip

    monkeypatch.setattr(module, "refitted", lambda again, model, datasets, _: fit(datasets[0]))
    monkeypatch.setattr(
        module, "_errors",
        lambda again, _, model, datasets: HeldOutErrors(made[datasets[0]][1] * spread, np.array([800.0])),
    )  # fmt: skip
    return SimpleNamespace(recorded=fit("recorded"), again=lambda fit: fit)


@pytest.mark.claim("a reading that free parameters do not tell is named where consistent bodies explain and predict it")
def test_consistent_bodies_tell_a_reading_that_free_parameters_do_not(fits):
    readings = [reversed_joint(name, 0.97) for name in ("j1", "j2", "j3")]
    (found,) = module.consistently_better(readings, ("recorded",), fits.recorded, fits.again)
    assert found.joint == "j2"  # j1 explains no more, j3 predicts worse
    assert found.trial.measure == "held-out error" and found.trial.after < found.trial.before
    assert "5 % of the torques unexplained, as recorded 10 %" in found.text
    assert module.consistently_better(readings[::2], ("recorded",), fits.recorded, fits.again) == []
    assert module.consistently_better(readings, ("recorded",), fits.recorded, None) == []


@pytest.mark.parametrize(("sure", "named"), [(False, "j2"), (True, "j1")])
def test_of_readings_that_are_predicted_alike_the_most_consistent_is_named(fits, sure, named):
    readings = tuple(reversed_joint(name, 0.8) for name in ("j1", "j2"))
    trials = SimpleNamespace(
        readings=readings, reading_of=lambda finding: readings[0], better=lambda reading, other: sure
    )
    first = [readings[0].finding]
    (found,) = module.most_consistent(first, trials, ("recorded",), fits.recorded, fits.again)
    assert found.joint == named
    assert module.most_consistent(first, trials, ("recorded",), fits.recorded, None) is first


DEAD = Finding("dead channel", "run", "j1", {"others": "j0", "index": 1.0})


def test_errors_that_are_left_count_only_of_held_out_parts():
    trial = Trial("held-out error", 8.0, 2.0, 5.0)
    assert _left_by([replace(DEAD, trial=trial), Finding("one way", "run", "j0")]) == 0.25
    assert _left_by([replace(DEAD, trial=trial._replace(measure="residual"))]) == 1.0 == _left_by([DEAD])


def gravity_readings(axes, gravity=(0.0, 0.0, -9.81), here=1.0, opposite=1.0):
    return SimpleNamespace(
        gravity=np.array(gravity), axes=lambda: axes, regressor=lambda g=None: g,
        residual=lambda Y: here if Y is None else opposite,
    )  # fmt: skip


def test_the_lightest_of_the_other_directions_of_gravity_is_named(monkeypatch):
    """The opposite one and the best across, up to a quarter more residual; a slanted base has its own opposite."""
    down, tried = np.array([0.0, 0.0, -9.81]), []

    def turned(name, g, *rest):
        tried.append((name, g.tolist()))
        return [(3.0 if name == "+z" else 2.0, Finding("gravity direction", values={"direction": name}), name == "+z")]

    monkeypatch.setattr(module, "_with_gravity", turned)
    x, y = np.array([9.81, 0, 0]), np.array([0, 9.81, 0])

    def found(up, across, other, gravity=down):
        tried.clear()
        axes = [("-z", down, 1.0), ("+z", -down, up), ("+x", x, across), ("+y", y, other)]
        return other_gravity(gravity_readings(axes, gravity, opposite=up), (), None, lambda fit: fit)

    (finding,), proven = found(1.24, 1.2, 1.24)
    assert finding.values["direction"] == "+x" and not proven and [name for name, _ in tried] == ["+z", "+x"]
    (finding,), proven = found(1.24, 1.3, 1.26)
    assert finding.values["direction"] == "+z" and proven and [name for name, _ in tried] == ["+z"]
    assert found(1.26, 1.26, 1.26) == ([], False) and tried == []
    slanted = np.array([0.0, 6.0, -7.76])
    found(1.2, 1.3, 1.3, slanted)
    assert tried == [("-0,-6,7.76", (-slanted).tolist()), ("-z", down.tolist())]
    assert other_gravity(gravity_readings([], (0.0, 0.0, 0.0)), (), None, lambda fit: fit) == ([], False)
    assert other_gravity(gravity_readings([]), (), None, None) == ([], False)
