"""External torques from the momentum: what a controller watches to notice a collision."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.dynamics.model import Model
from casid.errors import DatasetError
from casid.inertia import Parameters


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
