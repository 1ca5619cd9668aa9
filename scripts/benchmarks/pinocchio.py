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


#: Name of a function of casid -> arguments of one state, and Pinocchio's results.
Answers = dict[str, tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]]


def places(robot: Robot, peer: Any) -> list[int]:
    """Place of each joint of casid in Pinocchio's vectors."""
    return [peer.joints[peer.getJointId(joint.name)].idx_v for joint in robot.joints]


def answers(robot: Robot, peer: Any, data: Any, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> Answers:
    """Pinocchio's dynamics at one state, in casid's order of joints and parameters."""
    pin, order = need("pinocchio"), places(robot, peer)
    both, to = np.ix_(order, order), np.argsort(order)  # Pinocchio's order from casid's
    at, pdq, pddq = (peer, data, q[to]), dq[to], ddq[to]
    tau = pin.rnea(*at, pdq, pddq).copy()
    columns = np.concatenate([np.arange(10) + 10 * (peer.getJointId(j.name) - 1) for j in robot.joints])
    Y = pin.computeJointTorqueRegressor(*at, pdq, pddq).reshape(robot.n, -1)[order]
    g, M = pin.computeGeneralizedGravity(*at)[order], symmetric(pin.crba(*at))[both]
    inverse = [np.array(part) for part in pin.computeRNEADerivatives(*at, pdq, pddq)]
    forward = [np.array(part) for part in pin.computeABADerivatives(*at, pdq, tau)]
    moved, pushed = (q, dq, ddq), (q, dq, tau[order])
    return {
        "inverse_dynamics": (moved, (tau[order],)),
        "gravity": ((q,), (g,)),
        "coriolis": ((q, dq), (pin.nonLinearEffects(*at, pdq)[order] - g,)),
        "mass_matrix": ((q,), (M,)),
        "inverse_mass_matrix": ((q,), (symmetric(pin.computeMinverse(*at))[both],)),
        "forward_dynamics": (pushed, (pin.aba(*at, pdq, tau)[order],)),
        "regressor": (moved, (Y[:, columns] @ parameter_map(robot),)),
        "inverse_dynamics_derivatives": (moved, tuple(D[both] for D in (*inverse[:2], symmetric(inverse[2])))),
        "forward_dynamics_derivatives": (pushed, tuple(D[both] for D in (*forward[:2], symmetric(forward[2])))),
        "kinetic_energy": ((q, dq), (np.array([pin.computeKineticEnergy(*at, pdq)]),)),
        "potential_energy": ((q,), (np.array([pin.computePotentialEnergy(*at)]),)),
    }


def compare(robot: Robot, parameters: np.ndarray, seed: int = 0, states: int = 3) -> dict[str, float]:
    """Relative error of every dynamics function of `casid.Model` against Pinocchio, worst over random states."""
    pin, model = need("pinocchio"), Model(robot)
    peer, data = build(robot, parameters)
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = {}

    def note(name: str, value: object, expected: np.ndarray, scale: float = 0.0) -> None:
        worst[name] = max(worst.get(name, 0.0), relative_error(value, expected, scale))

    for _ in range(states):
        q, dq, ddq = rng.uniform(-2, 2, (3, robot.n))
        known = answers(robot, peer, data, q, dq, ddq)
        tau, g, c, M = (known[name][1][0] for name in ("inverse_dynamics", "gravity", "coriolis", "mass_matrix"))
        size = float(np.abs(tau).max())  # Coriolis torques may vanish altogether
        for name, (state, results) in known.items():
            kind, derivative, _ = name.partition("_derivatives")
            if derivative:
                slopes = model.derivatives(kind)
                values = slopes(*state, parameters)
                for part, value, theirs in zip(slopes.name_out()[:3], values[:3], results, strict=True):  # no d/d pi
                    note(f"{kind} {part}", value, theirs, size)
            elif name != "inverse_mass_matrix":
                given = state if name == "regressor" else (*state, parameters)
                note(name, getattr(model, name)(*given), results[0], size if name == "coriolis" else 0.0)
        to = np.argsort(places(robot, peer))
        pin.rnea(peer, data, q[to], dq[to], ddq[to])
        wrenches = np.stack([data.f[peer.getJointId(j.name)].vector for j in robot.joints], axis=1)
        note("joint_wrenches", model.joint_wrenches(q, dq, ddq, parameters), wrenches)
        note("base_regressor", np.array(model.base_regressor(q, dq, ddq)) @ model.base.values(parameters), tau)
        note("coriolis_matrix", np.array(model.coriolis_matrix(q, dq, parameters)) @ dq, c, size)
        static = np.array(model.static_regressor(q)) @ parameters
        note("static_regressor", static, np.concatenate([M[np.tril_indices(robot.n)], g]))
        _compare_kinematics(robot, model, peer, data, q, note)
    return worst


def _compare_kinematics(robot: Robot, model: Model, peer: Any, data: Any, q: np.ndarray, note: Note) -> None:
    """Placements and Jacobians of all links at one posture."""
    pin, order = need("pinocchio"), places(robot, peer)
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


def compare_urdf(path: Path) -> float:
    """Inverse dynamics of a URDF read by casid against the same file read by Pinocchio: relative error.

    Joints that mimic others are locked at zero on both sides.
    """
    pin = need("pinocchio")
    mimics = mimicking_joints(path)
    robot = load_robot(path, lock=mimics)
    peer = pin.buildModelFromUrdf(str(path))
    peer = pin.buildReducedModel(peer, [peer.getJointId(name) for name in mimics], pin.neutral(peer))
    peer.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    data, rng = peer.createData(), np.random.default_rng(0)
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
