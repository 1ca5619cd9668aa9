"""Terms of friction beyond the plain law: taken where they lower the error held out, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.description import load_robot
from casid.drives import (
    FREE,
    CommandRecording,
    FreeRuns,
    Servo,
    SimulationOptions,
    Unknown,
    identify_from_commands,
)
from casid.drives._choice import DRIVEN, TERMS, usual_terms
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


def test_a_driven_axis_shows_friction_by_direction_and_a_drifting_offset(tmp_path):
    """Both are tried and taken where known forces alone drive the axis; a servo's joints are not asked for them."""
    path = tmp_path / "axis.urdf"
    path.write_text(
        '<robot name="axis"><link name="base"/><link name="car"><inertial><mass value="1e-6"/><inertia ixx="1e-9" '
        'ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link><joint name="x" type="prismatic"><parent '
        'link="base"/><child link="car"/><axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="99" velocity="9"/>'
        "</joint></robot>"
    )
    axis, t = load_robot(path), np.arange(1600) * 0.01
    zero = np.zeros((len(t), 1))
    force = 20.0 * broadband_commands(t, [0.0], 1.0, seed=3, highest=1.0)
    known = {"kp": 0.0, "bias": 0.0, "delay": 0.0}
    truth = {"armature": 20.0, "viscous": 30.0, "coulomb": 4.0, "offset": -0.5}
    odd = {"viscous_asymmetry": 6.0, "offset_drift": 0.02}
    for more in ({}, {"offset_drift": 0.02}, odd):
        data = CommandRecording(t, zero, zero, torque=force, name="pulses")
        runs = FreeRuns(axis, Servo(**known, **truth, **more), [data], 1e-3, np.inf, threads=1)
        q = runs.simulate(runs.point(np.zeros(0)))[0]
        noisy = q + 1e-5 * np.random.default_rng(0).standard_normal(q.shape)
        offset = 0.0 if more == odd else FREE  # both terms bring it where it is not asked for
        servo = Servo(**known, armature=Unknown(lower=1.0, upper=1e3), offset=offset)
        found = identify_from_commands(axis, [replace(data, q=noisy)], servo, SimulationOptions(step=2e-3))
        assert {e.attribute for e in found.estimates} & set(odd) == set(more)
        for name, value in more.items():
            assert found.table[name][0] == pytest.approx(value, rel=0.05)


def test_joints_that_a_servo_holds_are_not_asked_for_what_drifts(arm, data):
    assert usual_terms(FreeRuns(arm, Servo(), [data])) == tuple(term for term in TERMS if term not in DRIVEN)
