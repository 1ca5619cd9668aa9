"""Friction of one joint from velocities and torques."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import evaluate_batch
from casid.dynamics import JointSignals
from casid.errors import DatasetError
from casid.regression.friction.combined import friction_model
from casid.regression.friction.law import FrictionLaw
from casid.regression.friction.separable import fit_shapes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """Friction of one joint fitted to torques.

    Attributes
    ----------
    model : FrictionLaw
    amplitudes, shape : ndarray
    rms : float
        Root mean square of what is left [N.m].
    relative_error : float
        100 times that over the root mean square of the torques [%].
    """

    model: FrictionLaw
    amplitudes: Array
    shape: Array
    rms: float
    relative_error: float

    def __call__(self, velocity: ArrayLike) -> Array:
        """Friction torque at velocities, any shape [N.m]."""
        v = np.asarray(velocity, dtype=float)
        columns = np.asarray(evaluate_batch(velocity_function(self.model), v.ravel(), self.shape))[:, :, 0]
        return np.asarray((columns @ self.amplitudes).reshape(v.shape))


def fit_friction(velocity: ArrayLike, torque: ArrayLike, model: str | FrictionLaw = "sigmoid") -> FrictionFit:
    """Friction of one joint from velocities and (residual) torques (Gaz et al. 2019, Sec. IV-B).

    Parameters
    ----------
    velocity, torque
        Shape (N,), [rad/s] and [N.m].
    model
        A law of the velocity alone.

    Raises
    ------
    DatasetError
        For different lengths, numbers that are not finite, too few samples, a joint that does not move, or a law that
        needs more than the velocity.
    SolveError
        If the search for the shape does not converge.
    """
    v, tau = np.asarray(velocity, dtype=float), np.asarray(torque, dtype=float)
    law = friction_model(model)
    if v.ndim != 1 or v.shape != tau.shape:
        raise DatasetError(f"velocity and torque must be vectors of one length, got {v.shape} and {tau.shape}")
    if not (np.isfinite(v).all() and np.isfinite(tau).all()):
        raise DatasetError("velocity or torque has entries that are not finite")
    speed = float(np.abs(v).max(initial=0))
    if len(v) < 3 * law.complexity or speed == 0.0:
        raise DatasetError(f"{len(v)} samples up to {speed:.3g} rad/s do not determine friction")
    values, slopes = velocity_function(law), velocity_function(law, derivative=True)

    def columns(theta: list[Array]) -> tuple[list[Array], list[Array]]:
        C = np.asarray(evaluate_batch(values, v, theta[0], compiled=False))[:, :, 0]
        dC = np.asarray(evaluate_batch(slopes, v, theta[0], compiled=False))
        return [C], [dC]

    none = np.zeros((len(v), 0))
    bounds = [np.array(law.lower(speed))], [np.array(law.upper(speed))]
    start = [np.array(law.start(speed))]
    found = fit_shapes(columns, [none], [tau], np.ones(1), start, *bounds, f"{law.name} friction of one joint")
    rms, size = float(np.sqrt(found.objective / len(v))), float(np.sqrt(np.mean(tau**2)))
    error = 100.0 * rms / size if size else 0.0
    return FrictionFit(law, found.amplitudes[0], found.theta[0], rms, error)


def velocity_function(law: FrictionLaw, derivative: bool = False) -> ca.Function:
    """``(v, theta) -> columns`` of a law of the velocity, or their derivatives in theta.

    Raises
    ------
    DatasetError
        If the law needs more than the velocity.
    """
    v, theta = ca.SX.sym("v"), ca.SX.sym("theta", len(law.shape))
    other = [ca.SX.sym(name) for name in ("q", "ddq", "load", "signal")]
    shapes = ca.vertsplit(theta) if len(law.shape) else []
    other.append(ca.SX.sym("memory", law.memory))
    signals = JointSignals(0, other[0], v, other[1], ca.sign(v), *other[2:])
    columns = ca.vertcat(*law.columns(signals, shapes))
    if any(symbol.numel() and ca.depends_on(columns, symbol) for symbol in other):
        raise DatasetError(f"friction '{law.name}' depends on more than the velocity")
    made = ca.jacobian(columns, theta) if derivative else columns
    return ca.Function("columns", [v, theta], [ca.densify(made)], ["v", "theta"], ["c"], {"cse": True})
