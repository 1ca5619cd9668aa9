"""Functions derived from a model: derivatives, operational space, equation of motion, observer, a Runge-Kutta step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import Function, jacobian_rows
from casid.dynamics._model import Model
from casid.dynamics._rigid_body import Kinematics, factor_mass_matrix, newton_euler
from casid.dynamics.terms._terms import Side
from casid.errors import DatasetError, RobotError
from casid.inertia import Parameters


def inverse_mass_matrix(model: Model) -> Function:
    """``(q, pi) -> Minv`` (n x n): inverse of the mass matrix, through its sparse factorisation along the tree."""
    s = model.symbols()
    return s.function("inverse_mass_matrix", ["q", "pi"], {"Minv": s.mass_factor().solve(ca.SX.eye(model.n))}, 2)


def inverse_dynamics_derivatives(model: Model) -> Function:
    """``(q, dq, ddq, pi) -> dtau_dq, dtau_ddq, dtau_dddq`` (n x n): partial derivatives of the torque.

    With respect to position, velocity and acceleration; the last is the mass matrix. The derivative of Coulomb friction
    is taken as zero.
    """
    s = model.symbols()
    s.seed = ca.SX.sym("seed", model.n)
    sweep = ca.vertsplit(ca.jtimes(s.torque(), ca.vertcat(s.q, s.dq, s.ddq), s.seed, True), model.n)
    outputs = dict(zip(("dtau_dq", "dtau_ddq", "dtau_dddq"), sweep, strict=True))
    return jacobian_rows(s.function("inverse_dynamics_derivatives", ["q", "dq", "ddq", "pi", "seed"], outputs, 1))


def forward_dynamics_derivatives(model: Model) -> Function:
    """``(q, dq, tau, pi) -> dddq_dq, dddq_ddq, dddq_dtau`` (n x n): partial derivatives of the acceleration.

    ``dddq_dq = -M^-1 dtau_dq`` and ``dddq_ddq = -M^-1 dtau_ddq`` at ``ddq = forward_dynamics(q, dq, tau)``;
    ``dddq_dtau = M^-1`` (Carpentier and Mansard 2018, Sec. IV).
    """
    s = model.symbols()
    n, factor, torque = model.n, s.mass_factor(), s.torque()
    # by adjoint sweeps, one a torque: fewer operations than forward ones
    partial = ca.vertcat(*(ca.gradient(torque[k], ca.vertcat(s.q, s.dq)).T for k in range(n)))
    partial = ca.substitute(partial, s.ddq, factor.solve(s.tau - s.torque(ddq=ca.SX(n, 1))))
    solved = factor.solve(ca.horzcat(-partial, ca.SX.eye(n)))
    outputs = {"dddq_dq": solved[:, :n], "dddq_ddq": solved[:, n : 2 * n], "dddq_dtau": solved[:, 2 * n :]}
    return s.function("forward_dynamics_derivatives", ["q", "dq", "tau", "pi"], outputs, 2)


def operational_space(model: Model, frame: str, kinematics: Model | None = None) -> Function:
    """``(q, dq, pi) -> J, dJdq, Lambda, mu, p``: the dynamics seen at a frame (Khatib 1987).

    With the frame's geometric Jacobian J (6 x n; linear velocity, then angular, base axes) and ``dJdq = dJ/dt dq``
    (6)::

        Lambda = (J M^-1 J')^-1,   mu = Lambda (J M^-1 c - dJ/dt dq),   p = Lambda J M^-1 g,
        Lambda xdd + mu + p = F     for tau = J' F

    Parameters
    ----------
    model
        The model; of its joint terms, rotor inertia enters, as part of M.
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
    s = model.symbols()
    # Moved frames may come with offsets of q, which are added to all expressions: the kinematics must not see them.
    J = Kinematics((kinematics or model).robot, s.unmoved_q).jacobian(frame)
    dJdq = ca.mtimes(ca.reshape(ca.jtimes(ca.vec(J), s.q, s.dq), 6, model.n), s.dq)
    solved = s.mass_factor().solve(ca.horzcat(J.T, s.coriolis(), s.gravity_torque()))
    inverse = ca.mtimes(J, solved[:, :6])
    right = ca.horzcat(ca.SX.eye(6), ca.mtimes(J, solved[:, 6]) - dJdq, ca.mtimes(J, solved[:, 7]))
    result = factor_mass_matrix(inverse, None).solve(right)
    outputs = {"J": J, "dJdq": dJdq, "Lambda": result[:, :6], "mu": result[:, 6], "p": result[:, 7]}
    return s.function("operational_space", ["q", "dq", "pi"], outputs, (2, 1, 2, 1, 1))


def dry_friction_places(model: Model) -> tuple[tuple[Side, int], ...]:
    """Joints and motors (side, index) at which a term depends on the sign of the velocity: m places."""
    symbols = model.symbols()
    symbols.signs = ca.SX.sym("signs", 2 * model.n)
    sides: dict[Side, ca.SX] = {"joint": symbols.signs[: model.n], "motor": symbols.signs[model.n :]}
    torques = symbols.side_torques(ca.SX(model.n, 1), sides)
    return tuple(place for place, torque in torques.items() if ca.depends_on(torque, symbols.signs))


def dry_friction_directions(model: Model) -> NDArray[np.float64]:
    """``D`` (n x m) with ``v = D' dq``, the velocities at which dry friction acts, and ``tau = D f`` its torques."""
    T = np.eye(model.n) if model.robot.transmission is None else np.asarray(model.robot.transmission)
    axes: dict[Side, NDArray[np.float64]] = {"joint": np.eye(model.n), "motor": T}
    columns = [axes[side][:, k] for side, k in dry_friction_places(model)]
    return np.asarray(np.array(columns).reshape(len(columns), model.n).T)


def equation_of_motion(model: Model) -> Function:
    """``(q, dq, signs, pi) -> M, rigid, terms, dry``, the parts of the equation of motion.

    With the directions D of `dry_friction_directions` (n x m)::

        M ddq + rigid + terms + D dry = tau

    ``signs`` (m) stands for the signs of the velocities ``D' dq``: ``dry`` (m) is what dry friction adds along its
    directions and vanishes for signs 0; ``terms`` (n) is the torque of the joint terms without it and without rotor
    inertia, which is part of M; ``rigid`` (n) is Coriolis, centrifugal and gravity torque. Friction that grows with the
    load has it without acceleration, as in `Model.forward_dynamics`.

    Raises
    ------
    RobotError
        For terms that depend on a measured torque, which a motion to be found does not have, or have a memory.
    """
    s = model.symbols()
    n, places = model.n, dry_friction_places(model)
    s.signs = ca.SX.sym("signs", len(places))
    still: dict[Side, ca.SX] = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
    moving: dict[Side, ca.SX] = {"joint": ca.SX(n, 1), "motor": ca.SX(n, 1)}
    for number, (side, k) in enumerate(places):
        moving[side][k] = s.signs[number]
    zero = ca.SX(n, 1)
    without, complete = s.side_torques(zero, still), s.side_torques(zero, moving)
    if any(ca.depends_on(torque, s.signal) for torque in complete.values()):
        raise RobotError("a joint term depends on the measured torque: a motion with it cannot be integrated")
    if model.memories:
        raise RobotError(
            "a joint term has a memory, which simulations do not integrate; expected terms without memory: use "
            "JointTerm.settled()"
        )
    outputs = {
        "M": s.mass_matrix(),
        "rigid": newton_euler(model.robot, s.q, s.dq, zero, s.links, s.gravity)[0],
        "terms": s.at_joints(without),
        "dry": ca.vertcat(ca.SX(0, 1), *(complete[place] - without[place] for place in places)),
    }
    return s.function("equation_of_motion", ["q", "dq", "signs", "pi"], outputs, (2, 1, 1, 1))


def momentum_observer(
    model: Model, parameters: Parameters | ArrayLike, gain: ArrayLike = 25.0
) -> tuple[ca.Function, ca.Function]:
    """Momentum observer of external joint torques, in steps.

    With the generalised momentum ``p = M(q) dq``, for which ``dp/dt = tau + tau_ext + n`` with
    ``n = dM/dt dq - c - g - friction``, the residual::

        r = K (p - integral of (tau + n + r) dt - p(0))

    follows each external torque as a filter of first order, ``dr/dt = K (tau_ext - r)``, without accelerations and
    without inverting the mass matrix. A step integrates by implicit Euler, stable for any gain and step.

    Parameters
    ----------
    model
        A model with a gravity vector of its own.
    parameters
        As for `Model.parameters`; they are folded in.
    gain
        K, one number or one a joint [1/s]: the residual lags by 1/K.

    Returns
    -------
    start : Function
        ``(q, dq) -> state`` (n): the integral where the residual is zero.
    step : Function
        ``(q, dq, tau, state, dt) -> residual, next`` (n each) [N.m, N].

    Raises
    ------
    DatasetError
        If a gain is not positive, or gravity is an input of the model.

    References
    ----------
    A. De Luca, R. Mattone, "Actuator failure detection and isolation using generalized momenta", ICRA 2003.
    """
    K = np.broadcast_to(np.asarray(gain, dtype=float), (model.n,)) if np.size(gain) in (1, model.n) else np.zeros(1)
    if not (np.isfinite(K).all() and (K > 0).all()):
        raise DatasetError(f"observer: expected one positive gain, or {model.n} of them [1/s], got {np.ravel(gain)}")
    if model.gravity_vector is None:
        raise DatasetError("observer: gravity is an input of this model; give the model a gravity vector")
    given = model.with_parameters(parameters)
    n = model.n
    q, dq, tau, state = (ca.SX.sym(name, n) for name in ("q", "dq", "tau", "state"))
    dt = ca.SX.sym("dt")
    momentum = ca.mtimes(given.mass_matrix(q), dq)
    drift = ca.jtimes(momentum, q, dq) - given.inverse_dynamics(q, dq, ca.SX(n, 1))
    rate = tau + drift
    gains = ca.DM(K)
    residual = gains * (momentum - state - dt * rate) / (1 + gains * dt)
    following = state + dt * (rate + residual)
    start = ca.Function("observer_start", [q, dq], [momentum], ["q", "dq"], ["state"], {"cse": True})
    step = ca.Function(
        "observer_step", [q, dq, tau, state, dt], [residual, following], ["q", "dq", "tau", "state", "dt"],
        ["residual", "next"], {"cse": True},
    )  # fmt: skip
    return start, step


#: State: anything with addition and multiplication by a number (``ca.SX``, ``ca.MX``, ``ca.DM``, numpy arrays).
State = TypeVar("State")


def rk4_step(f: Callable[[State, Any], State], x: State, u: Any, h: Any) -> State:
    """``x + h/6 (k1 + 2 k2 + 2 k3 + k4)`` of ``dx/dt = f(x, u)`` with constant u (Hairer et al. 1993, Table II.1.2).

    Parameters
    ----------
    f
        Right-hand side ``f(x, u)``.
    x
        State at the beginning of the step.
    u
        Input, held over the step; any object that ``f`` accepts.
    h
        Step size [s].

    Returns
    -------
    State
        Of the type of ``x``.
    """
    start: Any = x
    k1: Any = f(start, u)
    k2: Any = f(start + h / 2 * k1, u)
    k3: Any = f(start + h / 2 * k2, u)
    k4: Any = f(start + h * k3, u)
    new: State = start + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return new
