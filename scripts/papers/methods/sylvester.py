"""Feasibility of a link as polynomial inequalities (Sousa 2014, eq. 3.1-3.6)."""

from __future__ import annotations

import casadi as ca


def minors(x: ca.SX) -> ca.SX:
    """Mass, and the leading principal minors of ``m I``: all positive iff m > 0 and I > 0, shape (4, 1).

    ``m I = m L - (l'l 1 - l l')`` has entries that are polynomials of the ten standard parameters x; its minors are P_1
    to P_3 of eq. 3.3-3.5 but for powers of the mass.
    """
    L = ca.vertcat(ca.horzcat(x[0], x[1], x[2]), ca.horzcat(x[1], x[3], x[4]), ca.horzcat(x[2], x[4], x[5]))
    moment, mass = x[6:9], x[9]
    matrix = mass * L - (ca.dot(moment, moment) * ca.SX.eye(3) - moment @ moment.T)
    return ca.vertcat(mass, matrix[0, 0], ca.det(matrix[:2, :2]), ca.det(matrix))
