"""Velocity-based control of a frame's motion."""

from __future__ import annotations

import casadi as ca

from casid.simulation.controllers.task_space import TaskSpace


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
