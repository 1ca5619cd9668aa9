"""Controllers of a robot under test, as CasADi expressions of one control step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca


class Controller(ABC):
    """A discrete-time position controller; a new one is one subclass.

    Attributes
    ----------
    states : int
        Numbers that it remembers from one step to the next, for each joint.
    """

    states: int = 0

    @abstractmethod
    def step(self, reference: tuple[ca.SX, ca.SX, ca.SX], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Torques and the new memory.

        Parameters
        ----------
        reference
            Position, velocity, acceleration asked for, each (n).
        q, dq
            Position and velocity, (n).
        memory
            (n, states).
        """

    def initial(self, q: ca.SX) -> ca.SX:
        """Memory at rest in q, (n, states)."""
        return ca.repmat(q, 1, self.states)


@dataclass(frozen=True)
class ProportionalDerivative(Controller):
    """``tau = kp (q_ref - q) + kd (dq_ref - dq)``, joint by joint.

    Attributes
    ----------
    kp, kd : sequence of float
        [N.m/rad], [N.m.s/rad].
    """

    kp: Sequence[float]
    kd: Sequence[float]

    def step(self, reference: tuple[ca.SX, ca.SX, ca.SX], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Torques; it remembers nothing."""
        return ca.DM(list(self.kp)) * (reference[0] - q) + ca.DM(list(self.kd)) * (reference[1] - dq), memory


@dataclass(frozen=True)
class CascadedDrive(Controller):
    """A drive with position loop around a velocity loop whose velocity is a difference of averaged positions.

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
    """

    kp: float
    kv: float
    period: float
    limit: float
    gain: float
    states = 2

    def step(self, reference: tuple[ca.SX, ca.SX, ca.SX], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Torques; the last position and its average are remembered."""
        average = (q + memory[:, 0]) / 2
        velocity = (average - memory[:, 1]) / self.period
        u = self.kp * self.kv * (reference[0] - q) - self.kv * velocity
        return self.gain * ca.fmin(ca.fmax(u, -self.limit), self.limit), ca.horzcat(q, average)
