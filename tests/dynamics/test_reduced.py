"""Reduced and base-parameter forms of a model: the same torques with fewer operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.codegen import operation_count
from casid.description import Frame, Robot
from casid.dynamics import Model, operational_space, reduced
from casid.dynamics.terms import JOINT_TERMS
from casid.export import PUBLISHED, count_robot
from casid.testing import random_robot, states
from tests.helpers import close


@pytest.mark.parametrize("name", casid.robot_names())
def test_reduced_and_base_forms_have_the_same_torques(name: str) -> None:
    terms = ("viscous", "coulomb", "offset", "rotor") if name in ("stanford", "panda", "spatial_2r") else ()
    model = Model(casid.load_robot(name), terms)
    pi = np.random.default_rng(2).normal(size=len(model.parameter_names))
    q, dq, ddq = states(model.n)
    tau = model.inverse_dynamics(q, dq, ddq, pi)
    small, based = reduced(model, pi), model.with_base_parameters()
    close(small.inverse_dynamics(q, dq, ddq), tau)
    close(based.inverse_dynamics(q, dq, ddq, model.base.values(pi)), tau)
    close(model.with_parameters(pi).inverse_dynamics(q, dq, ddq), tau)
    close(small.mass_matrix(q), model.mass_matrix(q, pi))
    close(small.coriolis(q, dq), model.coriolis(q, dq, pi))
    close(small.coriolis_matrix(q, dq), model.coriolis_matrix(q, dq, pi))
    close(small.gravity(q), model.gravity(q, pi))
    before, after = operation_count(model.inverse_dynamics), operation_count(small.inverse_dynamics)
    assert after.multiplications < before.multiplications
    assert after.additions < before.additions


@pytest.mark.slow
@pytest.mark.parametrize(
    "terms", [list(JOINT_TERMS), ["spring@joint2", "rotor@joint1"], ["motor_viscous", "motor_rotor", "coulomb"]]
)
def test_reduced_form_keeps_every_joint_term(panda: Robot, terms: list[str]) -> None:
    coupled = replace(panda, transmission=np.eye(7) + 0.2 * np.eye(7, k=1))
    model = Model(coupled, terms, velocity_deadband=0.1)
    pi = np.random.default_rng(4).normal(size=len(model.parameter_names))
    q, dq, ddq = states(7, 3)
    values = {"q": q, "dq": dq, "ddq": ddq, "pi": pi, "signal": np.arange(7.0)}
    small, based = reduced(model, pi), model.with_base_parameters()
    tau = model.inverse_dynamics.call([values[name] for name in model.inverse_dynamics.name_in()])[0]
    close(small.inverse_dynamics.call([values[name] for name in small.inverse_dynamics.name_in()])[0], tau)
    values["beta"] = model.base.values(pi)
    close(based.inverse_dynamics.call([values[name] for name in based.inverse_dynamics.name_in()])[0], tau)
    close(small.mass_matrix(q), model.mass_matrix(q, pi))


@pytest.mark.parametrize("seed", range(12))
def test_reduced_form_of_random_trees(seed: int) -> None:
    gravity, extra = ("input", [np.array([1.0, -3.0, 8.0])]) if seed % 4 == 0 else (None, [])
    model = Model(random_robot(seed, n=4 + seed % 3, shifted_links=seed % 2 == 1), ("rotor",), gravity)
    pi = np.random.default_rng(seed).normal(size=len(model.parameter_names))
    q, dq, ddq = states(model.n, seed)
    small = reduced(model, pi)
    close(small.inverse_dynamics(q, dq, ddq, *extra), model.inverse_dynamics(q, dq, ddq, pi, *extra), 1e-9)
    close(small.mass_matrix(q), model.mass_matrix(q, pi), 1e-9)


def test_operation_counts_beat_the_published_ones() -> None:
    for name, published in PUBLISHED.items():
        count = operation_count(Model(name, ("viscous", "coulomb")).with_base_parameters().inverse_dynamics)
        assert count.multiplications < 0.7 * published.multiplications
        assert count.additions < 0.7 * published.additions
    counts = dict(count_robot(Model(casid.load_robot("panda"))))
    assert counts["inverse dynamics, numbers"].multiplications <= 340
    assert counts["inverse dynamics, numbers"].additions <= 275


def test_the_operational_space_of_a_reduced_model_is_the_robot_s() -> None:
    """Its last link is turned about its axis: an offset of a joint that the kinematics must not see."""
    robot, tool = casid.load_robot("ur10e"), np.eye(4)
    tool[:3, 3] = [0.1, 0.2, 0.3]  # beside the axis of the last joint: the Jacobian depends on its position
    model = Model(replace(robot, frames=(*robot.frames, Frame("tool", 5, tool))))
    pi = np.asarray(model.robot.standard_parameters(), dtype=float)
    pi[list(model.link_columns[5])] += 0.01 * np.random.default_rng(2).uniform(0, 1, 10)
    small, frame = reduced(model, pi), "tool"
    assert small._parametrisation.offsets.any()
    q, dq, _ = states(6)
    expected = operational_space(model, frame)(q, dq, pi)
    for got, value in zip(operational_space(small, frame, model)(q, dq), expected, strict=True):
        close(got, value, 1e-7)
