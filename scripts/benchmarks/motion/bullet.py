"""PyBullet as an engine that runs robots from the files that casid writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.measure import need
from casid.arrays import Array
from casid.description import Robot
from casid.testing import Engine


def placed(values: Array, places: list[int]) -> Array:
    """Values of the robot's joints in an engine's order."""
    found = np.empty(len(values))
    found[places] = values
    return found


class Bullet(Engine):
    """A robot's URDF in PyBullet."""

    name, module = "PyBullet", "pybullet"

    def __init__(self, path: Path, robot: Robot) -> None:
        direct = need("pybullet").DIRECT
        self.bullet = need("pybullet_utils.bullet_client").BulletClient(direct)  # a connection of its own
        flags = self.bullet.URDF_USE_INERTIA_FROM_FILE | self.bullet.URDF_MAINTAIN_LINK_ORDER
        self.body = self.bullet.loadURDF(str(path), useFixedBase=True, flags=flags)
        self.bullet.setGravity(*robot.gravity.tolist())
        count = self.bullet.getNumJoints(self.body)
        names = [self.bullet.getJointInfo(self.body, i)[1].decode() for i in range(count)]
        self.order = [names.index(joint.name) for joint in robot.joints]
        moving = sorted(self.order)
        self.place = [moving.index(i) for i in self.order]  # among the engine's degrees of freedom
        frames = {frame.name for frame in robot.frames}
        for i in range(-1, count):
            info = self.bullet.getJointInfo(self.body, i) if i >= 0 else None
            if info is not None and info[12].decode() in frames:  # the engine gives links without inertia 1 kg
                self.bullet.changeDynamics(self.body, i, mass=0.0, localInertiaDiagonal=[0.0] * 3)
            self.bullet.changeDynamics(
                self.body, i, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0, maxJointVelocity=1e6,
                jointLowerLimit=-1e6, jointUpperLimit=1e6,
            )  # fmt: skip
        self.bullet.setJointMotorControlArray(
            self.body, self.order, self.bullet.VELOCITY_CONTROL, forces=[0.0] * robot.n
        )

    def close(self) -> None:
        """End the engine."""
        self.bullet.disconnect()

    def mass_matrix(self, q: Array) -> Array:
        """M (n x n)."""
        M = self.bullet.calculateMassMatrix(self.body, placed(q, self.place).tolist())
        return np.asarray(np.array(M)[np.ix_(self.place, self.place)])

    def bias(self, q: Array, dq: Array) -> Array:
        """``c + g`` (n)."""
        given = [placed(v, self.place).tolist() for v in (q, dq, 0 * q)]
        tau = self.bullet.calculateInverseDynamics(self.body, *given)
        return np.array(tau)[self.place]

    def acceleration(self, q: Array, dq: Array, tau: Array) -> Array:
        """Accelerations (n) under torques, from the velocities of one short step."""
        step = 1e-4
        self.start(q, dq, step)
        return (self.step(tau)[1] - dq) / step

    def start(self, q: Array, dq: Array, step: float) -> None:
        """Begin a simulation by the engine's semi-implicit method."""
        self.bullet.setTimeStep(step)
        for i, position, speed in zip(self.order, q.tolist(), dq.tolist(), strict=True):
            self.bullet.resetJointState(self.body, i, position, speed)

    def step(self, tau: Array) -> tuple[Array, Array]:
        """State after a step under held torques."""
        self.bullet.setJointMotorControlArray(self.body, self.order, self.bullet.TORQUE_CONTROL, forces=tau.tolist())
        self.bullet.stepSimulation()
        states = self.bullet.getJointStates(self.body, self.order)
        return np.array([s[0] for s in states]), np.array([s[1] for s in states])
