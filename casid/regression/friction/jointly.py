"""Inertial parameters and one friction law, its shapes included, fitted at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import evaluate_batch
from casid.dynamics import JointSignals, Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression.compress import compress
from casid.regression.fit import Fit, wls
from casid.regression.friction.combined import friction_model
from casid.regression.friction.fitted import Friction, JointFriction
from casid.regression.friction.law import FrictionLaw
from casid.regression.friction.memory import sensitive_states
from casid.regression.friction.separable import fit_shapes
from casid.regression.friction.terms import with_friction
from casid.regression.observation import filtered_blocks, motion, observation_blocks, sampling_period

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointFrictionFit:
    """Inertial parameters and nonlinear friction fitted together.

    Attributes
    ----------
    fit : Fit
        Of the model whose friction shapes are fixed at the fitted theta: linear, so everything else applies to it.
    model : FrictionLaw
    shapes : ndarray, shape (n, len(theta))
    iterations : int
        Evaluations of the friction at all samples.
    objective : float
        Weighted sum of squares at the solution.
    """

    fit: Fit
    model: FrictionLaw
    shapes: Array
    iterations: int
    objective: float

    @property
    def friction(self) -> Friction:
        """Law and shapes of every joint."""
        return Friction(tuple(JointFriction(self.model, tuple(row)) for row in self.shapes.tolist()))


def fit_jointly(
    model: Model,
    datasets: Dataset | Sequence[Dataset],
    friction: str | FrictionLaw = "stribeck",
    weights: ArrayLike | None = None,
) -> JointFrictionFit:
    """Inertial parameters and nonlinear friction at once.

    Parameters
    ----------
    model
        Links and linear terms, without the friction that is to be fitted (rotor inertia, motor-side terms, ...).
    datasets
        Processed recordings; all samples are held in memory, so decimate long ones.
    friction
        One law, at every joint, that does not depend on the load.
    weights
        Of each joint; default: 1/RMS of the ordinary least squares fit with the starting shapes.

    Raises
    ------
    SolveError
        If the search for the shapes does not converge.
    """
    law = friction_model(friction)
    if law.loaded:
        raise DatasetError(
            f"friction '{law.name}' depends on the load, which follows from the fit; use choose_friction"
        )
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    n = model.n
    speeds = np.array([max(float(np.abs(d.dq[:, k]).max()) for d in recordings if d.dq is not None) for k in range(n)])
    if not (speeds > 0).all():
        raise DatasetError(f"joint {int(np.argmin(speeds)) + 1} does not move: its friction cannot be fitted")
    start = [np.array(law.start(float(V))) for V in speeds]
    w = wls(compress(_extended(model, law, start), recordings), weights).weights
    regressors = [np.concatenate([block for _, block in observation_blocks(model, d)]) for d in recordings]
    W = [np.concatenate([_kept(d, R[:, k], k) for d, R in zip(recordings, regressors, strict=True)]) for k in range(n)]
    tau = [np.concatenate([_kept(d, d.tau[:, k], k) for d in recordings]) for k in range(n)]
    values, size = _function(law, model.velocity_deadband), len(law.amplitudes)

    def columns(theta: list[Array]) -> tuple[list[Array], list[Array]]:
        C, dC = [], []
        for k in range(n):
            parts = [_kept(d, _filtered(law, values, d, k, theta[k]), k) for d in recordings]
            both = np.concatenate(parts)
            C.append(both[:, :size])
            dC.append(both[:, size:].reshape(len(both), len(law.shape), size).transpose(0, 2, 1))
        return C, dC

    bounds = [[np.array(f(float(V))) for V in speeds] for f in (law.lower, law.upper)]
    found = fit_shapes(columns, W, tau, w, start, bounds[0], bounds[1], f"joint fit of {law.name} friction")
    fit = wls(compress(_extended(model, law, found.theta), recordings), w)
    return JointFrictionFit(fit, law, np.array(found.theta).reshape(n, -1), found.iterations, found.objective)


def _extended(model: Model, law: FrictionLaw, theta: Sequence[Array]) -> Model:
    return with_friction(model, Friction(tuple(JointFriction(law, tuple(row.tolist())) for row in theta)))


def _kept(data: Dataset, values: Array, k: int) -> Array:
    return values if data.mask is None else values[data.mask[:, k]]


def _function(law: FrictionLaw, deadband: float) -> ca.Function:
    """``(q, dq, ddq, signal, z, dz/dtheta, theta) -> (columns, their derivatives)``, behind each other."""
    q, dq, ddq, signal = (ca.SX.sym(name) for name in ("q", "dq", "ddq", "signal"))
    theta = ca.SX.sym("theta", len(law.shape))
    sign = ca.sign(dq) * (ca.fabs(dq) >= deadband) if deadband else ca.sign(dq)
    z, slopes = ca.SX.sym("z", law.memory), ca.SX.sym("slopes", law.memory, len(law.shape))
    signals = JointSignals(0, q, dq, ddq, sign, ca.SX(0), signal, z)
    columns = ca.vertcat(*law.columns(signals, ca.vertsplit(theta) if len(law.shape) else []))
    derivatives = ca.jacobian(columns, theta) + ca.jacobian(columns, z) @ slopes
    made = ca.vertcat(columns, ca.vec(ca.densify(derivatives)))
    return ca.Function("columns", [q, dq, ddq, signal, z, slopes, theta], [ca.densify(made)])


def _filtered(law: FrictionLaw, function: ca.Function, data: Dataset, k: int, theta: Array) -> Array:
    source = motion(data)
    assert source.dq is not None and source.ddq is not None
    arrays = [np.ascontiguousarray(x[:, k]) for x in (source.q, source.dq, source.ddq, source.tau)]
    arrays += sensitive_states(law, theta, source.q[:, k], sampling_period(data))

    def evaluate(part: slice) -> Array:
        return np.asarray(evaluate_batch(function, *(a[part] for a in arrays), theta, compiled=False))[:, :, 0]

    return np.concatenate([block for _, block in filtered_blocks(data, evaluate)])
