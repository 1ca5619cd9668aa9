"""Compiled free runs of a robot under its servos, with the derivatives of all positions in the parameters.

Between samples positions and velocities leapfrog, v half a step before q, damping is centred, dry friction is exact::

    M(q) (v+ - v) / h + c(q, v) + g(q) + (fv + e kd) (v + v+) / 2 + fo + f = e kp (u - q) + d,     q+ = q + h v+
    f_j = fc_j sign(v+_j) where joint j slides, |f_j| <= fc_j where v+_j = 0

with ``fc_j + fl_j |c + g|_j + fs_j exp(-(v_j / vs_j)^2)`` in place of fc_j where friction depends on load or speed
(M with the armatures; u: delayed and offset command, its mean over the time from v to v+; e: 1 where the servo is on,
times its gain setting; d: a known torque). Of second order between changes of the friction's sign. The friction is a
linear complementarity problem with a positive definite matrix, solved by pivoting: it has one solution, continuous in
the parameters (Stewart and Trinkle 1996). With the modes of a step fixed, its derivative is that of the step itself, so
the sensitivities below are those of the computed motion, not of an ideal one. With F the difference of both sides, a
graph that CasADi differentiates (`casid.drives._law`; the links' torque in the joint's load at a constant
acceleration)::

    dF/dv+ Sv+ = -(dF/dv Sv + dF/dq Sq + dF/dw Sw + dF/dp),   Sq+ = Sq + h Sv+

Where a joint is elastic or has backlash its drive is a coordinate of its own (x, of inertia Ia, with all friction), and

    tau = dz(k (x - q) + d (x' - q'), k backlash / 2),    dz(y, b) = y - clip(y, -b, b)

drives the link (Nordin and Gutman 2002, the dead zone with damping; that of the viscoelastic torque, so that contact
never pulls and the torque is continuous). It is taken at the mean of v and v+ and at ``x + h (v+ - v) / 4``, the
trapezoidal rule, stable for every k; play without elasticity ends in contact without rebound, implicitly (Stewart and
Trinkle 1996). Both sides of the contact are modes like those of friction.

Friction with memory (LuGre, Canudas de Wit et al. 1995) has one more state of each drive, its bristles' torque w::

    w' = s0 (v - |v| w / fc),    f = w + s1 (1 - sign(v) w / fc) v

with fc as above. Its step is exact for a constant v, the torque is taken at the time of q by the trapezoidal rule,
linearly implicit, stable for every s0; at rest it begins as what holds the joint, else as sliding.

A servo's integral, ``w' = ki e (u - q)``, is one more torque of each drive. It begins as what holds the motion of the
first sample, friction at rest aside, stands still while the torque is limited, and is zero while the servo is off.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from threading import Lock
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.codegen import CFunction, Program, c_name, scalar_source
from casid.description import Robot
from casid.drives._law import DRIVE, RIGID, Case, Step, link_motion
from casid.drives._servo import KINDS, STIFF
from casid.errors import RobotError


class Column(NamedTuple):
    """A parameter whose derivatives are wanted: its kind and its joints (of the branch)."""

    kind: str
    joints: tuple[int, ...]


class Drive(NamedTuple):
    """What drives a piece of motion, one row an integration step.

    Attributes
    ----------
    h : ndarray, shape (steps,)
        Lengths of the steps [s].
    u, du : ndarray, shape (steps, n)
        Command as it acts and its derivative in the delay.
    on : ndarray, shape (steps, n)
        Factor of the gains: 0 where the servo is off.
    torque : ndarray, shape (steps, n)
        Known torque beside the servo's.
    emit : ndarray, shape (steps,)
        Whether a sample follows the step.
    clock : ndarray, shape (steps,)
        Time since the start of the machine [s].
    encoder : int
        `RIGID`, or where encoders are on joints with drives of their own: `LINK`, `DRIVE`.
    """

    h: Array
    u: Array
    du: Array
    on: Array
    torque: Array
    emit: NDArray[np.int64]
    clock: Array
    encoder: int = RIGID


def branches(robot: Robot) -> tuple[tuple[int, ...], ...]:
    """Coordinates that move each other: those of one chain or tree on the fixed base.

    Raises
    ------
    RobotError
        If joints follow others or motors act on several joints.
    """
    if robot.coupled or robot.transmission is not None:
        raise RobotError(
            f"robot '{robot.name}': joints that follow others or share motors are not simulated from commands; lock "
            "the followers (lock)"
        )
    root: list[int] = []
    for k, joint in enumerate(robot.joints):
        root.append(k if joint.parent < 0 else root[joint.parent])
    return tuple(tuple(k for k, r in enumerate(root) if r == first) for first in dict.fromkeys(root))


class Branch:
    """One tree of joints on the fixed base, ready to run.

    Parameters
    ----------
    robot
        With inertial values of all links.
    joints
        Coordinates of the branch, as from `branches`.
    """

    def __init__(self, robot: Robot, joints: Sequence[int]) -> None:
        self.robot, self.joints = robot, tuple(joints)
        self.n, self._lock = len(self.joints), Lock()
        self._steps: dict[Case, tuple[Step, ctypes._NamedFuncPointer]] = {}

    @cached_property
    def bodies(self) -> ca.Function:
        """Motion of the links, see `link_motion`."""
        return link_motion(self.robot, self.joints)

    def step(self, case: Case) -> tuple[Step, ctypes._NamedFuncPointer]:
        """Graphs of a step of that case, and the compiled loop."""
        with self._lock:
            if case not in self._steps:
                step = Step(self.bodies, case)
                words = {"N": step.N, "LINKS": self.n, "MEMORY": step.memory, "ENTRIES": step.places.shape[1]}
                words |= {f.name().upper(): c_name(f) for f in step.functions}
                template = "".join(f"#define {word} {value}\n" for word, value in words.items())
                template += (files(__package__) / "rollout.c").read_text(encoding="utf-8")

                def written(built: Sequence[CFunction]) -> str:
                    return scalar_source(list(built), "casid") + template

                program = Program(step.functions, written, "rollout", (template,))
                self._steps[case] = step, program.load().casid_rollout
            return self._steps[case]

    def run(
        self, drive: Drive, parameters: Array, start: Array, columns: Sequence[Column] = (), free: bool = False
    ) -> tuple[Array, Array]:
        """Positions at every sample, and their derivatives.

        Parameters
        ----------
        drive
            With arrays of this branch's joints.
        parameters
            Shape (n, kinds), see `KINDS`.
        start
            ``[q, v]`` at the first sample, shape (2 n,); with drives of their own also the position and speed of what
            no encoder shows beyond rest under the load, shape (4 n,).
        columns
            Parameters whose derivatives are wanted.
        free
            Whether derivatives in ``start`` are wanted too; they come last.

        Returns
        -------
        q : ndarray, shape (samples, n)
        S : ndarray, shape (samples, n, columns)
            Empty without columns.
        """
        n, P, count = self.n, len(columns) + (len(start) if free else 0), int(drive.emit.sum()) + 1
        value, asked = dict(zip(KINDS, parameters.T, strict=True)), {column.kind for column in columns}
        soft = value["bristle"] <= STIFF
        faded = bool((value["fs"] > 0).any() or value["warm"].any() or asked & {"fs", "warm"})
        wound = bool((value["ki"] > 0).any() or "ki" in asked)
        step, routine = self.step(Case(drive.encoder, faded, bool(soft.any()), wound))
        stride, size = -(-P // 8) * 8, 2 * step.N + step.memory
        y, modes = np.zeros(size), np.zeros((3, 2 * n))
        y[: len(start)] = start
        S, places = np.zeros((size + step.N + step.memory, stride)), np.empty((3, 0), dtype=np.int64)
        if P:
            joint, kind = np.divmod(np.arange(n * len(KINDS)), len(KINDS))
            acts = np.zeros((len(kind), len(columns)), dtype=bool)
            for place, one in enumerate(columns):
                acts[:, place] = (kind == KINDS.index(one.kind)) & np.isin(joint, one.joints)
            first = [one[:1].sum(axis=0) for one in (drive.u, drive.du, drive.on, drive.torque, drive.clock)]
            slopes = step.start_slopes(np.concatenate([y, parameters.ravel(), *first], axis=None)).full()
            S[:size, : len(columns)] = slopes[:, 2 * step.N :] @ acts
            if free:
                S[:size, len(columns) : P] = slopes[:, : 2 * step.N]
            rows, inputs = step.places
            entry, column = np.nonzero(acts[inputs])
            places = np.array([entry, rows[entry], column])
        q, shown = np.empty((count, n)), step.N - n if drive.encoder == DRIVE else 0
        J = np.empty((count, n, P))
        arrays = (
            drive.h, drive.u, drive.du, drive.on, drive.torque, drive.clock, drive.emit,
            np.ascontiguousarray(parameters, dtype=float), *places, y, *modes, q, J, S,
        )  # fmt: skip
        sizes = [ctypes.c_long(size) for size in (len(drive.h), P, stride, shown, places.shape[1])]
        routine(*sizes, *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        # of a motion that nothing predicts, such as that of contacts that rebound: rounding's root moves it by a radian
        if J.size and not max(float(J.max()), -float(J.min())) * np.sqrt(np.finfo(float).eps) < 1.0:
            J[:] = 0.0
        return q, J
