"""Samples that readings are compared on: what a wrong reading is told by is not drowned by the filters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.identification.diagnosis._readings import Readings, without_rest
from casid.measurement import Dataset, Processing
from casid.testing._synthetic import recording, with_friction

CUTOFF = 1.0


@pytest.mark.claim("friction's jumps pass the torques' filter where readings are compared")
def test_friction_that_jumps_is_explained_through_the_filter_of_the_torques():
    whole = casid.load_robot("kuka_iiwa")
    arm = replace(whole, joints=whole.joints[:3], limits=type(whole.limits).unlimited(3))
    model, parameters = with_friction(arm, (0.4, 30.0, -0.1))
    made = recording(model, parameters, samples=4000)
    raw = Dataset(made.t, made.q, made.tau)
    processed = Processing(cutoff=20.0, torque_cutoff=CUTOFF, trim=0.5).apply(raw)
    readings = Readings(model, processed)
    assert readings.residual(readings.regressor()) < 0.01
    whole_jumps = Readings(model, processed)
    whole_jumps._dry = []
    assert whole_jumps.residual(whole_jumps.regressor()) > 0.05
    order = [1, 0, 2]
    exchanged = readings.regressor(order=order)
    columns = {k: c for c, (term, k) in model.term_columns.items() if term.name == "coulomb"}
    for k, column in columns.items():
        assert (exchanged[:, k, column] == readings.sign[:, order[k]]).all()


@pytest.mark.claim("friction at rest decides nothing about a remedy; poses alone are kept")
def test_torques_at_rest_are_left_out_unless_there_are_no_others():
    model, parameters = with_friction(casid.load_robot("kuka_iiwa"))
    data = recording(model, parameters, samples=400)
    still = np.arange(400) >= 200
    rest = {name: np.where(still[:, None], 0.0, getattr(data, name)) for name in ("dq", "ddq")}
    assert (without_rest(replace(data, **rest)).mask == ~still[:, None]).all()
    assert without_rest(data) is data
    poses = replace(data, dq=0.0 * data.dq, ddq=0.0 * data.ddq)
    assert without_rest(poses) is poses
