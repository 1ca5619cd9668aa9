"""Adaptive control: V decreases by exactly what is dissipated, natural estimates stay bodies."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.inertia import to_standard
from casid.motion import Sine
from casid.online import NaturalAdaptation, SlotineLi, simulate_adaptive


@pytest.fixture(scope="module")
def setting():
    model = Model(casid.load_robot("spatial_2r"))
    truth = np.tile(to_standard(3.0, [-0.3, 0.02, 0.05], np.diag([0.02, 0.05, 0.05])), 2)
    start = np.tile(to_standard(1.0, [-0.1, 0.0, 0.0], np.diag([0.002, 0.002, 0.002])), 2)
    reference = Sine(np.array([0.0, 0.3]), np.array([1.2, 1.0]), np.array([0.5, 0.8]), 100.0)
    return model, truth, start, reference


@pytest.mark.parametrize("law", [NaturalAdaptation(0.5), SlotineLi(0.2)], ids=lambda law: law.name)
def test_the_lyapunov_function_falls_by_what_is_dissipated(setting, law):
    model, truth, start, reference = setting
    run = simulate_adaptive(model, truth, start, law, reference, 6.0, q0=[0.2, 0.1])
    book = run.lyapunov + run.dissipated
    assert np.ptp(book) <= 1e-7 * book[0]
    assert (np.diff(run.lyapunov) <= 1e-9 * run.lyapunov[0]).all()
    late = np.abs(run.error[-1000:]).max()
    assert late < 0.5 * np.abs(run.error[:1000]).max()


def test_natural_estimates_stay_bodies_where_slotine_and_li_leave_them(setting):
    model, truth, start, reference = setting
    natural = simulate_adaptive(model, truth, start, NaturalAdaptation(0.5), reference, 4.0, q0=[0.5, 0.8])
    euclidean = simulate_adaptive(model, truth, start, SlotineLi(0.5), reference, 4.0, q0=[0.5, 0.8])
    assert (natural.smallest_eigenvalue > 0).all()
    assert euclidean.smallest_eigenvalue.min() < -1e-3


def test_bad_input(setting):
    model, truth, start, reference = setting
    for robot, pi, law, words in (
        (Model(model.robot, ("viscous",)), truth, SlotineLi(), "without joint terms"),
        (model, truth[:10], SlotineLi(), r"truth: expected shape \(20,\)"),
        (model, truth, SlotineLi(1e6), "not finite from"),
    ):
        with pytest.raises(DatasetError, match=words):
            simulate_adaptive(robot, pi, start, law, reference, 1.0, q0=[1.0, 1.0])


WRONG = {
    "q0": [[np.nan, 0.0], [0.0, 0.0, 0.0], "x"],
    "step": [0.0, -1e-3, np.nan, None],
    "duration": [0.0, np.nan, np.inf, 1e-4],
    "start": [-1.0, 0.0, "x"],
    "truth": [-1.0, np.nan],
    "K": [-1.0, [1.0, 2.0, 3.0]],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_settings_that_make_no_sense_are_refused(setting, name, value):
    model, truth, start, reference = setting
    own = {"truth": truth, "start": start, "duration": 0.1}
    if name in ("truth", "start") and not isinstance(value, str):
        value = value * own[name]
    with pytest.raises(DatasetError, match=name):
        simulate_adaptive(model, adaptation=SlotineLi(), reference=reference, **{**own, name: value})


@pytest.mark.parametrize("law", [NaturalAdaptation, SlotineLi])
@pytest.mark.parametrize("gain", [0.0, -1.0, np.nan, "x"])
def test_gains_of_adaptation_are_positive(law, gain):
    with pytest.raises(DatasetError, match="gain"):
        law(gain)
