"""Delay between positions and torques."""

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import Checks, Choice, Constraints, identify
from casid.measurement import Dataset, Processing
from casid.regression import compress, estimate_delay, wls
from casid.testing._synthetic import motion

FRICTION = ("viscous", "coulomb", "offset")


@pytest.mark.parametrize("samples", [0.2, 8.0])
def test_a_delay_is_found_to_a_fraction_of_a_sample(samples):
    model = Model(casid.load_robot("kuka_iiwa"), FRICTION)
    truth = model.parameters(model.robot.standard_parameters(), np.tile([2.0, 3.0, 0.5], 7))
    t, q, dq, ddq = motion(7, 4000, 2)  # 400 Hz
    tau = evaluate_batch(model.inverse_dynamics, q, dq, ddq, truth)[:, :, 0]
    rng = np.random.default_rng(0)
    late = Processing(cutoff=None, delay=-samples * (t[1] - t[0]), trim=0.0, every=1).apply(Dataset(t, q, tau)).tau
    raw = Dataset(t, q + 1e-6 * rng.normal(size=q.shape), late + 0.05 * rng.normal(size=q.shape))
    data = Processing(cutoff=5.0).apply(raw)
    fit = wls(compress(model, data))
    found = estimate_delay(model, data, fit.weights)
    assert abs(found.samples - samples) < 0.1 and not found.at_limit
    assert found.seconds == pytest.approx(found.samples * (t[1] - t[0]), rel=1e-3)
    corrected = Processing(cutoff=5.0, delay=found.seconds).apply(raw)
    assert abs(estimate_delay(model, corrected, fit.weights).samples) < 0.05
    assert wls(compress(model, corrected)).relative_error < fit.relative_error
    with pytest.raises(DatasetError, match="a delay is estimated from filtered torques"):
        estimate_delay(model, replace(data, full=None), fit.weights)


@pytest.mark.claim("a delay is taken out on request")
def test_identify_takes_a_delay_out_and_says_so():
    robot = casid.load_robot("kuka_iiwa")
    model = Model(robot, FRICTION)
    truth = model.parameters(robot.standard_parameters(), np.tile([2.0, 3.0, 0.5], 7))
    t, q, dq, ddq = motion(7, 2000, 2)
    tau = evaluate_batch(model.inverse_dynamics, q, dq, ddq, truth)[:, :, 0]
    step = float(t[1] - t[0])
    late = Processing(cutoff=None, delay=-3.4 * step, trim=0.0, every=1).apply(Dataset(t, q, tau)).tau
    raw, quick = Dataset(t, q, late), {"checks": Checks(0, verdict=False), "choice": Choice(believable=False)}
    without = identify(robot, raw, processing=Processing(cutoff=5.0), **quick)
    auto = identify(robot, raw, processing=Processing(cutoff=5.0), delay="auto", **quick)
    given = identify(robot, raw, processing=Processing(cutoff=5.0), delay=3.4 * step, **quick)
    assert isinstance(auto.processing, Processing) and auto.processing.delay == pytest.approx(
        3.4 * step, abs=0.1 * step
    )
    assert any("torques lag" in note and "taken out" in note for note in auto.notes)
    assert auto.feasible.relative_error < 0.3 * without.feasible.relative_error
    assert given.feasible.relative_error == pytest.approx(auto.feasible.relative_error, rel=0.2)
    bounded = identify(
        robot,
        raw,
        processing=Processing(cutoff=5.0),
        constraints=Constraints(bounds={"m7": (0.5, 0.6), "fo1": (-1, 1)}),
        **quick,
    )
    assert 0.5 - 1e-7 <= bounded.feasible.link_parameters[6].mass <= 0.6 + 1e-7
