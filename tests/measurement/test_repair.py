"""Values that measure nothing are replaced by those around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from casid.measurement._repair import repaired
from tests.measurement.conftest import sine


def test_a_clean_recording_stays_itself():
    data = sine(rate=100.0)
    made, found = repaired(data)
    assert made is data and found == []


def test_a_spike_is_replaced_at_its_sample_alone():
    data = sine(rate=100.0)
    tau = np.array(data.tau)
    tau[300, 1] += 40.0
    made, found = repaired(replace(data, tau=tau))
    assert [(d.kind, d.joint, d.samples) for d in found] == [("spike", 1, 1)]
    np.testing.assert_allclose(made.tau, data.tau, atol=1e-3)
    np.testing.assert_array_equal(made.tau[:300], data.tau[:300])
    assert made.steps[-1] == "interpolated 1 samples with spikes"


def test_repeated_samples_are_interpolated_and_repeated_stamps_dropped():
    data = sine(rate=100.0)
    q, tau, t = np.array(data.q), np.array(data.tau), np.array(data.t)
    q[401:404], tau[401:404] = q[400], tau[400]
    made, found = repaired(replace(data, q=q, tau=tau))
    assert [d.kind for d in found] == ["repeats"] and made.steps[-1] == "interpolated 3 repeated samples"
    np.testing.assert_allclose(made.q, data.q, atol=1e-3)
    t[10] = t[9]
    made, _ = repaired(replace(data, t=t))
    assert len(made) == len(data) - 1 and "1 repeated time stamps" in made.steps[0]
