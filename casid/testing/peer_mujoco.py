"""casid's dynamics beside MuJoCo's, through an MJCF text written for the occasion."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.measure import need

from casid.description import Robot
from casid.testing.rigid_body import Body


def build(robot: Robot, bodies: list[Body]) -> tuple[Any, Any]:
    """MuJoCo model and data of a robot with the given bodies; joints keep casid's names."""
    mujoco = need("mujoco")

    def text(values: object) -> str:
        return " ".join(repr(float(v)) for v in np.ravel(np.asarray(values)))

    def frame(rotation: np.ndarray) -> str:
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
        return f'quat="{text(quaternion)}"'

    def subtree(parent: int) -> str:
        parts = []
        for k, joint in enumerate(robot.joints):
            if joint.parent != parent:
                continue
            above = robot.joints[parent].link_placement if parent >= 0 else np.eye(4)
            placement = above @ joint.placement
            body, link = bodies[k], joint.link_placement
            inertia = link[:3, :3] @ body.inertia @ link[:3, :3].T
            six = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
            kind = "hinge" if joint.type == "revolute" else "slide"
            parts.append(
                f'<body pos="{text(placement[:3, 3])}" {frame(placement[:3, :3])}>'
                f'<joint name="{joint.name}" type="{kind}" axis="{text(joint.axis)}"/>'
                f'<inertial pos="{text(link[:3, :3] @ body.com + link[:3, 3])}" mass="{body.mass!r}" '
                f'fullinertia="{text(six)}"/>{subtree(k)}</body>'
            )
        return "".join(parts)

    model = mujoco.MjModel.from_xml_string(
        '<mujoco><compiler angle="radian" autolimits="true"/>'
        f'<option gravity="{text(robot.gravity)}"/><worldbody>{subtree(-1)}</worldbody></mujoco>'
    )
    return model, mujoco.MjData(model)


def inverse_dynamics(
    robot: Robot, bodies: list[Body], q: np.ndarray, dq: np.ndarray, ddq: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Joint torques (n) and mass matrix (n x n) by MuJoCo, in casid's joint order."""
    mujoco = need("mujoco")
    model, data = build(robot, bodies)
    order = [model.jnt_dofadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, j.name)] for j in robot.joints]
    data.qpos[order], data.qvel[order], data.qacc[order] = q, dq, ddq
    mujoco.mj_inverse(model, data)
    M = np.zeros((robot.n, robot.n))
    unit = np.zeros(robot.n)
    for i in range(robot.n):
        unit[:] = np.eye(robot.n)[i]
        mujoco.mj_mulM(model, data, M[i], unit)
    return data.qfrc_inverse[order].copy(), M[np.ix_(order, order)]
