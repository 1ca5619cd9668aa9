"""Pinocchio's answers beside casid's: a robot's model there, every dynamics function, the readers of URDF."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from casid.description import Robot, found, load_robot
from casid.dynamics import Model
from casid.inertia import express_in, link_slice, to_pinocchio
from casid.testing import NotMeasured, need

#: Takes a name, a value and the expected one.
Note = Callable[[str, object, np.ndarray], None]

#: URDF robots with full inertial values in installed packages: arms, torsos with a prismatic lift, branched trees.
URDFS = (
    "example-robot-data/robots/panda_description/urdf/panda.urdf",
    "example-robot-data/robots/ur_description/urdf/ur5_robot.urdf",
    "example-robot-data/robots/xarm_description/urdf/xarm7.urdf",
    "example-robot-data/robots/kinova_description/robots/kinova.urdf",
    "example-robot-data/robots/tiago_description/robots/tiago.urdf",
    "example-robot-data/robots/baxter_description/urdf/baxter.urdf",
    "example-robot-data/robots/talos_data/robots/talos_full_v2.urdf",
    "pybullet_data/kuka_iiwa/model.urdf",
)


def build(robot: Robot, parameters: np.ndarray) -> tuple[Any, Any]:
    """Pinocchio model and data of a casid robot with the given standard parameters (through Pinocchio's Python API)."""
    pin = need("pinocchio")
    model = pin.Model()
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    ids: dict[int, int] = {-1: 0}
    for k in depth_first(robot):
        joint = robot.joints[k]
        parent = ids[joint.parent]
        above = robot.joints[joint.parent].link_placement if joint.parent >= 0 else np.eye(4)
        make = pin.JointModelRevoluteUnaligned if joint.type == "revolute" else pin.JointModelPrismaticUnaligned
        ids[k] = model.addJoint(parent, make(np.array(joint.axis)), pin.SE3(above @ joint.placement), joint.name)
        in_joint = express_in(parameters[link_slice(k)], *_split(joint.link_placement))
        model.appendBodyToJoint(ids[k], pin.Inertia.FromDynamicParameters(to_pinocchio(in_joint)), pin.SE3.Identity())
    return model, model.createData()


def depth_first(robot: Robot) -> list[int]:
    """Joint indices branch by branch: Pinocchio's derivatives assume that a subtree's joints are numbered in a row."""
    order: list[int] = []

    def visit(parent: int) -> None:
        for k, joint in enumerate(robot.joints):
            if joint.parent == parent:
                order.append(k)
                visit(k)

    visit(-1)
    return order


def _split(placement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return placement[:3, :3], placement[:3, 3]


def parameter_map(robot: Robot) -> np.ndarray:
    """Matrix T (10 n x 10 n): Pinocchio's dynamic parameters, in its joint frames, from casid's, in the link frames."""
    T = np.zeros((10 * robot.n, 10 * robot.n))
    for k, joint in enumerate(robot.joints):
        for i, unit in enumerate(np.eye(10)):
            T[link_slice(k), 10 * k + i] = to_pinocchio(express_in(unit, *_split(joint.link_placement)))
    return T


def symmetric(upper: np.ndarray) -> np.ndarray:
    """From the upper triangle."""
    return np.asarray(np.triu(upper) + np.triu(upper, 1).T)


def relative_error(value: object, expected: np.ndarray, scale: float = 0.0) -> float:
    """Largest deviation over the largest magnitude of the expected array, or over ``scale`` where that is larger."""
    expected = np.asarray(expected, dtype=float)
    value = np.array(value, dtype=float).reshape(expected.shape)
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), scale, 1e-9))


def compare(robot: Robot, parameters: np.ndarray, seed: int = 0, states: int = 3) -> dict[str, float]:
    """Relative error of every dynamics function of `casid.Model` against Pinocchio, worst over random states."""
    pin = need("pinocchio")
    model = Model(robot)
    peer, data = build(robot, parameters)
    order = [peer.joints[peer.getJointId(joint.name)].idx_v for joint in robot.joints]
    to = np.argsort(order)  # Pinocchio's order from casid's
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = {}

    def note(name: str, value: object, expected: np.ndarray, scale: float = 0.0) -> None:
        worst[name] = max(worst.get(name, 0.0), relative_error(value, expected, scale))

    for _ in range(states):
        q, dq, ddq = rng.uniform(-2, 2, (3, robot.n))
        pq, pdq, pddq = q[to], dq[to], ddq[to]
        tau = pin.rnea(peer, data, pq, pdq, pddq).copy()
        note("inverse_dynamics", model.inverse_dynamics(q, dq, ddq, parameters), tau[order])
        wrenches = np.stack([data.f[peer.getJointId(j.name)].vector for j in robot.joints], axis=1)
        note("joint_wrenches", model.joint_wrenches(q, dq, ddq, parameters), wrenches)
        Y = pin.computeJointTorqueRegressor(peer, data, pq, pdq, pddq).reshape(robot.n, -1)[order]
        columns = np.concatenate([np.arange(10) + 10 * (peer.getJointId(j.name) - 1) for j in robot.joints])
        note("regressor", model.regressor(q, dq, ddq), Y[:, columns] @ parameter_map(robot))
        note("base_regressor", np.array(model.base_regressor(q, dq, ddq)) @ model.base.values(parameters), tau[order])
        M = symmetric(pin.crba(peer, data, pq))[np.ix_(order, order)]
        note("mass_matrix", model.mass_matrix(q, parameters), M)
        g = pin.computeGeneralizedGravity(peer, data, pq)[order]
        note("gravity", model.gravity(q, parameters), g)
        size = float(np.abs(tau).max())  # Coriolis torques may vanish altogether
        c = pin.nonLinearEffects(peer, data, pq, pdq)[order] - g
        note("coriolis", model.coriolis(q, dq, parameters), c, size)
        note("coriolis_matrix", np.array(model.coriolis_matrix(q, dq, parameters)) @ dq, c, size)
        rows, cols = np.tril_indices(robot.n)
        static = np.array(model.static_regressor(q)) @ parameters
        note("static_regressor", static, np.concatenate([M[rows, cols], g]))
        acceleration = pin.aba(peer, data, pq, pdq, tau)[order]
        note("forward_dynamics", model.forward_dynamics(q, dq, tau[order], parameters), acceleration)
        kinetic, potential = pin.computeKineticEnergy(peer, data, pq, pdq), pin.computePotentialEnergy(peer, data, pq)
        note("kinetic_energy", model.kinetic_energy(q, dq, parameters), np.array(kinetic))
        note("potential_energy", model.potential_energy(q, parameters), np.array(potential))
        derivatives = pin.computeRNEADerivatives(peer, data, pq, pdq, pddq)
        ours = model.derivatives("inverse_dynamics")(q=q, dq=dq, ddq=ddq, pi=parameters)
        for name, theirs in zip(("dtau_dq", "dtau_ddq", "dtau_dddq"), derivatives, strict=True):
            theirs = symmetric(theirs) if name == "dtau_dddq" else np.array(theirs)
            note(f"inverse_dynamics {name}", ours[name], theirs[np.ix_(order, order)], size)
        pin.computeABADerivatives(peer, data, pq, pdq, tau)
        ours = model.derivatives("forward_dynamics")(q=q, dq=dq, tau=tau[order], pi=parameters)
        minv = symmetric(data.Minv)
        for name, theirs in (("dddq_dq", data.ddq_dq), ("dddq_ddq", data.ddq_dv), ("dddq_dtau", minv)):
            note(f"forward_dynamics {name}", ours[name], np.array(theirs)[np.ix_(order, order)], size)
        _compare_kinematics(robot, model, peer, data, q, order, note)
    return worst


def _compare_kinematics(
    robot: Robot, model: Model, peer: Any, data: Any, q: np.ndarray, order: list[int], note: Note
) -> None:
    """Placements and Jacobians of all links at one posture."""
    pin = need("pinocchio")
    pin.computeJointJacobians(peer, data, q[np.argsort(order)])
    placements, jacobians = model.forward_kinematics(q), model.jacobian(q)
    if robot.n == 1:
        placements, jacobians = (placements,), (jacobians,)
    for k, joint in enumerate(robot.joints):
        at = peer.getJointId(joint.name)
        link = data.oMi[at] * pin.SE3(np.array(joint.link_placement))
        note("forward_kinematics", placements[k], link.homogeneous)
        J = pin.getJointJacobian(peer, data, at, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        J = J.reshape(6, -1)[:, order].copy()
        J[:3] += np.cross(J[3:].T, link.translation - data.oMi[at].translation).T
        note("jacobian", jacobians[k], J)


def mimicking_joints(path: Path) -> list[str]:
    """Names of a URDF's joints that mimic others."""
    joints = ElementTree.parse(path).getroot().iter("joint")
    return [joint.get("name", "") for joint in joints if joint.find("mimic") is not None]


def compare_urdf(path: Path, seed: int = 0) -> float:
    """Inverse dynamics of a URDF read by casid against the same file read by Pinocchio: relative error.

    Joints that mimic others are locked at zero on both sides.
    """
    pin = need("pinocchio")
    mimics = mimicking_joints(path)
    robot = load_robot(path, lock=mimics)
    peer = pin.buildModelFromUrdf(str(path))
    peer = pin.buildReducedModel(peer, [peer.getJointId(name) for name in mimics], pin.neutral(peer))
    peer.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    data = peer.createData()
    rng = np.random.default_rng(seed)
    worst = 0.0
    parameters = robot.standard_parameters()
    inverse_dynamics = Model(robot).inverse_dynamics
    for _ in range(3):
        q, dq, ddq = rng.uniform(-2, 2, (3, robot.n))
        pq, pdq, pddq = np.zeros(peer.nq), np.zeros(peer.nv), np.zeros(peer.nv)
        order = []
        for k, joint in enumerate(robot.joints):
            theirs = peer.joints[peer.getJointId(joint.name)]
            order.append(theirs.idx_v)
            pq[theirs.idx_q : theirs.idx_q + theirs.nq] = [q[k]] if theirs.nq == 1 else [np.cos(q[k]), np.sin(q[k])]
            pdq[theirs.idx_v], pddq[theirs.idx_v] = dq[k], ddq[k]
        tau = pin.rnea(peer, data, pq, pdq, pddq)[order]
        worst = max(worst, relative_error(inverse_dynamics(q, dq, ddq, parameters), tau))
    return worst


def installed_urdf(inside: str) -> Path:
    """A URDF in an installed package: ``example-robot-data/robots/...`` or ``pybullet_data/...``."""
    path = found(f"package://{inside}", None, ())
    if path is None:
        raise NotMeasured(f"needs {inside} of the packages example-robot-data and pybullet (pip install casid[peers])")
    return path
