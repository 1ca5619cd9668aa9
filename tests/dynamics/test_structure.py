"""Order of the parameters of a model, and what stands for them in its functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.dynamics.terms import Friction, JointFriction, friction_model
from casid.errors import DatasetError


def test_terms_stand_behind_the_ten_of_their_link():
    structure = Model("spatial_2r", ("viscous", "rotor"))
    assert structure.velocity_deadband == 0.0  # every sign counts unless a deadband is asked for
    assert structure.parameter_names[10:12] == ("fv1", "Ia1")
    assert not structure.motor_inertia and Model("spatial_2r", ("motor_rotor",)).motor_inertia


def test_models_alike_keep_gravity_and_deadband():
    model = Model(casid.load_robot("spatial_2r"), ("viscous",), "input", 0.01)
    alike = model.like(terms=("coulomb",))
    assert alike.gravity_vector is None and alike.velocity_deadband == 0.01
    assert [term.name for term in alike.terms] == ["coulomb"]


def test_terms_are_given_beside_the_links_or_within_all():
    model = Model("spatial_2r", ("viscous",))
    links, terms = np.arange(1.0, 21.0), np.array([0.5, 0.7])
    whole = model.parameters(links, terms)
    np.testing.assert_array_equal(model.parameters(whole), whole)
    assert model.parameters(links)[list(model.term_columns)].tolist() == [0.0, 0.0]
    assert whole[list(model.term_columns)].tolist() == [0.5, 0.7]
    with pytest.raises(DatasetError, match="expected 22 parameters"):
        model.parameters(whole, terms)  # given twice


def test_names_of_outputs_are_those_casadi_accepts():
    robot = casid.load_robot("spatial_2r")
    names = ("Gelenk_ä 1", "__")
    joints = tuple(replace(j, link=replace(j.link, name=n)) for j, n in zip(robot.joints, names, strict=True))
    outputs = Model(replace(robot, joints=joints, frames=())).forward_kinematics.name_out()
    assert outputs == ["T_Gelenk_1", "T_link"]


def test_friction_of_unlike_joints_is_dry_and_of_any_sign_where_one_of_them_is():
    robot = casid.load_robot("spatial_2r")
    for laws, dry, positive in ((("smooth", "linear"), True, True), (("polynomial", "smooth"), True, False),
                                (("smooth", "smooth"), False, True)):  # fmt: skip
        made = [friction_model(law) for law in laws]
        friction = Friction(tuple(JointFriction(law, law.start(1.0)) for law in made))
        term = next(t for t in Model(robot).with_friction(friction).terms if t.symbol == "fc")
        assert (term.dry, term.nonnegative) == (dry, positive)


def test_friction_of_the_load_takes_the_links_that_it_was_fitted_with():
    robot = casid.load_robot("panda")
    pi, law = robot.standard_parameters(), friction_model("load")
    q, dq, ddq = np.random.default_rng(2).normal(size=(3, 7))
    load = Model(robot).inverse_dynamics(q, dq, ddq, pi)
    for factor, nominal in ((1.0, None), (3.0, tuple(3.0 * pi))):
        model = Model(robot).with_friction(Friction((JointFriction(law),) * 7, nominal))
        values = model.parameters(pi, np.full(7, 0.1))
        tau = model.inverse_dynamics(q, dq, ddq, values)
        np.testing.assert_allclose(tau, load + 0.1 * factor * np.abs(load) * np.sign(dq), rtol=1e-10)


def test_memories_of_several_joints_stand_one_after_the_other():
    """The torque of each joint follows its own states, whatever those of the others are."""
    robot = casid.load_robot("spatial_2r")
    laws = [friction_model(name) for name in ("lugre", "dahl")]
    friction = Friction(tuple(JointFriction(law, law.start(1.0)) for law in laws))
    model = Model(robot, ("viscous@joint1",)).like(terms=()).with_friction(friction)
    assert [place for place, _ in model.memories] == [0, 1] and [kept.size for _, kept in model.memories] == [2, 1]
    pi = model.parameters(np.zeros(20), np.ones(len(model.term_columns)))
    pi[[c for c, (t, _) in model.term_columns.items() if t.symbol in ("fv", "fo")]] = 0.0
    z, still = np.array([0.1, 0.02, 0.3]), np.zeros(2)
    tau = model.inverse_dynamics(still, still, still, pi, z)
    np.testing.assert_allclose(tau, [z[:2].sum(), z[2:].sum()], atol=1e-12)


def test_terms_of_another_number_are_refused():
    model = Model("spatial_2r", ("viscous",))
    for terms in ([1.0], [1.0, 2.0, 3.0], 1.0):
        with pytest.raises(DatasetError, match=r"values of the joint terms: expected shape \(2,\)"):
            model.parameters(np.zeros(20), terms)
