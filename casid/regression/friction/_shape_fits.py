"""Friction laws with their shapes fitted: at one joint, or at all joints together with the inertial parameters.

With the shapes theta fixed, everything else is linear. The sum of squares left by the best linear parameters,

    f(theta) = min_beta,a  sum_j w_j^2 ||tau_j - W_j beta - C_j(theta_j) a_j||^2,

is minimised over theta alone within bounds (Golub and Pereyra 1973, with Kaufman's Jacobian), by SciPy's trust-region
method. Columns pass the torques' filter like everything else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import RANK, Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction, JointSignals, friction_model, sensitive_states
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset
from casid.regression._compress import compress, filtered, lengths, motion, observation_blocks, sampling_period
from casid.regression._fit import wls
from casid.regression.friction._choice import FrictionChoice

#: Relative changes at which the search stops, and the most evaluations.
TOLERANCE, MOST_EVALUATIONS = 1e-10, 200

#: From all joints' shapes to columns and their derivatives: C_j (N_j, amplitudes), dC_j (N_j, amplitudes, theta).
Columns = Callable[[list[Array]], tuple[list[Array], list[Array]]]


@dataclass(frozen=True, eq=False)
class Shapes:
    """Result of `fit_shapes`.

    Attributes
    ----------
    theta : list of ndarray
        One a joint.
    amplitudes : list of ndarray
    objective : float
        Weighted sum of squares.
    """

    theta: list[Array]
    amplitudes: list[Array]
    objective: float


def fit_shapes(
    columns: Columns,
    W: Sequence[Array],
    tau: Sequence[Array],
    weights: Array,
    start: Sequence[Array],
    lower: Sequence[Array],
    upper: Sequence[Array],
    what: str,
) -> Shapes:
    """Minimise over the shapes of all joints at once.

    Parameters
    ----------
    columns
        See `Columns`.
    W, tau
        Rows of each joint, filtered and thinned: (N_j, rank), (N_j,).
    weights
        Of the joints.
    start, lower, upper
        Shapes of each joint.
    what
        For messages.

    Raises
    ------
    SolveError
        If the search does not converge.
    """
    from scipy.optimize import least_squares  # slow to import

    low, high, first = (np.concatenate([np.asarray(x, dtype=float) for x in v]) for v in (lower, upper, start))
    edges, rank = np.cumsum([0, *(len(theta) for theta in start)]), W[0].shape[1]
    rows = [slice(a, b) for a, b in itertools.pairwise(np.cumsum([0, *(len(t) for t in tau)]))]
    target = np.concatenate([w * t for w, t in zip(weights, tau, strict=True)])
    scale = float(np.linalg.norm(target)) or 1.0

    @lru_cache(maxsize=1)  # the residual and its Jacobian are asked for at the same point, one after the other
    def projected(key: bytes) -> tuple[Array, Array, Shapes]:
        """Residual and Kaufman's Jacobian, and the linear parameters, at shapes scaled to 0 ... 1 between bounds."""
        shapes = low + (high - low) * np.frombuffer(key)
        theta = [shapes[a:b] for a, b in itertools.pairwise(edges)]
        C, slopes = columns(theta)
        widths = np.cumsum([rank, *(c.shape[1] for c in C)])
        X, J = np.zeros((len(target), int(widths[-1]))), np.zeros((len(target), len(low)))
        for k, c in enumerate(C):
            X[rows[k], :rank] = weights[k] * W[k]
            X[rows[k], widths[k] : widths[k + 1]] = weights[k] * c
        units = lengths((X**2).sum(axis=0))
        U, s, Vt = np.linalg.svd(X / units, full_matrices=False)
        sure = s > RANK * s[0]
        basis = U[:, sure]
        x = (Vt[sure].T / s[sure]) @ (basis.T @ target) / units
        amplitudes = [x[a:b] for a, b in itertools.pairwise(widths)]
        residual = target - basis @ (basis.T @ target)
        for k in range(len(C)):  # derivatives of the columns alone, less what is linear can follow
            J[rows[k], edges[k] : edges[k + 1]] = -weights[k] * np.einsum("nat,a->nt", slopes[k], amplitudes[k])
        J -= basis @ (basis.T @ J)
        found = Shapes(theta, amplitudes, float(residual @ residual))
        return residual / scale, J * (high - low) / scale, found

    if not len(low):
        return projected(low.tobytes())[2]
    found = least_squares(
        lambda unit: projected(unit.tobytes())[0], np.clip((first - low) / (high - low), 1e-6, 1 - 1e-6),
        jac=lambda unit: projected(unit.tobytes())[1], bounds=(0.0, 1.0), xtol=TOLERANCE, ftol=TOLERANCE,
        gtol=TOLERANCE, max_nfev=MOST_EVALUATIONS, x_scale="jac",
    )  # fmt: skip
    if found.status <= 0 or not np.isfinite(found.x).all():
        raise SolveError(
            f"{what}: no convergence in {found.nfev} evaluations ({found.message}); the data may not determine the "
            "shape; use a simpler law"
        )
    return projected(found.x.tobytes())[2]


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
        columns, _ = velocity_function(self.model)(v.reshape(-1, 1), self.shape)
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
    function = velocity_function(law)

    def columns(theta: list[Array]) -> tuple[list[Array], list[Array]]:
        C, slopes = function(v[:, None], theta[0])
        return [C], [slopes]

    none = np.zeros((len(v), 0))
    bounds = [np.array(law.lower(speed))], [np.array(law.upper(speed))]
    start = [np.array(law.start(speed))]
    found = fit_shapes(columns, [none], [tau], np.ones(1), start, *bounds, f"{law.name} friction of one joint")
    rms, size = float(np.sqrt(found.objective / len(v))), float(np.sqrt(np.mean(tau**2)))
    error = 100.0 * rms / size if size else 0.0
    return FrictionFit(law, found.amplitudes[0], found.theta[0], rms, error)


def velocity_function(law: FrictionLaw) -> Function:
    """``(v, theta) -> columns, their derivatives in theta`` of a law of the velocity.

    Raises
    ------
    DatasetError
        If the law needs more than the velocity.
    """
    v, theta = ca.SX.sym("v"), ca.SX.sym("theta", len(law.shape))
    other = [ca.SX.sym(name) for name in ("q", "ddq", "load", "signal")]
    other.append(ca.SX.sym("memory", law.memory))
    signals = JointSignals(0, other[0], v, other[1], ca.sign(v), *other[2:])
    columns = ca.vertcat(*law.dictionary(signals, ca.vertsplit(theta)))
    if any(symbol.numel() and ca.depends_on(columns, symbol) for symbol in other):
        raise DatasetError(f"friction '{law.name}' depends on more than the velocity")
    made = [ca.densify(columns), ca.densify(ca.jacobian(columns, theta))]
    return Function(ca.Function("columns", [v, theta], made, {"cse": True}), axes=(1, 2))


def fit_jointly(
    model: Model,
    datasets: Dataset | Sequence[Dataset],
    friction: str | FrictionLaw = "stribeck",
) -> FrictionChoice:
    """Inertial parameters and nonlinear friction at once.

    Each joint counts by 1/RMS of the ordinary least squares fit with the starting shapes.

    Parameters
    ----------
    model
        Links and linear terms, without the friction that is to be fitted (rotor inertia, motor-side terms, ...).
    datasets
        Processed recordings; all samples are held in memory, so decimate long ones.
    friction
        One law, at every joint, that does not depend on the load.

    Returns
    -------
    FrictionChoice
        Without a table: its model has the fitted shapes fixed and is linear, so everything else applies to it.

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
    w = wls(compress(model.with_friction(_friction(law, start)), recordings)).weights
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
    return FrictionChoice(_friction(law, found.theta), (), model, recordings)


def _friction(law: FrictionLaw, theta: Sequence[Array]) -> Friction:
    return Friction(tuple(JointFriction(law, tuple(row.tolist())) for row in theta))


def _kept(data: Dataset, values: Array, k: int) -> Array:
    return values[data.counted[:, k]]


def _function(law: FrictionLaw, deadband: float) -> Function:
    """``(q, dq, ddq, signal, z, dz/dtheta, theta) -> (columns, their derivatives)``, behind each other."""
    q, dq, ddq, signal = (ca.SX.sym(name) for name in ("q", "dq", "ddq", "signal"))
    theta = ca.SX.sym("theta", len(law.shape))
    sign = ca.sign(dq) * (ca.fabs(dq) >= deadband)
    z, slopes = ca.SX.sym("z", law.memory), ca.SX.sym("slopes", law.memory, len(law.shape))
    signals = JointSignals(0, q, dq, ddq, sign, ca.SX(0), signal, z)
    columns = ca.vertcat(*law.dictionary(signals, ca.vertsplit(theta)))
    derivatives = ca.jacobian(columns, theta) + ca.jacobian(columns, z) @ slopes
    made = ca.vertcat(columns, ca.vec(ca.densify(derivatives)))
    return Function(ca.Function("columns", [q, dq, ddq, signal, z, slopes, theta], [ca.densify(made)]))


def _filtered(law: FrictionLaw, function: Function, data: Dataset, k: int, theta: Array) -> Array:
    source = motion(data)
    assert source.dq is not None and source.ddq is not None
    arrays = [x[:, k : k + 1] for x in (source.q, source.dq, source.ddq, source.tau)]
    states = sensitive_states(law, theta, source.q[:, k], sampling_period(data))
    arrays += [x.reshape(len(x), 1) if x[0].size == 1 else x for x in states]
    return filtered(data, function, [*arrays, theta])
