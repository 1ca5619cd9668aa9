"""Physics engines that run robots from the files that casid writes: one adapter an engine."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from casid.arrays import Array
from casid.description import Robot, write_robot
from casid.testing._peers import need


class Engine(ABC):
    """Open-loop questions to an engine that has read a robot's file.

    Attributes
    ----------
    name, suffix : str
        Of the engine, and of the files that it reads.
    module, extra : str
        What it is imported from, and the extra that brings it.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    suffix: ClassVar[str] = ".urdf"
    extra: ClassVar[str] = "peers"

    @abstractmethod
    def __init__(self, path: Path, robot: Robot) -> None:
        """Read the file of a robot."""

    @abstractmethod
    def mass_matrix(self, q: Array) -> Array:
        """M (n x n)."""

    @abstractmethod
    def bias(self, q: Array, dq: Array) -> Array:
        """``c + g`` (n)."""

    @abstractmethod
    def acceleration(self, q: Array, dq: Array, tau: Array) -> Array:
        """Accelerations (n) under torques."""

    def close(self) -> None:  # noqa: B027  most engines hold no connection
        """End the engine."""


KindOf = TypeVar("KindOf", bound=Engine)


@contextmanager
def running(robot: Robot, kind: type[KindOf]) -> Iterator[KindOf]:
    """The robot in an engine, through the file that casid writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot{kind.suffix}"
        write_robot(robot, path)
        engine = kind(path, robot)
        try:
            yield engine
        finally:
            engine.close()


class MuJoCo(Engine):
    """A robot's MJCF in MuJoCo, contacts and joint limits off.

    Parameters
    ----------
    path
        The file, or a compiled ``mujoco.MjModel``.
    robot
        The robot that was written to it, or whose joints it has.
    """

    name, module, suffix = "MuJoCo", "mujoco", ".xml"

    def __init__(self, path: Path | Any, robot: Robot) -> None:
        self.mujoco = need("mujoco")
        self.model = self.mujoco.MjModel.from_xml_path(str(path)) if isinstance(path, Path) else path
        flags = self.mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
        self.data = self.mujoco.MjData(self.model)
        ids = [self.mujoco.mj_name2id(self.model, self.mujoco.mjtObj.mjOBJ_JOINT, j.name) for j in robot.joints]
        self.order = self.model.jnt_dofadr[ids]
        driven = self.model.actuator_trnid[:, 0].tolist()
        self.driving = [driven.index(one) for one in ids if one in driven]
        self.last = robot.joints[-1].link.name
        self.coupling, self.offset = robot.coupling()

    def at(self, q: Array, dq: Array) -> None:
        """Bring the engine to a state; joints that follow others are moved along."""
        self.data.qpos[self.order], self.data.qvel[self.order] = self.coupling @ q + self.offset, self.coupling @ dq

    def mass_matrix(self, q: Array) -> Array:
        """M (n x n)."""
        self.at(q, 0 * q)
        self.mujoco.mj_fwdPosition(self.model, self.data)
        n = len(q)
        M = np.zeros((n, n))
        for i in range(n):
            self.mujoco.mj_mulM(self.model, self.data, M[i], np.eye(n)[i])
        return np.asarray(M[np.ix_(self.order, self.order)])

    def bias(self, q: Array, dq: Array) -> Array:
        """``c + g`` (n)."""
        self.at(q, dq)
        self.mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qfrc_bias[self.order])

    def acceleration(self, q: Array, dq: Array, tau: Array) -> Array:
        """Accelerations (n) under torques."""
        self.at(q, dq)
        self.data.qfrc_applied[self.order] = tau
        self.mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qacc[self.order])

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Torques (n) of a motion."""
        self.at(q, dq)
        self.data.qacc[self.order] = self.coupling @ ddq
        self.mujoco.mj_inverse(self.model, self.data)
        return np.asarray(self.coupling.T @ self.data.qfrc_inverse[self.order])

    def without_joint_terms(self) -> None:
        """Leave the links alone: no friction, rotors, springs, constraints or surrounding medium."""
        flags = self.mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(flags.mjDSBL_CONSTRAINT) | int(flags.mjDSBL_SPRING)
        self.model.opt.density = self.model.opt.viscosity = 0.0
        self.model.dof_damping[:] = self.model.dof_armature[:] = self.model.dof_frictionloss[:] = 0
        self.mujoco.mj_setConst(self.model, self.data)  # of single sliding bodies MuJoCo keeps the inertia

    def frame_position(self, name: str) -> Array:
        """Position (3) of a named frame (a site) in the world, at the state of the last call."""
        return np.array(self.data.site(name).xpos)

    def start(self, q: Array, dq: Array, step: float) -> None:
        """Begin a simulation by the classical Runge-Kutta method."""
        self.mujoco.mj_resetData(self.model, self.data)
        self.model.opt.timestep = step
        self.model.opt.integrator = self.mujoco.mjtIntegrator.mjINT_RK4
        self.at(q, dq)

    def step(self, tau: Array) -> tuple[Array, Array]:
        """State after a step under held torques."""
        self.data.qfrc_applied[self.order] = tau
        self.mujoco.mj_step(self.model, self.data)
        return np.array(self.data.qpos[self.order]), np.array(self.data.qvel[self.order])

    def command(self, values: Array, step: float) -> Array:
        """Positions after a step [s] under commands to the file's actuators, one a coordinate."""
        self.model.opt.timestep = step
        self.data.ctrl[self.driving] = values
        self.mujoco.mj_step(self.model, self.data)
        return np.array(self.data.qpos[self.order])

    def answer(self, values: Array) -> dict[str, Array]:
        """Positions, velocities, accelerations and actuators' torques (n each) at this instant under commands."""
        self.data.ctrl[self.driving] = values
        self.mujoco.mj_forward(self.model, self.data)
        found = {"q": "qpos", "dq": "qvel", "ddq": "qacc", "tau": "qfrc_actuator"}
        return {key: np.array(getattr(self.data, name)[self.order]) for key, name in found.items()}
