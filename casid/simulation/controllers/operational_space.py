"""Computed torque of a frame's motion."""

from __future__ import annotations

import casadi as ca

from casid.simulation.controllers.task_space import TaskSpace


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
