"""PD control about torques computed ahead, from the reference alone."""

from __future__ import annotations

import casadi as ca

from casid.simulation.controllers.model_based import ModelBased
from casid.simulation.controllers.pd import feedback


class FeedForward(ModelBased):
    """PD control with feed-forward: tau = ID(q_ref, dq_ref, ddq_ref) + Kp (q_ref - q) + Kd (dq_ref - dq).

    Inverse dynamics of the reference, joint terms of the model included (Siciliano et al. 2009, Sec. 8.5.2).
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The sum."""
        return self.given.inverse_dynamics(*signals) + feedback(self.kp, self.kd, signals, q, dq)
