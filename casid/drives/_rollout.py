"""Compiled free runs of a robot under its servos, with the derivatives of all positions in the parameters.

Between samples positions and velocities leapfrog, v half a step before q, damping is centred, dry friction is exact::

    M(q) (v+ - v) / h + c(q, v) + g(q) + (fv + e kd) (v + v+) / 2 + fo + f = e kp (u - q) + d,     q+ = q + h v+
    f_j = fc_j sign(v+_j) where joint j slides, |f_j| <= fc_j where v+_j = 0

with ``fc_j + fl_j |c + g|_j + fs_j exp(-(v_j / vs_j)^2)`` in place of fc_j where friction depends on load or speed
(M with the armatures; u: delayed and offset command, its mean over the time from v to v+; e: 1 where the servo is on,
times its gain setting; d: a known torque). Of second order between changes of the friction's sign. The friction is a
linear complementarity problem with a positive definite matrix, solved by pivoting: it has one solution, continuous in
the parameters (Stewart and Trinkle 1996). With the modes of a step fixed, its derivative is that of the step itself, so
the sensitivities below are those of the computed motion, not of an ideal one. With F the difference of both sides, of
which CasADi gives the derivatives (those of the links' torque in the joint's load at a constant acceleration)::

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
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.codegen import CFunction, Program, c_name, scalar_source
from casid.description import Robot
from casid.drives._law import joint_law
from casid.drives._loop import LOOP
from casid.drives._servo import KINDS, STIFF
from casid.dynamics import Model
from casid.errors import RobotError

#: A parameter of this joint number acts at all joints.
ALL = -1
#: Joints are rigid, or elastic with encoders at the link or at the drive.
RIGID, LINK, DRIVE = 0, 1, 2


#: Derivatives beyond are those of a motion that nothing predicts, such as that of contacts that rebound; they are
#: of no use, and 0 is returned in their place.
_CHAOTIC = 1e7


@dataclass(frozen=True)
class Column:
    """A parameter whose derivatives are wanted: its kind and its joint (of the branch), or `ALL`."""

    kind: str
    joint: int


@dataclass(frozen=True, eq=False)
class Drive:
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


def tilted_gravity(gravity: Array, tilt: Array) -> Array:
    """Gravity in the frame of a base that is tilted by `Servo.tilt_x`, `Servo.tilt_y`, shape (3,)."""
    t = ca.SX.sym("t", 2)
    return np.asarray(ca.Function("gravity", [t], [_tilted(gravity, t)])(tilt)).ravel()


def _tilted(gravity: Array, tilt: ca.SX) -> ca.SX:
    """Gravity in the frame of a base that is tilted: ``|g| d / |d|`` with ``d = g + g x (t1 e1 + t2 e2)``.

    e1, e2: the two base axes least along gravity, made perpendicular to it; t: tangents of the angles.
    """
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return ca.SX(ca.DM(gravity))
    down = np.asarray(gravity, dtype=float) / size
    d = ca.SX(ca.DM(down))
    for place, k in enumerate(sorted(np.argsort(np.abs(down), kind="stable")[:2].tolist())):
        axis = np.eye(3)[k] - down[k] * down
        d += tilt[place] * ca.DM(np.cross(down, axis / np.linalg.norm(axis)))
    return size * d / ca.norm_2(d)


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
        self.n = len(self.joints)

    @cached_property
    def functions(self) -> tuple[ca.Function, ca.Function]:
        """``(q, v, s) -> M, b`` and ``(q, v, a, s) -> dID/dq, dID/dv, dID/ds``.

        s: factors of the links' bodies, then the tilt of the base by two angles (`_tilted`).
        """
        return self._functions(1)

    def _functions(self, copies: int) -> tuple[ca.Function, ca.Function]:
        """The same; with two copies of the coordinates the second ones, of the drives, have no bodies."""
        model, n = Model(self.robot, gravity="input"), self.n
        nominal = self.robot.standard_parameters().reshape(-1, 10)
        q, v, a = (ca.SX.sym(name, n * copies) for name in ("q", "v", "a"))
        s = ca.SX.sym("s", n + 2)
        gravity = _tilted(self.robot.gravity, s[n:])

        def whole(part: ca.SX) -> ca.SX:
            full = ca.SX(model.n, 1)
            full[list(self.joints)] = part[:n]
            return full

        pi = ca.SX(ca.DM(nominal.ravel()))
        for place, k in enumerate(self.joints):
            pi[10 * k : 10 * k + 10] = pi[10 * k : 10 * k + 10] * s[place]
        rows = list(self.joints)
        rest = ca.SX((copies - 1) * n, 1)
        torque = model.inverse_dynamics(whole(q), whole(v), whole(a), pi, gravity)[rows]
        torque = ca.vertcat(torque, rest)
        M = ca.diagcat(model.mass_matrix(whole(q), pi)[rows, rows], ca.SX((copies - 1) * n, (copies - 1) * n))
        still = ca.vertcat(model.inverse_dynamics(whole(q), whole(v), ca.SX(model.n, 1), pi, gravity)[rows], rest)
        slopes = [ca.densify(ca.jacobian(torque, x)) for x in (q, v, s)]
        first = ca.Function("motion", [q, v, s], [ca.densify(M), ca.densify(still)], {"cse": True})
        second = ca.Function("slopes", [q, v, a, s], slopes, {"cse": True})
        return first, second

    @cached_property
    def _rigid(self) -> ctypes._NamedFuncPointer:
        return self._routine(self.functions)

    @cached_property
    def _sprung(self) -> ctypes._NamedFuncPointer:
        return self._routine(self._functions(2))

    def _routine(self, functions: tuple[ca.Function, ca.Function]) -> ctypes._NamedFuncPointer:
        law = joint_law(functions[0].size1_in(0) > self.n)
        whole = (*functions, *law.functions)
        words = {"N": functions[0].size1_in(0), "LINKS": self.n, "INPUTS": self.n + 2, "STIFF": STIFF,
                 "KINDS": len(KINDS), **law.words, **{f.name().upper(): c_name(f) for f in whole},
                 **{kind.upper(): number for number, kind in enumerate(KINDS)}}  # fmt: skip
        template = "".join(f"#define {word} {value}\n" for word, value in words.items()) + LOOP

        def written(built: Sequence[CFunction]) -> str:
            return scalar_source(list(built), "casid") + template

        return Program(whole, written, "rollout", (template,)).load().casid_rollout

    def run(
        self, drive: Drive, parameters: Array, start: Array, columns: Sequence[Column] = (), free: bool = False
    ) -> tuple[Array, Array, Array]:
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
        end : ndarray, shape (2 n,)
            State after the last step.
        """
        n, P = self.n, len(columns) + (len(start) if free else 0)
        count = int(drive.emit.sum()) + 1
        q, S = np.empty((count, n)), np.empty((count, n, P))
        x = np.array(start, dtype=float)
        kinds = np.array([KINDS.index(c.kind) for c in columns], dtype=np.int64)
        joints = np.array([c.joint for c in columns], dtype=np.int64)
        routine = self._sprung if drive.encoder else self._rigid
        work = np.empty((14 if drive.encoder else 7) * n * (P + 8))
        arrays = (
            drive.h, drive.u, drive.du, drive.on, drive.torque, drive.clock, drive.emit,
            np.ascontiguousarray(parameters, dtype=float), kinds, joints, x, q, S, work,
        )  # fmt: skip
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        sizes = [
            ctypes.c_long(len(drive.h)),
            ctypes.c_long(len(columns)),
            ctypes.c_long(P),
            ctypes.c_long(drive.encoder),
        ]
        routine(*sizes, *pointers)
        if S.size and not max(float(S.max()), -float(S.min())) < _CHAOTIC:
            S[:] = 0.0
        return q, S, x
