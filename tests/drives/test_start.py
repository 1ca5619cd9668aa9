"""The convex start: signs of physics, a proven gap, delays on a grid, gains that no known torque fixes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from casid.drives import FREE, FreeRuns, Servo, Unknown
from casid.drives._start import _Joint, _solve, _with_prior, convex_start
from casid.testing import broadband_commands, commanded_motion

TRUE = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.1, "bias": [0.02, -0.01], "delay": 0.03}
T = np.arange(500) * 0.02
KINDS = ("kp", "Ia", "fv", "fc")


@pytest.fixture(scope="module")
def data(arm):
    return commanded_motion(arm, Servo(**TRUE), T, broadband_commands(T, [0.2, -0.3], 0.7))


def values(runs, start):
    found = {}
    for p, value in zip(runs.parameters, start.theta, strict=True):
        found.setdefault(p.attribute, []).append(value)
    return found


def test_it_is_near_the_truth_and_its_gap_is_proven(arm, data):
    runs = FreeRuns(arm, Servo(), [data])
    start = convex_start(runs, 4.0)
    found = values(runs, start)
    assert start.gap < 1e-6 and start.ratios == () and start.cutoff == 4.0
    assert found["kp"] == pytest.approx(TRUE["kp"], rel=0.1)
    assert found["bias"] == pytest.approx(TRUE["bias"], abs=3e-3)
    assert found["delay"] == pytest.approx([0.03], abs=0.01)  # a cell of the grid


def test_known_values_stay_and_the_rest_is_found(arm, data):
    servo = Servo(**{**TRUE, "viscous": FREE, "bias": FREE})
    runs = FreeRuns(arm, servo, [data])
    found = values(runs, convex_start(runs, 4.0))
    assert set(found) == {"viscous", "bias"}
    assert found["viscous"] == pytest.approx([0.4, 0.4], abs=0.08)


def test_a_gain_that_no_torque_fixes_is_assumed(arm, data):
    floating = replace(arm, gravity=np.zeros(3)).with_parameters(1e-4 * arm.standard_parameters())
    runs = FreeRuns(floating, Servo(**{**TRUE, "kp": FREE, "viscous": FREE, "coulomb": FREE, "armature": FREE}), [data])
    assert convex_start(runs, 4.0).ratios == (0, 1)


def regression(truth, seed=0, noise=0.0, count=400):
    """Triangular factors of ``[columns | right side]``."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, len(truth)))
    b = A @ truth + noise * rng.normal(size=count)
    R = np.linalg.qr(np.column_stack([A, b]), mode="r")
    return A, b, _Joint(KINDS[: len(truth)], R, count)


@pytest.mark.parametrize("seed", range(5))
def test_signs_are_those_of_physics(seed):
    truth = np.array([0.1, 0.02, -0.05, 0.03])  # negative viscous friction is not physical
    A, b, joint = regression(truth, seed, 0.05)
    bounds = {(kind, 0): (1e-6, 1e6) for kind in KINDS}
    x, cost, gap, sure = _solve(joint, 0, 0, bounds)
    expected, norm = nnls(A, b)
    assert x == pytest.approx(expected, abs=1e-5) and cost == pytest.approx(norm**2, rel=1e-6)
    assert 0 <= gap < 1e-6 and sure == bool(expected[0] > 0.02)
    worse = {**bounds, ("kp", 0): (1e-6, 2.0)}  # a gain of at most 2: a compliance of at least one half
    assert _solve(joint, 0, 0, worse)[0][0] == pytest.approx(0.5) and not _solve(joint, 0, 0, worse)[3]


def test_too_few_samples_give_typical_values():
    _, _, joint = regression(np.array([0.1, 0.02, 0.05, 0.03]), count=20)
    x, _, _, sure = _solve(joint, 0, 0, {})
    assert not sure and x[0] == pytest.approx(0.1) and np.all(x > 0)  # of 10 N.m/rad


def test_a_prior_of_the_gain_is_one_more_equation():
    truth = np.array([0.1, 0.02, 0.05, 0.03])
    _, _, joint = regression(truth, noise=0.3)
    bounds = {(kind, 0): (1e-6, 1e6) for kind in KINDS}
    free = 1 / _solve(joint, 0, 0, bounds)[0][0]
    sure, vague = (1 / _solve(_with_prior(joint, Unknown(20.0, sd)), 0, 0, bounds)[0][0] for sd in (1e-3, 1e6))
    assert sure == pytest.approx(20.0, rel=1e-3) and vague == pytest.approx(free, rel=1e-3)
    assert _with_prior(joint, FREE) is joint


def test_the_assumed_gain_is_that_of_the_others_and_ratios_to_it_hold(arm, data):
    """A joint that no known torque moves takes the mean gain of the rest, or 10 N.m/rad where there is none."""
    light = np.array(arm.standard_parameters())
    floating = replace(arm, gravity=np.zeros(3)).with_parameters(1e-4 * light)
    moved = commanded_motion(floating, Servo(**TRUE), T, data.q_des)
    found = values(*(lambda runs: (runs, convex_start(runs, 4.0)))(FreeRuns(floating, Servo(), [moved])))
    assert found["kp"] == pytest.approx([10.0, 10.0], rel=1e-6)
    assert found["viscous"] == pytest.approx([0.4 * 10 / 12, 0.4 * 10 / 9], rel=0.15)
    light[10:] *= 1e-4  # the second joint's body
    mixed = replace(arm, gravity=np.array([0.0, 0.0, -9.81])).with_parameters(light)
    runs = FreeRuns(mixed, Servo(), [commanded_motion(mixed, Servo(**TRUE), T, data.q_des)])
    start = convex_start(runs, 4.0)
    assert start.ratios == (1,)
    assert values(runs, start)["kp"] == pytest.approx([12.0, values(runs, start)["kp"][0]], rel=0.1)


def test_the_weight_of_a_prior_is_that_of_the_residual():
    _, _, joint = regression(np.array([0.1]), noise=0.3)
    made, value, sd = _with_prior(joint, Unknown(20.0, 4.0)), 20.0, 4.0
    spread = np.sqrt(joint.R[1, 1] ** 2 * 20.0 / 400)  # of the errors, 20 samples counting as one
    assert abs(made.R[-1, 0]) == pytest.approx(spread * value**2 / sd) and made.count == joint.count
    assert made.R[-1, 1] == pytest.approx(made.R[-1, 0] / value)
