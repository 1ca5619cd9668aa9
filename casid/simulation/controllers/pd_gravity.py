"""PD control with the gravity torques compensated."""

from __future__ import annotations

import casadi as ca

from casid.simulation.controllers.model_based import ModelBased
from casid.simulation.controllers.pd import feedback


class PDGravity(ModelBased):
    """PD control with gravity compensation: tau = g(q) + Kp (q_ref - q) + Kd (dq_ref - dq).

    Asymptotically stable at rest for any positive gains (Takegaki and Arimoto 1981; Siciliano et al. 2009, Sec. 8.5.1).
    """

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The sum."""
        return self.given.gravity(q) + feedback(self.kp, self.kd, signals, q, dq)
