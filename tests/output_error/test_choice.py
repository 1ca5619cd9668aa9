"""Terms of friction beyond the plain law: taken where they lower the error held out, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.output_error import Servo, identify_from_commands
from casid.output_error._choice import TERMS
from casid.testing import broadband_commands, commanded_motion

TRUE = Servo(kp=[12.0, 9.0], armature=0.02, viscous=0.4, coulomb=0.1, bias=0.003, delay=0.01)
T = np.arange(400) * 0.02


def _motions(arm, servo):
    u = [broadband_commands(T, [0.5, -0.3], 0.7, seed=k) for k in range(4)]
    return [commanded_motion(arm, servo, T, x, noise=3e-4, seed=k, name=f"motion {k}") for k, x in enumerate(u)]


@pytest.mark.claim("load-dependent friction is taken where held-out motions prove it, without being asked for")
def test_load_friction_is_found_where_it_is_and_left_out_where_it_is_not(arm):
    loaded = identify_from_commands(arm, _motions(arm, replace(TRUE, load_friction=0.3)))
    values = [e for e in loaded.estimates if e.attribute == "load_friction"]
    assert len(values) == 2
    assert values[0].value == pytest.approx(0.3, rel=0.1)
    assert values[0].low <= 0.3 <= values[0].high
    plain = identify_from_commands(arm, _motions(arm, TRUE))
    assert not {a for term in TERMS.values() for a in term.attributes} & {e.attribute for e in plain.estimates}
    assert plain.error == pytest.approx(3e-4, rel=0.1)


@pytest.mark.claim("backlash, friction that warms up and friction with memory are found, and none is taken for another")
@pytest.mark.parametrize(
    ("changes", "judged", "tolerance"),
    [
        pytest.param({"backlash": 0.03}, "backlash", 0.05, marks=pytest.mark.slow),
        ({"warm_up": 0.6, "warm_time": 12.0}, "warm_up", 0.1),
        pytest.param(
            {"coulomb": 0.3, "bristle_stiffness": 15.0, "bristle_damping": 0.05},
            "bristle_stiffness",
            0.15,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_effects_are_found_where_they_are(arm, changes, judged, tolerance):
    weightless = replace(arm, gravity=np.zeros(3))
    u = [broadband_commands(T, [0.5, -0.3], 0.7, seed=k, highest=2.0) for k in range(4)]
    data = [
        commanded_motion(weightless, replace(TRUE, **changes), T + 8.0 * k, x, noise=3e-4, seed=k, name=f"motion {k}")
        for k, x in enumerate(u)
    ]
    found = identify_from_commands(weightless, data, Servo(kp=[12.0, 9.0]))
    assert {e.attribute for e in found.estimates} - {"armature", "viscous", "coulomb", "bias", "delay"} == set(
        changes
    ) - {"coulomb"}
    assert found.table[judged] == pytest.approx(changes[judged], rel=tolerance)
