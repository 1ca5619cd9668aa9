"""Reduced and base-parameter forms of a model: the same torques with fewer operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.codegen import operation_count
from casid.description import Frame, Joint, Link, Robot
from casid.dynamics import Model, operational_space, reduced
from casid.dynamics.terms import JOINT_TERMS
from casid.export import PUBLISHED, count_robot
from casid.testing import close, random_robot, states


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
    model = Model(
        random_robot(seed, n=4 + seed % 3, shifted_links=seed % 2 == 1),
        ("rotor",),
        gravity="input" if seed % 4 == 0 else None,
    )
    pi = np.random.default_rng(seed).normal(size=len(model.parameter_names))
    extra = [np.array([1.0, -3.0, 8.0])] if seed % 4 == 0 else []
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


def _arm(*joints: tuple[str, list[float], list[float]]) -> Robot:
    """A chain: type, axis and offset of each joint."""
    made = []
    for k, (kind, axis, offset) in enumerate(joints):
        placement = np.eye(4)
        placement[:3, 3] = offset
        made.append(Joint(f"j{k}", kind, k - 1, Link(f"link{k}"), placement, axis=np.array(axis, dtype=float)))
    return Robot("arm", tuple(made), gravity=np.array([0.0, 0.0, -9.81]))


def test_the_frames_of_a_spherical_joint_slide_into_its_centre() -> None:
    """Wherever along its axis the second frame stands, the operations are those of frames in the centre."""
    centre, apart = (
        _arm(
            ("revolute", [0, 0, 1], [0, 0, 0.3]),
            ("revolute", [1, 0, 0], [away, 0, 0]),
            ("revolute", [0, 1, 0], [-away, 0, 0]),
            ("revolute", [1, 0, 0], [0, 0, 0.4]),
        )
        for away in (0.0, 0.2)
    )
    pi = np.random.default_rng(5).normal(size=40)
    q, dq, ddq = states(4)
    best, found = (reduced(Model(robot), pi).inverse_dynamics for robot in (centre, apart))
    assert operation_count(found) == operation_count(best)
    close(found(q, dq, ddq), Model(apart).inverse_dynamics(q, dq, ddq, pi))


@pytest.mark.parametrize(
    ("axis", "most"),
    [([0, 0, 1], 17), ([0, 0, -1], 17), ([1, 0, 0], 21), ([0.6, 0, 0.8], 36), ([0.48, 0.6, -0.64], 57)],
)
def test_axes_of_any_direction_turn_and_slide(axis: list[float], most: int) -> None:
    """Of a link that only slides the base parameters hold a mass alone: what its torques cost stays small."""
    model = Model(_arm(("revolute", axis, [0, 0, 0.1]), ("prismatic", axis[::-1], [0.2, 0.1, 0.3])))
    pi = np.random.default_rng(6).normal(size=20)
    small = reduced(model, pi).inverse_dynamics
    q, dq, ddq = states(2)
    close(small(q, dq, ddq), model.inverse_dynamics(q, dq, ddq, pi))
    assert operation_count(small).multiplications <= most


def test_masses_are_put_back_where_that_saves_operations_whatever_their_unit() -> None:
    model = Model(random_robot(1, n=4, chain=True))
    pi = np.random.default_rng(2).normal(size=40)
    counts = {operation_count(reduced(model, unit * pi).inverse_dynamics) for unit in (1e-3, 1.0, 1e3)}
    assert len(counts) == 1 and counts.pop().multiplications <= 284  # 286 with none put back


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
