"""Computed torque: linearisation by nonlinear feedback."""

from __future__ import annotations

import casadi as ca

from casid.simulation.controllers.model_based import ModelBased
from casid.simulation.controllers.pd import feedback


class ComputedTorque(ModelBased):
    """Computed torque in joint space: tau = M(q) (ddq_ref + Kp e + Kd de) + c(q, dq) + g(q) + joint terms.

    Each joint becomes a double integrator under PD control (Sousa 2014, eq. 2.23-2.27). Joint terms are those of the
    controller's model; leave them out where their discontinuity does harm (Sousa 2014, Sec. 5.2). Gains in 1/s^2 and
    1/s.
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Inverse dynamics of the corrected acceleration."""
        return self.given.inverse_dynamics(q, dq, signals[2] + feedback(self.kp, self.kd, signals, q, dq))
