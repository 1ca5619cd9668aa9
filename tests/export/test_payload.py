"""Payloads and infeasible links in exported code."""

from __future__ import annotations

import numpy as np

from casid.description import Robot
from casid.dynamics import Model
from casid.export._payload import with_payload
from casid.inertia import express_in, to_standard


def test_payload_is_a_body_at_the_flange(panda: Robot) -> None:
    model = Model(panda)
    pi = panda.standard_parameters()
    body = [1.5, 0.01, -0.02, 0.08, 0.01, 0.001, 0.002, 0.012, -0.001, 0.009]
    loaded = with_payload(model, pi, body, "flange")
    assert np.array_equal(loaded[:60], pi[:60])
    inertia = np.array([[0.01, 0.001, 0.002], [0.001, 0.012, -0.001], [0.002, -0.001, 0.009]])
    alone = express_in(to_standard(1.5, body[1:4], inertia), np.eye(3), [0, 0, 0.107])
    np.testing.assert_allclose(loaded[60:] - pi[60:], alone, rtol=1e-12, atol=1e-15)
