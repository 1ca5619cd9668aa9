"""The columns of many friction laws at a joint: shared ones once, as each law alone gives them, with their signs."""

from __future__ import annotations

import numpy as np
import pytest

from casid.dynamics.terms import JointFriction, friction_model
from casid.regression.friction._dictionary import Dictionary, friction_columns, loads_of


@pytest.fixture(scope="module")
def dictionary():
    laws = (JointFriction(friction_model("linear")), JointFriction(friction_model("stribeck"), (0.1, 2.0)))
    return Dictionary(0, laws)


def test_columns_that_laws_share_stand_once(dictionary):
    linear, stribeck = dictionary.places
    assert set(linear) & set(stribeck) == {linear[0], linear[2]}  # viscous and offset; the sign is smoothed in one
    assert dictionary.size == len(linear) + len(stribeck) - 2


def test_friction_may_not_drive_the_motion(dictionary):
    linear, _ = dictionary.signs(speed=2.0, load=10.0)
    ahead = np.array([1.0, 0.5, 0.0])
    amplitudes = [a.symbol for a in friction_model("linear").amplitudes]
    assert amplitudes[:2] == ["fv", "fc"]
    assert (linear @ ahead[: linear.shape[1]] >= 0).all()
    assert (linear @ -ahead[: linear.shape[1]]).min() < 0


def test_columns_along_a_recording_are_those_of_the_laws(model, noisy):
    laws = [Dictionary(k, (JointFriction(friction_model("linear")),)) for k in range(model.n)]
    columns = friction_columns(laws, noisy, np.zeros(noisy.q.shape))
    for k, found in enumerate(columns):
        viscous, coulomb = (laws[k].places[0][i] for i in (0, 1))
        np.testing.assert_allclose(found[:, viscous], noisy.dq[:, k])
        np.testing.assert_allclose(found[:, coulomb], np.sign(noisy.dq[:, k]))


def test_loads_are_the_torques_of_the_links_alone(model, truth, noisy):
    loads = loads_of(model, truth[: 10 * model.n], noisy)
    k = 17
    links = model.like(terms=())
    expected = links.inverse_dynamics(noisy.q[k], noisy.dq[k], noisy.ddq[k], truth[: 10 * model.n])
    np.testing.assert_allclose(loads[k], np.array(expected).ravel(), rtol=1e-12)
    assert not loads_of(model, None, noisy).any()


@pytest.mark.parametrize(("limit", "top"), [(0.0, 3.0), (2.0, 3.0), (2.5, 2.5), (np.inf, 3.0)])
def test_signs_are_those_of_the_law_at_all_speeds(limit, top):
    """Of ``v, sign(v), 1, |load| sign(v)``: the torque in either direction, what the load adds, each amplitude."""
    law = friction_model("linear+load")
    (found,) = Dictionary(0, [JointFriction(law)]).signs(2.0, 7.0, limit)
    speeds = [0.04, 0.2, 0.6, 1.2, 2.0, top]
    directed = [[v, 1.0, 0.0, u] for v in speeds for u in (0.0, 7.0)]
    heavier = [[0.0, 0.0, 0.0, 7.0]] * 6
    own = np.diag([top, 1.0, 0.0, 7.0])[[a.nonnegative for a in law.amplitudes]]
    np.testing.assert_allclose(found, np.vstack([directed, heavier, own]), atol=1e-12)
    slow = Dictionary(0, [JointFriction(law)]).signs(0.5, 7.0)[0]
    assert slow[:12:2, 0].tolist() == pytest.approx([0.01, 0.05, 0.15, 0.3, 0.5, 0.75])
    (bristles,) = Dictionary(0, [JointFriction(friction_model("dahl"), (0.01,))]).signs(2.0, 7.0, limit)
    np.testing.assert_allclose(bristles[:12], [[v, 1.0, 0.0] for v in speeds for _ in range(2)], atol=1e-12)


def test_small_velocities_have_no_sign(model, noisy):
    laws = [Dictionary(k, (JointFriction(friction_model("linear")),), deadband=0.4) for k in range(model.n)]
    columns = friction_columns(laws, noisy, np.zeros(noisy.q.shape))
    for k, found in enumerate(columns):
        v = noisy.dq[:, k]
        np.testing.assert_array_equal(found[:, laws[k].places[0][1]], np.where(np.abs(v) >= 0.4, np.sign(v), 0.0))


def test_states_of_several_laws_and_joints_stand_in_turn(model, noisy):
    """Two laws with memory at one joint, none at the next, one at a third."""
    names = [("dahl", "maxwell"), ("linear",), ("linear", "lugre"), *([("linear",)] * (model.n - 3))]
    joints = [[JointFriction(law, law.start(1.0)) for law in map(friction_model, own)] for own in names]
    dictionaries = [Dictionary(k, own) for k, own in enumerate(joints)]
    found = friction_columns(dictionaries, noisy, np.zeros(noisy.q.shape))
    for k, own in enumerate(joints):
        for joint, places in zip(own, dictionaries[k].places, strict=True):
            if joint.size:
                states = joint.states(noisy.q[:, k], noisy.period)
                np.testing.assert_allclose(found[k][:, places][:, 1 : 1 + joint.size], states, atol=1e-9)
