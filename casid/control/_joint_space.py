"""Controllers of joint motions: proportional-derivative control, with and without a model, and a drive with memory."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.control._controller import Array, Controller, gains
from casid.description import Robot
from casid.dynamics import Model


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
        return self.given.gravity(q) + feedback(self.kp, self.kd, signals, q, dq)


class FeedForward(ModelBased):
    """PD control with feed-forward: tau = ID(q_ref, dq_ref, ddq_ref) + Kp (q_ref - q) + Kd (dq_ref - dq).

    Inverse dynamics of the reference, joint terms of the model included (Siciliano et al. 2009, Sec. 8.5.2).
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The sum."""
        return self.given.inverse_dynamics(*signals) + feedback(self.kp, self.kd, signals, q, dq)


class ComputedTorque(ModelBased):
    """Computed torque in joint space: tau = M(q) (ddq_ref + Kp e + Kd de) + c(q, dq) + g(q) + joint terms.

    Each joint becomes a double integrator under PD control (Sousa 2014, eq. 2.23-2.27). Joint terms are those of the
    controller's model; leave them out where their discontinuity does harm (Sousa 2014, Sec. 5.2). Gains in 1/s^2 and
    1/s.
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Inverse dynamics of the corrected acceleration."""
        return self.given.inverse_dynamics(q, dq, signals[2] + feedback(self.kp, self.kd, signals, q, dq))


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

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.joints

    @property
    def states(self) -> int:
        """The last position and its average."""
        return 2

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Torques, and the position and its average."""
        average = (q + memory[:, 0]) / 2
        velocity = (average - memory[:, 1]) / self.period
        u = self.kp * self.kv * (signals[0] - q) - self.kv * velocity
        return self.gain * ca.fmin(ca.fmax(u, -self.limit), self.limit), ca.horzcat(q, average)
