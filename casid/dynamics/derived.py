"""What a controller needs besides the equation of motion: derivatives, inverse mass matrix, operational space."""

from __future__ import annotations

import casadi as ca

from casid.dynamics.kinematics import Kinematics
from casid.dynamics.mass_matrix import solve_mass_matrix
from casid.dynamics.model import Model
from casid.errors import RobotError


def inverse_mass_matrix(model: Model) -> ca.Function:
    """``(q, pi) -> Minv`` (n x n): inverse of the mass matrix, through its sparse factorisation along the tree."""
    s = model.symbols()
    inverse = solve_mass_matrix(s.mass_matrix(), model.robot, ca.SX.eye(model.n))
    return s.function("inverse_mass_matrix", ["q", "pi"], {"Minv": inverse})


def inverse_dynamics_derivatives(model: Model) -> ca.Function:
    """``(q, dq, ddq, pi) -> dtau_dq, dtau_ddq, dtau_dddq`` (n x n): partial derivatives of the torque.

    With respect to position, velocity and acceleration; the last is the mass matrix. The derivative of Coulomb friction
    is taken as zero.
    """
    s = model.symbols()
    rows = _gradients(s.torque(), ca.vertcat(s.q, s.dq, s.ddq))
    n = model.n
    outputs = {"dtau_dq": rows[:, :n], "dtau_ddq": rows[:, n : 2 * n], "dtau_dddq": rows[:, 2 * n :]}
    return s.function("inverse_dynamics_derivatives", ["q", "dq", "ddq", "pi"], outputs)


def forward_dynamics_derivatives(model: Model) -> ca.Function:
    """``(q, dq, tau, pi) -> dddq_dq, dddq_ddq, dddq_dtau`` (n x n): partial derivatives of the acceleration.

    ``dddq_dq = -M^-1 dtau_dq`` and ``dddq_ddq = -M^-1 dtau_ddq`` at ``ddq = forward_dynamics(q, dq, tau)``;
    ``dddq_dtau = M^-1`` (Carpentier and Mansard 2018, Sec. IV).
    """
    s = model.symbols()
    n, M = model.n, s.mass_matrix()
    torque = s.torque()
    still = s.torque(ddq=ca.SX(n, 1))
    acceleration = solve_mass_matrix(M, model.robot, s.tau - still)
    partial = ca.substitute(_gradients(torque, ca.vertcat(s.q, s.dq)), s.ddq, acceleration)
    solved = solve_mass_matrix(M, model.robot, ca.horzcat(-partial, ca.SX.eye(n)))
    outputs = {"dddq_dq": solved[:, :n], "dddq_ddq": solved[:, n : 2 * n], "dddq_dtau": solved[:, 2 * n :]}
    return s.function("forward_dynamics_derivatives", ["q", "dq", "tau", "pi"], outputs)


def _gradients(torque: ca.SX, motion: ca.SX) -> ca.SX:
    """Jacobian by adjoint sweeps, one a torque: fewer operations than forward ones."""
    return ca.vertcat(*(ca.gradient(torque[k], motion).T for k in range(torque.numel())))


def operational_space(model: Model, frame: str, kinematics: Model | None = None) -> ca.Function:
    """``(q, dq, pi) -> J, dJdq, Lambda, mu, p``: the dynamics seen at a frame (Khatib 1987).

    With the frame's geometric Jacobian J (6 x n; linear velocity, then angular, base axes) and ``dJdq = dJ/dt dq``
    (6)::

        Lambda = (J M^-1 J')^-1,   mu = Lambda (J M^-1 c - dJ/dt dq),   p = Lambda J M^-1 g,
        Lambda xdd + mu + p = F     for tau = J' F

    Parameters
    ----------
    model
        The model; joint terms do not enter.
    frame
        Name of a link or frame.
    kinematics
        Model whose robot has the frame, where `model` is an equivalent one with moved frames.

    Raises
    ------
    RobotError
        For fewer than six joints, where Lambda does not exist, or an unknown frame. In singular postures the values are
        infinite or NaN: keep away from them.
    """
    if model.n < 6:
        raise RobotError(
            f"robot '{model.robot.name}' has {model.n} joints: the operational-space mass matrix of a frame needs six; "
            "export 'jacobian' and 'inverse_mass_matrix' instead"
        )
    located = kinematics or model
    located.check_frame(frame)
    s = model.symbols()
    n, M = model.n, s.mass_matrix()
    # Moved frames may come with offsets of q, which are added to all expressions: the kinematics must not see them.
    J = Kinematics(located.robot, s.unmoved_q).jacobian(frame)
    dJdq = ca.mtimes(ca.reshape(ca.jtimes(ca.vec(J), s.q, s.dq), 6, n), s.dq)
    solved = solve_mass_matrix(M, model.robot, ca.horzcat(J.T, s.coriolis(), s.rigid_torque(motion=False)))
    inverse = ca.mtimes(J, solved[:, :6])
    right = ca.horzcat(ca.SX.eye(6), ca.mtimes(J, solved[:, 6]) - dJdq, ca.mtimes(J, solved[:, 7]))
    result = _solve_symmetric(inverse, right)
    outputs = {"J": J, "dJdq": dJdq, "Lambda": result[:, :6], "mu": result[:, 6], "p": result[:, 7]}
    return s.function("operational_space", ["q", "dq", "pi"], outputs)


def _solve_symmetric(A: ca.SX, B: ca.SX) -> ca.SX:
    """``A^-1 B`` of a positive definite matrix by ``A = L D L'``, written out."""
    n = A.size1()
    L, D = ca.SX.eye(n), [ca.SX(0)] * n
    for j in range(n):
        D[j] = A[j, j] - sum((L[j, k] ** 2 * D[k] for k in range(j)), ca.SX(0))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum((L[i, k] * L[j, k] * D[k] for k in range(j)), ca.SX(0))) / D[j]
    X = ca.SX(ca.densify(B))
    for i in range(n):
        for k in range(i):
            X[i, :] = X[i, :] - L[i, k] * X[k, :]
    for i in range(n):
        X[i, :] = X[i, :] / D[i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            X[i, :] = X[i, :] - L[k, i] * X[k, :]
    return X
