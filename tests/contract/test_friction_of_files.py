"""A friction law with its shape is part of the robot: every file holds it, every reader takes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import load_robot, write_robot
from casid.dynamics import Model
from casid.dynamics.terms import FRICTION_MODELS, Friction, JointFriction
from casid.errors import CasidError
from casid.identification import load_model
from casid.inertia import Parameters, write_parameters
from casid.simulation import ExactCoulomb, Plant
from casid.testing import random_robot

FILES = ("csv", "json", "toml", "urdf", "xml", "sdf")


def made(law: str) -> tuple[Model, Parameters]:
    """An arm with shifted link frames, a rotor everywhere, the law at two joints, linear friction, a deadband."""
    rng = np.random.default_rng(7)
    robot = random_robot(5, 3, chain=True, shifted_links=True)
    robot = robot.with_parameters(load_robot("ur10e").standard_parameters()[:30])
    own, linear = FRICTION_MODELS[law], JointFriction(FRICTION_MODELS["linear"])
    joints = [JointFriction(own, own.start(0.5 + k)) if k != 1 else linear for k in range(robot.n)]
    nominal = tuple((1.2 * robot.standard_parameters()).tolist()) if own.loaded else None
    model = Model(robot, ["rotor"], velocity_deadband=0.02).with_friction(Friction(tuple(joints), nominal))
    values = rng.uniform(0.1, 0.9, len(model.parameter_names))
    values[np.ravel(model.link_columns)] = 0.9 * robot.standard_parameters()
    return model, model.named(values)


def torques(model: Model, parameters: Parameters) -> np.ndarray:
    """At random states, among them slow ones and, for laws with a memory, random ones of it."""
    rng, found = np.random.default_rng(8), []
    for _ in range(12):
        q, dq, ddq = rng.normal(size=(3, model.n))
        states = {"memory": rng.uniform(-1, 1, sum(kept.size for _, kept in model.memories))} if model.memories else {}
        pi = model.parameters(parameters)
        found.append(model.inverse_dynamics(q=q, dq=0.05 * dq, ddq=ddq, pi=pi, **states)["tau"])
    return np.array(found)


@pytest.mark.claim("every file that holds a friction law holds its shape, and the body whose torque loads it")
@pytest.mark.parametrize("law", sorted(FRICTION_MODELS))
def test_every_file_gives_back_the_friction_of_every_law(law: str, tmp_path: Path) -> None:
    model, parameters = made(law)
    expected = torques(model, parameters)
    robot = model.robot.with_parameters(parameters)
    for ending in FILES:
        path = tmp_path / f"arm.{ending}"
        if ending in ("csv", "json"):
            again, values = load_model(write_parameters(path, parameters), model.robot)
            given = again.named(values)
        else:
            write_robot(robot, path)
            read = load_robot(path)
            again, given = Model.of_parameters(read, read.parameters), read.parameters
        np.testing.assert_allclose(torques(again, given), expected, rtol=0, atol=1e-11, err_msg=ending)


@pytest.mark.claim("a robot with any friction law that can be identified moves in a simulation")
@pytest.mark.parametrize("law", sorted(FRICTION_MODELS))
def test_every_law_is_simulated(law: str, tmp_path: Path) -> None:
    """By the plant, whose acceleration is that of the model's forward dynamics."""
    model, parameters = made(law)
    write_robot(model.robot.with_parameters(parameters), tmp_path / "arm.toml")
    plant = Plant.of(load_robot(tmp_path / "arm.toml"), ExactCoulomb())
    q, dq, tau = np.random.default_rng(9).normal(size=(3, plant.n))
    signs, moves = np.sign(plant.directions.T @ dq), np.eye(plant.n)
    rate = np.array(plant.rate(np.concatenate([q, dq, np.zeros(2)]), tau, signs, moves)[0]).ravel()
    expected = plant.model.forward_dynamics(q, dq, tau, plant.parameters)
    np.testing.assert_allclose(rate[plant.n : 2 * plant.n], expected, rtol=1e-9, atol=1e-9)


def ur10e_with(terms: str, folder: Path) -> Path:
    """A file of the UR10e with terms of its first joint."""
    path = folder / "arm.toml"
    write_robot(load_robot("ur10e"), path)
    before, link, after = path.read_text(encoding="utf-8").partition("[joint.link]")
    path.write_text(f"{before}terms = {{ {terms} }}\n\n{link}{after}", encoding="utf-8")
    return path


@pytest.mark.parametrize("law", ["stribeck", "loadstribeck"])
def test_a_law_that_was_read_is_its_formula(law: str, tmp_path: Path) -> None:
    """Numbers written by hand into a file, against numpy."""
    robot, rng = load_robot("ur10e"), np.random.default_rng(3)
    by_hand = {
        "stribeck": "fv = 0.3, fc = 2.0, fs = 1.5, fo = -0.2, stribeck = { width = 0.02, speed = 0.1 }",
        "loadstribeck": "fl = 0.1, fls = 0.05, loadstribeck = { speed = 0.1 }",
    }
    read = load_robot(ur10e_with(by_hand[law], tmp_path))
    model, plain = Model.of_parameters(read, read.parameters), Model(robot)
    for _ in range(5):
        q, dq, ddq = rng.normal(size=(3, robot.n)) * [[1], [0.1], [1]]
        rigid = np.array(plain.inverse_dynamics(q, dq, ddq, robot.standard_parameters())).ravel()
        v, fade = dq[0], np.exp(-((dq[0] / 0.1) ** 2))
        friction = {
            "stribeck": 0.3 * v + (2.0 + 1.5 * fade) * np.tanh(v / 0.02) - 0.2,
            "loadstribeck": (0.1 + 0.05 * fade) * abs(rigid[0]) * np.sign(v),
        }
        found = np.array(model.inverse_dynamics(q, dq, ddq, model.parameters(read.parameters))).ravel()
        np.testing.assert_allclose(found - rigid, [friction[law], *np.zeros(robot.n - 1)], atol=1e-12)


def test_the_load_of_a_locked_joint_is_carried(tmp_path: Path) -> None:
    """The torque that loads the free joints is that of all bodies behind them, locked ones included."""
    robot, rng = load_robot("panda"), np.random.default_rng(4)
    model = Model(robot, ["load_friction"])
    heavier = model.parameters(1.5 * robot.standard_parameters(), np.full(robot.n, 0.1))
    write_robot(robot.with_parameters(model.named(heavier)), tmp_path / "arm.urdf")
    read = load_robot(tmp_path / "arm.urdf", lock={"joint7": 0.6, "joint4": -1.0})
    again, free = Model.of_parameters(read, read.parameters), [0, 1, 2, 4, 5]
    for _ in range(5):
        q, dq, ddq = rng.normal(size=(3, robot.n))
        q[3], q[6], dq[[3, 6]], ddq[[3, 6]] = -1.0, 0.6, 0.0, 0.0
        expected = np.array(model.inverse_dynamics(q, dq, ddq, heavier)).ravel()[free]
        states = (q[free], dq[free], ddq[free])
        found = np.array(again.inverse_dynamics(*states, again.parameters(read.parameters))).ravel()
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ("fs = 0.1", "shape is missing: stribeck.width1, stribeck.speed1"),
        ("fs = 0.1, stribeck = { width = 0.1 }", "speed is missing"),
        ("fs = 0.1, stribeck = { width = 0.1, sped = 0.1 }", "sped"),
        ("fs = 0.1, stribeck = { width = 0, speed = 0.1 }", "'stribeck.width' must be positive"),
        ("fs = 0.1, stribeck = 0.1", "table"),
        ("fc = 0.1, smooth = { width = 0.1 }, stribeck = { width = 0.1, speed = 0.1 }", "one of them is too many"),
        ("fc = 0.1, sign = { deadband = nan }", "NaN"),
    ],
)
def test_a_shape_that_is_missing_or_wrong_is_named(terms: str, says: str, tmp_path: Path) -> None:
    path = ur10e_with(terms, tmp_path)
    with pytest.raises(CasidError, match=says):
        read = load_robot(path)
        Model.of_parameters(read, read.parameters)


def test_shapes_of_another_law_are_no_parameters_of_a_model() -> None:
    model, parameters = made("smooth")
    with pytest.raises(CasidError, match=r"'smooth\.width1'"):
        Model(model.robot, ["rotor", "viscous", "coulomb", "offset"], velocity_deadband=0.02).parameters(parameters)
    assert casid.Model.of_parameters(model.robot, parameters).shapes == model.shapes
