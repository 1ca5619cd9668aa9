"""Where the search for shapes of friction begins, which joints it takes, and columns that are not computed anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.dynamics.terms import JointFriction, friction_model
from casid.regression import lengths, torques
from casid.regression._rows import observation_blocks
from casid.regression.friction import _choice, fit_jointly
from casid.regression.friction._shape_fits import fit_shapes
from casid.testing import recording
from problems.spatial_2r import true_parameters


def test_a_search_that_begins_at_the_truth_ends_there():
    v = np.linspace(-1.0, 1.0, 101)

    def columns(theta):
        w = theta[0][0]
        return [np.tanh(v / w)[:, None]], [(-v / w**2 / np.cosh(v / w) ** 2)[:, None, None]]

    none, tau = [np.zeros((101, 0))], [3 * np.tanh(v / 0.2)]
    low, high = [np.array([0.1])], [np.array([1.0])]
    found = {
        start: fit_shapes(columns, none, tau, np.ones(1), [np.array([start])], low, high, "t") for start in (0.2, 0.9)
    }
    assert found[0.2].iterations <= 2 < found[0.9].iterations
    assert found[0.9].theta[0][0] == pytest.approx(0.2, rel=1e-6)


def test_a_joint_fit_takes_slow_joints():
    """Speeds of some hundredths of a radian a second are found as those of several are."""
    arm = Model("spatial_2r")
    data = recording(arm, true_parameters(), samples=300)
    slow = replace(data, dq=0.01 * data.dq, ddq=1e-4 * data.ddq)
    width = 0.1 * np.abs(slow.dq).max(axis=0)
    assert (np.abs(slow.dq).max(axis=0) < 1.0).all()
    rows = zip(slow.q, slow.dq, slow.ddq, strict=True)
    tau = np.array([arm.inverse_dynamics(*row, true_parameters()) for row in rows])
    found = fit_jointly(arm, replace(slow, tau=tau + 2.0 * np.tanh(slow.dq / width)), "smooth")
    np.testing.assert_allclose(found.shapes[:, 0], width, rtol=1e-3)


def test_columns_of_a_choice_are_those_of_links_and_friction():
    """Of each base column of the model with friction: the links' column of that name, or the joint's amplitude."""
    arm = Model("spatial_2r")
    joints = [JointFriction(friction_model("linear")), JointFriction(friction_model("smooth"), (0.1,))]
    full = arm.with_friction(_choice._friction(joints, ()))
    places = _choice._places(arm, full, joints)
    assert places is not None and len(places) == full.base.rank
    for name, (joint, place) in zip(full.base.names, places, strict=True):
        if joint is None:
            assert arm.base.names[place] == name
        else:
            assert f"{joints[joint].law.amplitudes[place].symbol}{joint + 1}" == name
    assert sum(joint is not None for joint, _ in places) == 6


def test_columns_of_zeros_are_not_scaled():
    np.testing.assert_array_equal(lengths(np.array([4.0, 0.0, 1e-300])), [2.0, 1.0, 1e-150])


def test_torques_of_laws_with_memory_are_those_of_the_regressor():
    arm = Model("spatial_2r").with_friction(_choice._friction([JointFriction(friction_model("dahl"), (0.05,))] * 2, ()))
    data = recording(Model("spatial_2r"), true_parameters(), samples=100)
    pi = np.random.default_rng(0).uniform(0.5, 1.0, len(arm.parameter_names))
    rows = np.concatenate([block for _, block in observation_blocks(arm, data)])
    assert arm.memories
    np.testing.assert_allclose(torques(arm, pi, data), rows @ arm.base.values(pi), rtol=1e-8, atol=1e-8)
