"""Friction that a load brings with it."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointTerm

#: Friction of gears that grows with the torque they carry, ``fg |measured torque| sign(dq)``: a term for the models of
#: `Online` and `OnlineLoad`. Harmonic drives lose 5 to 10 % of it (fg = 0.06 at the shoulder and elbow of a UR10e). A
#: load that is picked up raises it at once, which a model without the term takes for mass in one direction of motion
#: and for the lack of it in the other. Give it to joints that carry the arm's weight, ``GEAR_FRICTION.on("shoulder",
#: "elbow")``: where the torque is nearly friction alone, it cannot be told from Coulomb's.
GEAR_FRICTION = JointTerm(
    "gear_friction",
    "fg",
    "friction",
    "-",
    "friction of gears that grows with the torque they carry: fg |measured torque| sign(dq)",
    lambda s: ca.fabs(s.signal) * s.sign,
    nonnegative=True,
)
