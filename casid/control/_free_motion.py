"""Controllers of free motion: of the joints, and of a frame in operational space."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import Function
from casid.control._controller import Controller, Signal, gains
from casid.description import Robot
from casid.dynamics import Model, operational_space
from casid.errors import RobotError
from casid.motion import Motion


@dataclass(frozen=True, eq=False)
class ModelBased(Controller):
    """A controller with a model of the robot's dynamics, exact or not.

    Attributes
    ----------
    model : Model
        Joint terms (friction) in it are compensated by `FeedForward` and `ComputedTorque`.
    parameters : ndarray, shape (N,)
        Its parameters ``pi``; any standard parameters with the right base parameters.
    kp, kd : ndarray, shape (n,)
        Gains of the joints; a number stands for all joints.
    """

    model: Model
    parameters: Array
    kp: Array
    kd: Array

    def __post_init__(self) -> None:
        values = self.model.parameters(self.parameters)
        values.setflags(write=False)
        object.__setattr__(self, "parameters", values)
        object.__setattr__(self, "kp", gains(self.kp, self._gain_size, "kp"))
        object.__setattr__(self, "kd", gains(self.kd, self._gain_size, "kd"))

    @property
    def _gain_size(self) -> int:
        return self.n

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    @property
    def given(self) -> Model:
        """The model's functions with its parameters."""
        return self.model.with_parameters(self.parameters)


def nominal(robot: Robot, gravity: ArrayLike | None = None) -> tuple[Model, Array]:
    """Model and parameters of a robot's description, links only."""
    return Model(robot, (), gravity), np.asarray(robot.standard_parameters())


@dataclass(frozen=True, eq=False)
class PD(Controller):
    """PD control of the joints: tau = Kp (q_ref - q) + Kd (dq_ref - dq).

    Attributes
    ----------
    kp, kd : ndarray, shape (n,)
        Gains [N.m/rad] and [N.m.s/rad]; ``kd`` may be one number.
    """

    kp: Array
    kd: Array

    def __post_init__(self) -> None:
        n = int(np.size(self.kp))
        object.__setattr__(self, "kp", gains(self.kp, n, "kp"))
        object.__setattr__(self, "kd", gains(self.kd, n, "kd"))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kp)

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The errors times the gains."""
        return feedback(self.kp, self.kd, signals, q, dq)


def feedback(kp: Array, kd: Array, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
    """``Kp (q_ref - q) + Kd (dq_ref - dq)`` with diagonal gains."""
    return ca.DM(kp) * (signals[0] - q) + ca.DM(kd) * (signals[1] - dq)


class PDGravity(ModelBased):
    """PD control with gravity compensation: tau = g(q) + Kp (q_ref - q) + Kd (dq_ref - dq).

    Asymptotically stable at rest for any positive gains (Takegaki and Arimoto 1981; Siciliano et al. 2009, Sec. 8.5.1).
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The sum."""
        return ca.SX(self.given.gravity(q)) + feedback(self.kp, self.kd, signals, q, dq)


class FeedForward(ModelBased):
    """PD control with feed-forward: tau = ID(q_ref, dq_ref, ddq_ref) + Kp (q_ref - q) + Kd (dq_ref - dq).

    Inverse dynamics of the reference, joint terms of the model included (Siciliano et al. 2009, Sec. 8.5.2).
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The sum."""
        return ca.SX(self.given.inverse_dynamics(*signals)) + feedback(self.kp, self.kd, signals, q, dq)


class ComputedTorque(ModelBased):
    """Computed torque in joint space: tau = M(q) (ddq_ref + Kp e + Kd de) + c(q, dq) + g(q) + joint terms.

    Each joint becomes a double integrator under PD control (Sousa 2014, eq. 2.23-2.27). Joint terms are those of the
    controller's model; leave them out where their discontinuity does harm (Sousa 2014, Sec. 5.2). Gains in 1/s^2 and
    1/s.
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Inverse dynamics of the corrected acceleration."""
        return ca.SX(self.given.inverse_dynamics(q, dq, signals[2] + feedback(self.kp, self.kd, signals, q, dq)))


@dataclass(frozen=True)
class Passive(Controller):
    """Motors off: tau = 0."""

    joints: int

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.joints

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Zero."""
        return ca.SX.zeros(self.n)


@dataclass(frozen=True)
class CascadedDrive(Controller):
    """A drive with memory: a position loop around a velocity loop on differences of averaged positions.

    ``u = kp kv (q_ref - q) - kv (f_k - f_{k-1}) / period``, ``f_k = (q_k + q_{k-1}) / 2``, ``|u| <= limit``,
    ``tau = gain u`` (Janot et al. 2019, EMPS).

    Attributes
    ----------
    kp, kv : float
        [1/s], [V.s/m].
    period : float
        [s]
    limit : float
        Saturation of u [V].
    gain : float
        [N/V]
    joints : int
        Number of joints n; every joint has the same gains.
    """

    kp: float
    kv: float
    period: float
    limit: float
    gain: float
    joints: int = 1
    #: The last position and its average.
    states = 2

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.joints

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Torques, and the position and its average."""
        average = (q + memory[:, 0]) / 2
        velocity = (average - memory[:, 1]) / self.period
        u = self.kp * self.kv * (signals[0] - q) - self.kv * velocity
        return self.gain * ca.fmin(ca.fmax(u, -self.limit), self.limit), ca.horzcat(q, average)


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame's motion and the dynamics seen there, as expressions: see `operational_space`."""

    placement: ca.SX
    twist: ca.SX
    J: ca.SX
    dJdq: ca.SX
    Lambda: ca.SX


@dataclass(frozen=True, eq=False)
class TaskSpace(ModelBased):
    """A controller of the motion of a frame (linear, then angular; base axes), with a posture where joints are left.

    Attributes
    ----------
    frame : str
        Name of a link or frame.
    kp, kd : ndarray, shape (6,)
        Gains of the frame's error [1/s^2, 1/s]; a number stands for all directions.
    posture_kp, posture_kd : ndarray, shape (n,)
        Gains towards the reference positions and to rest, in the motions that leave the frame where it is.

    Notes
    -----
    Not in singular postures. Signals for exported code are the frame's placement, twist, acceleration, and the posture.
    """

    #: One gain for each direction of the frame's motion.
    _gain_size = 6

    frame: str = ""
    posture_kp: ArrayLike = 10.0
    posture_kd: ArrayLike = 6.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 6:
            raise RobotError(
                f"robot '{self.model.robot.name}' has {self.n} joints: control of a frame's whole motion needs six"
            )
        self.model.frame_placement(self.frame)  # RobotError for an unknown frame
        for name in ("posture_kp", "posture_kd"):
            object.__setattr__(self, name, gains(getattr(self, name), self.n, name))

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Placement, twist and acceleration of the frame, and the joints' posture."""
        return (
            Signal("T_ref", 4, 4, "reference placement of the frame in the base frame"),
            Signal("twist_ref", 6, words="linear and angular velocity of the frame, base axes [m/s, rad/s]"),
            Signal("twist_rate_ref", 6, words="linear and angular acceleration of the frame, base axes"),
            Signal("q_ref", self.n, words="posture towards which the remaining motion is drawn [rad, m]"),
        )

    def rows(self, motion: Motion) -> Array:
        """The frame's motion at a joint motion; DatasetError unless it has shape (N, n)."""
        motion.expect_joints(self.n, type(self).__name__)
        q, dq, ddq = (ca.SX.sym(name, self.n) for name in ("q", "dq", "ddq"))
        T = self.model.frame_placement(self.frame)(q)
        J = self.model.frame_jacobian(self.frame)(q)
        rate = ca.reshape(ca.jtimes(ca.vec(J), q, dq), 6, self.n)
        row = ca.vertcat(ca.vec(T), J @ dq, J @ ddq + rate @ dq, q)
        rows: Array = Function(ca.Function("rows", [q, dq, ddq], [ca.densify(row)]))(*motion)
        return rows

    def seen(self, q: ca.SX, dq: ca.SX) -> Frame:
        """The frame at a state."""
        links = Model(self.model.robot, (), self.model.gravity_vector)
        inertial = self.parameters[np.ravel(self.model.link_columns)]
        J, dJdq, Lambda, _, _ = operational_space(links, self.frame)(q, dq, inertial)
        return Frame(self.model.frame_placement(self.frame)(q), J @ dq, J, dJdq, Lambda)

    def error(self, T_ref: ca.SX, T: ca.SX) -> ca.SX:
        """Position error, and ``1/2 sum_i a_i x a_i,ref`` of the frames' axes (Luh et al. 1980), base axes."""
        turn = sum((ca.cross(T[:3, i], T_ref[:3, i]) / 2 for i in range(3)), ca.SX(3, 1))
        return ca.vertcat(T_ref[:3, 3] - T[:3, 3], turn)

    def torque(self, seen: Frame, q: ca.SX, dq: ca.SX, acceleration: ca.SX, q_ref: ca.SX) -> ca.SX:
        """Torque that gives the frame an acceleration, and the rest of the motion a pull towards the posture.

        ``tau = c + g + terms + J' Lambda (a - dJ/dt dq) + (M - J' Lambda J) a_0`` (Khatib 1987; Sousa 2014, eq.
        2.28-2.33): the motion by ``a_0`` does not accelerate the frame.
        """
        still = ca.SX(self.n, 1)
        pull = ca.DM(np.asarray(self.posture_kp)) * (q_ref - q) - ca.DM(np.asarray(self.posture_kd)) * dq
        force = seen.Lambda @ (acceleration - seen.dJdq - seen.J @ pull)
        bias = self.given.inverse_dynamics(q, dq, still)
        M = self.given.mass_matrix(q)
        return ca.SX(bias + seen.J.T @ force + M @ pull)


class OperationalSpace(TaskSpace):
    """Computed torque in operational space: the frame's error obeys e'' + Kd e' + Kp e = 0.

    ``a = a_ref + Kd (v_ref - v) + Kp e`` at the frame (Khatib 1987; Sousa 2014, eq. 2.31-2.34).
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Torque of the corrected acceleration."""
        T_ref, twist, rate, q_ref = signals
        seen = self.seen(q, dq)
        error = self.error(T_ref, seen.placement)
        acceleration = rate + ca.DM(self.kd) * (twist - seen.twist) + ca.DM(self.kp) * error
        return self.torque(seen, q, dq, acceleration, q_ref)


class VelocityOperationalSpace(TaskSpace):
    """Velocity-based operational-space control: a reference velocity that closes the error is tracked by torque.

    The frame is to move with ``v_r = v_ref + Kp e``, and ``a = d(v_r)/dt + Kd (v_r - v)`` tracks it, with
    ``de/dt = v_ref - v`` (Nakanishi et al. 2008, Sec. 3.2, without integration of joint velocities). Here Kp is in 1/s:
    the error decays at that rate and cannot overshoot.
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Torque of the acceleration that tracks the reference velocity."""
        T_ref, twist, rate, q_ref = signals
        seen = self.seen(q, dq)
        wanted = twist + ca.DM(self.kp) * self.error(T_ref, seen.placement)
        acceleration = rate + ca.DM(self.kp) * (twist - seen.twist) + ca.DM(self.kd) * (wanted - seen.twist)
        return self.torque(seen, q, dq, acceleration, q_ref)
