"""Robots that casid writes, with every friction law and with locked joints: who reads them, and with which torques."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Rows, need, scratch
from benchmarks.motion.formats import pinocchio_torques, torques_in_mujoco
from casid.arrays import Array
from casid.description import Robot, load_robot, write_robot
from casid.dynamics import Model
from casid.dynamics.terms import FRICTION_MODELS, Friction, JointFriction
from casid.inertia import Parameters
from casid.testing import random_body, random_robot, standard_parameters

row = Rows()

FORMATS = ("toml", "urdf", "xml", "sdf")
#: Largest deviation of a torque, over the largest torque.
BAR = 1e-9
SHIPPED = ("panda", "ur10e", "kuka_iiwa", "tx40", "wam7")
SEEDS = range(6)


@dataclass
class Tally:
    """What was read, what was refused and by how much torques differ."""

    read: int = 0
    refused: list[str] = field(default_factory=list)
    largest: float = 0.0

    def take(self, what: str, expected: Array, torques: Callable[..., Array], *given: Any) -> None:
        """Torques of one reader, one row a state."""
        try:
            found = torques(*given)
        except Exception as error:  # whatever a reader raises is a refusal
            self.refused.append(f"{what}: {type(error).__name__} {str(error).splitlines()[0][:80]}")
            return
        self.read += 1
        deviation = float(np.abs(found - expected).max() / np.abs(expected).max())
        if not deviation <= BAR:
            self.refused.append(f"{what}: torques differ by {deviation:.1e}")
        else:
            self.largest = max(self.largest, deviation)


def robots() -> Iterator[tuple[str, Robot]]:
    """Shipped robots with bodies, and random trees and chains with bodies and shifted link frames."""
    for name in SHIPPED:
        robot = load_robot(name)
        if all(link.inertial is not None for link in robot.links):
            yield name, robot
    for seed in SEEDS:
        rng, robot = np.random.default_rng(seed), random_robot(seed, 5, chain=seed % 2 == 0, shifted_links=seed > 2)
        yield f"random {seed}", robot.with_parameters(_bodies(rng, len(robot.joints)))


def _bodies(rng: np.random.Generator, count: int) -> Array:
    """Standard parameters of bodies that can exist, shape (10 count,)."""
    return standard_parameters([random_body(rng) for _ in range(count)])


def with_law(robot: Robot, law: str, seed: int) -> tuple[Model, Parameters]:
    """A model with the law at every second joint and other bodies than the robot's; its parameters."""
    rng, own = np.random.default_rng(seed), FRICTION_MODELS[law]
    linear = JointFriction(FRICTION_MODELS["linear"])
    joints = [JointFriction(own, own.start(rng.uniform(0.5, 3.0))) if k % 2 == 0 else linear for k in range(robot.n)]
    nominal = tuple(robot.standard_parameters().tolist()) if own.loaded else None
    model = Model(robot, ["rotor"]).with_friction(Friction(tuple(joints), nominal))
    values = rng.uniform(0.01, 0.5, len(model.parameter_names))
    values[np.ravel(model.link_columns)] = _bodies(rng, len(robot.joints))
    return model, model.named(values)


def torques(model: Model, parameters: Parameters, states: Array) -> Array:
    """Of a model at states (q, dq, ddq); laws with a memory at rest."""
    pi, f = model.parameters(parameters), model.inverse_dynamics
    memory = {"memory": 0.3} if "memory" in f.name_in() else {}
    return np.array([f(**{"q": q, "dq": dq, "ddq": ddq, "pi": pi, **memory})["tau"] for q, dq, ddq in states])


def _states(robot: Robot, count: int = 5) -> Array:
    q, dq, ddq = np.random.default_rng(1).uniform(-1.0, 1.0, (3, count, robot.n))
    return np.stack([q, 0.3 * dq, ddq], axis=1)


def _every_law(tally: Tally, name: str, robot: Robot, laws: tuple[str, ...], folder: Path) -> None:
    """Each law in each format, read again by casid: torques with friction."""
    states = _states(robot)
    for k, law in enumerate(laws):
        model, parameters = with_law(robot, law, k)
        expected, changed = torques(model, parameters, states), robot.with_parameters(parameters)
        for ending in FORMATS:
            path = folder / f"robot.{ending}"
            write_robot(changed, path)
            tally.take(f"casid: {name}, {law}, {ending}", expected, _with_friction, path, states)


def _with_friction(path: Path, states: Array) -> Array:
    robot = load_robot(path)
    return torques(Model.of_parameters(robot, robot.parameters), robot.parameters, states)


def _rigid(robot: Robot, states: Array) -> Array:
    """Of the links alone."""
    model, pi = Model(robot), robot.standard_parameters()
    return np.array([model.inverse_dynamics(*state, pi) for state in states])


def _moved(run: Callable[[Path, Robot, Array], Array], path: Path, whole: Robot, states: Array, joints: Any) -> Array:
    """A reader's torques of some joints."""
    return run(path, whole, states)[:, joints]


def _pybullet(path: Path, robot: Robot, states: Array) -> Array:
    bullet = need("pybullet")
    client = bullet.connect(bullet.DIRECT)
    try:
        body = bullet.loadURDF(str(path), useFixedBase=True, flags=bullet.URDF_USE_INERTIA_FROM_FILE)
        bullet.setGravity(*robot.gravity)
        known = [bullet.getJointInfo(body, k) for k in range(bullet.getNumJoints(body))]
        moving = [info[1].decode() for info in known if info[2] != bullet.JOINT_FIXED]
        order = [moving.index(joint.name) for joint in robot.coordinates]
        found = []
        for state in states:
            given = np.zeros((3, len(moving)))
            given[:, order] = state
            found.append(np.array(bullet.calculateInverseDynamics(body, *given.tolist()))[order])
    finally:
        bullet.disconnect(client)
    return np.array(found)


#: Readers by name, and the formats of files that each of them reads.
READERS: Mapping[str, tuple[Callable[[Path, Robot, Array], Array], tuple[str, ...]]] = {
    "MuJoCo": (torques_in_mujoco, ("urdf", "xml")),
    "Pinocchio": (pinocchio_torques, ("urdf", "xml")),
    "PyBullet": (_pybullet, ("urdf",)),
}


def _every_reader(tally: Tally, name: str, robot: Robot, folder: Path) -> None:
    """Robots of files with a locked joint and without: torques of the links by other programs and by casid."""
    write_robot(robot, folder / "given.urdf")
    for lock in ({}, {robot.coordinates[-1].name: 0.4}):
        for ending in FORMATS:
            source = folder / f"source.{ending}"
            write_robot(load_robot(folder / "given.urdf"), source)
            read = load_robot(source, lock=lock)
            rng = np.random.default_rng(2)
            lighter = 0.4 * _bodies(rng, len(read.joints)) + 0.6 * read.standard_parameters()
            lighter[-10:] = _bodies(rng, 1) / 20.0  # the link that carries the locked one: lighter than that alone
            changed, path = read.with_parameters(lighter), folder / f"changed.{ending}"
            write_robot(changed, path)
            own, whole = _states(read), load_robot(path)
            states = np.zeros((len(own), 3, whole.n))
            joints, all_joints = ([joint.name for joint in r.coordinates] for r in (read, whole))
            compared = [all_joints.index(joint) for joint in joints]
            states[:, :, compared] = own
            for joint, position in lock.items():
                states[:, 0, all_joints.index(joint)] = position
            expected = _rigid(changed, own)
            what = f"{name}, {ending}{', --lock' if lock else ''}"
            tally.take(f"casid: {what}", expected, _rigid, load_robot(path, lock=lock), own)
            for reader, (run, known) in READERS.items():
                if ending in known:
                    tally.take(f"{reader}: {what}", expected, _moved, run, path, whole, states, compared)


@row("first hour: written robots (TOML, URDF, MJCF, SDF; every friction law; --lock) read by casid and others",
     f"0 refused, torques within {BAR:g}", "refused", tuple(FRICTION_MODELS), 99,
     quick=(("stribeck", "smooth", "load", "dahl"), 2), left_out="most laws and robots")  # fmt: skip
def _measured(laws: tuple[str, ...], most: int) -> tuple[str, bool]:
    for module in ("mujoco", "pinocchio", "pybullet"):
        need(module)
    tally = Tally()
    with scratch() as name:
        for k, (label, robot) in enumerate(robots()):
            folder = name / str(k)
            folder.mkdir()
            _every_reader(tally, label, robot, folder)
            if k < most:
                _every_law(tally, label, robot, laws, folder)
    first = f": {'; '.join(tally.refused[:5])}" if tally.refused else ""
    return (
        f"{len(tally.refused)} of {tally.read + len(tally.refused)} refused or off{first}; torques within "
        f"{tally.largest:.1e}",
        not tally.refused and tally.read > 0,
    )
