"""Nonlinear friction: shapes over the velocity, fitted to a joint's residual torques or jointly with the inertia.

Each model is linear in some parameters (amplitudes a) and nonlinear in the others (shape theta)::

    sigmoid   a1 (1 / (1 + exp(-s (v + v0))) - 1 / (1 + exp(-s v0)))              theta = s, v0   (Gaz et al. 2019,
    eq. 25) stribeck  fv v + fo + (fc + fs exp(-(v/vs)^2)) tanh(v/w)                       theta = w, vs
    smooth    fv v + fo + fc tanh(v/w)                                             theta = w

The joint fit minimises ``sum_j w_j^2 ||tau_j - W_j beta - phi_j(v_j; a_j, theta_j)||^2`` over everything at once with
IPOPT, with exact derivatives. With theta fixed the shapes are ordinary columns (`JointTerm`), so that everything that
works on linear models (compression, consistency, certificates, prediction, export) works on the fitted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.dynamics import JointSignals, JointTerm, Model
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset
from casid.regression.compress import compress
from casid.regression.fit import Fit, wls
from casid.regression.observation import observation_blocks

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FrictionModel:
    """Shape of friction over the velocity.

    Attributes
    ----------
    name : str
    amplitudes : tuple of str
        Symbols of the linear parameters.
    nonnegative : tuple of bool
        Which of them friction laws do not allow to be negative.
    shape : tuple of str
        Names of theta.
    columns : callable
        ``(v, theta) -> list of SX``, one a amplitude.
    start, lower, upper : callable
        ``(largest speed) -> theta``.
    """

    name: str
    amplitudes: tuple[str, ...]
    nonnegative: tuple[bool, ...]
    shape: tuple[str, ...]
    columns: Callable[[ca.SX, Sequence[ca.SX | float]], list[ca.SX]]
    start: Callable[[float], tuple[float, ...]]
    lower: Callable[[float], tuple[float, ...]]
    upper: Callable[[float], tuple[float, ...]]


def _sigmoid(v: ca.SX, theta: Sequence[ca.SX | float]) -> list[ca.SX]:
    slope, shift = theta  # 1/(1+exp(-x)) = (1 + tanh(x/2)) / 2 does not overflow
    return [(ca.tanh(slope * (v + shift) / 2) - ca.tanh(slope * shift / 2)) / 2]


def _stribeck(v: ca.SX, theta: Sequence[ca.SX | float]) -> list[ca.SX]:
    width, speed = theta
    edge = ca.tanh(v / width)
    return [v, edge, ca.exp(-((v / speed) ** 2)) * edge, v * 0 + 1]


def _smooth(v: ca.SX, theta: Sequence[ca.SX | float]) -> list[ca.SX]:
    return [v, ca.tanh(v / theta[0]), v * 0 + 1]


FRICTION_MODELS: dict[str, FrictionModel] = {
    model.name: model
    for model in (
        FrictionModel(
            "sigmoid",
            ("fp",),
            (False,),
            ("slope", "shift"),
            _sigmoid,
            lambda V: (10.0 / V, 0.0),
            lambda V: (0.5 / V, -V),
            lambda V: (1e3 / V, V),
        ),
        FrictionModel(
            "stribeck",
            ("fv", "fc", "fs", "fo"),
            (True, True, False, False),
            ("width", "speed"),
            _stribeck,
            lambda V: (0.03 * V, 0.2 * V),
            lambda V: (1e-3 * V, 1e-2 * V),
            lambda V: (V, 5.0 * V),
        ),
        FrictionModel(
            "smooth",
            ("fv", "fc", "fo"),
            (True, True, False),
            ("width",),
            _smooth,
            lambda V: (0.03 * V,),
            lambda V: (1e-3 * V,),
            lambda V: (V,),
        ),
    )
}


def friction_model(name: str) -> FrictionModel:
    """The friction model of that name; DatasetError names the known ones."""
    if name not in FRICTION_MODELS:
        raise DatasetError(f"unknown friction model '{name}'; known: {', '.join(FRICTION_MODELS)}")
    return FRICTION_MODELS[name]


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """Friction of one joint fitted to torques.

    Attributes
    ----------
    model : FrictionModel
    amplitudes, shape : ndarray
    rms : float
        Root mean square of what is left [N.m].
    relative_error : float
        100 times that over the root mean square of the torques [%].
    """

    model: FrictionModel
    amplitudes: Array
    shape: Array
    rms: float
    relative_error: float

    def __call__(self, velocity: ArrayLike) -> Array:
        """Friction torque at velocities, any shape [N.m]."""
        v = np.asarray(velocity, dtype=float)
        columns = _evaluate(self.model, v.ravel(), self.shape)
        return np.asarray((columns @ self.amplitudes).reshape(v.shape))


@dataclass(frozen=True, eq=False)
class JointFrictionFit:
    """Inertial parameters and nonlinear friction fitted together.

    Attributes
    ----------
    fit : Fit
        Of the model whose friction shapes are fixed at the fitted theta: linear, so everything else applies to it.
    model : FrictionModel
    shapes : ndarray, shape (n, len(theta))
    iterations : int
        Of IPOPT.
    objective : float
        Weighted sum of squares at IPOPT's solution.
    """

    fit: Fit
    model: FrictionModel
    shapes: Array
    iterations: int
    objective: float


def fit_friction(velocity: ArrayLike, torque: ArrayLike, model: str = "sigmoid") -> FrictionFit:
    """Friction of one joint from velocities and (residual) torques (Gaz et al. 2019, Sec. IV-B).

    Parameters
    ----------
    velocity, torque
        Shape (N,), [rad/s] and [N.m].

    Raises
    ------
    DatasetError
        For different lengths, numbers that are not finite, too few samples, or a joint that does not move.
    """
    v, tau = np.asarray(velocity, dtype=float), np.asarray(torque, dtype=float)
    shape = friction_model(model)
    if v.ndim != 1 or v.shape != tau.shape:
        raise DatasetError(f"velocity and torque must be vectors of one length, got {v.shape} and {tau.shape}")
    if not (np.isfinite(v).all() and np.isfinite(tau).all()):
        raise DatasetError("velocity or torque has entries that are not finite")
    if len(v) < 3 * (len(shape.amplitudes) + len(shape.shape)) or np.abs(v).max() == 0.0:
        raise DatasetError(f"{len(v)} samples up to {np.abs(v).max(initial=0):.3g} rad/s do not determine friction")
    _, shapes, _, _ = _solve(shape, [v], [tau], [np.zeros((len(v), 0))], np.ones(1))
    columns = _evaluate(shape, v, shapes[0])
    amplitudes = np.linalg.lstsq(columns, tau, rcond=1e-12)[0]
    rms = float(np.sqrt(np.mean((tau - columns @ amplitudes) ** 2)))
    size = float(np.sqrt(np.mean(tau**2)))
    return FrictionFit(shape, amplitudes, shapes[0], rms, 100.0 * rms / size if size else 0.0)


def friction_terms(model: FrictionModel, shapes: ArrayLike) -> tuple[JointTerm, ...]:
    """The model's columns at fixed theta, one set a joint, as terms of a `Model`."""
    theta = np.asarray(shapes, dtype=float)

    def column(position: int) -> Callable[[JointSignals], ca.SX]:
        return lambda s: model.columns(s.dq, [float(value) for value in theta[s.joint]])[position]

    return tuple(
        JointTerm(
            f"{model.name}_{symbol}",
            symbol,
            "nonlinear_friction",
            "N.m",
            f"{model.name} friction: {symbol}",
            column(i),
            nonnegative=model.nonnegative[i],
        )
        for i, symbol in enumerate(model.amplitudes)
    )


def fit_jointly(
    model: Model, datasets: Dataset | Sequence[Dataset], friction: str = "stribeck", weights: ArrayLike | None = None
) -> JointFrictionFit:
    """Inertial parameters and nonlinear friction at once, through IPOPT.

    Parameters
    ----------
    model
        Links and linear terms, without the friction that is to be fitted (rotor inertia, motor-side terms, ...).
    datasets
        Processed recordings; all samples enter IPOPT, so decimate long ones.
    friction
        One of `FRICTION_MODELS`, at every joint.
    weights
        Of each joint; default: 1/RMS of the ordinary least squares fit with the starting shapes.

    Raises
    ------
    SolveError
        If IPOPT does not converge.
    """
    shape = friction_model(friction)
    recordings = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    speeds = np.array(
        [max(float(np.abs(d.dq[:, k]).max()) for d in recordings if d.dq is not None) for k in range(model.n)]
    )
    if not (speeds > 0).all():
        raise DatasetError(f"joint {int(np.argmin(speeds)) + 1} does not move: its friction cannot be fitted")
    first = np.array([shape.start(float(V)) for V in speeds])
    start = wls(compress(_extended(model, shape, first), recordings), weights)
    w = start.weights
    v, tau, W = [], [], []
    blocks = [np.concatenate([block for _, block in observation_blocks(model, d)]) for d in recordings]
    for k in range(model.n):
        v.append(np.concatenate([_kept(d, d.dq, k) for d in recordings]))
        tau.append(np.concatenate([_kept(d, d.tau, k) for d in recordings]))
        W.append(
            np.concatenate(
                [b[:, k] if d.mask is None else b[d.mask[:, k], k] for b, d in zip(blocks, recordings, strict=True)]
            )
        )
    objective, shapes, iterations, status = _solve(shape, v, tau, W, w)
    if not status.startswith("Solve"):
        raise SolveError(
            f"joint fit of {friction} friction: IPOPT ended with {status}; decimate or mask the data, or use 'smooth'"
        )
    fit = wls(compress(_extended(model, shape, shapes), recordings), w)
    return JointFrictionFit(fit, shape, shapes, iterations, objective)


def _extended(model: Model, shape: FrictionModel, shapes: Array) -> Model:
    terms = (*model.terms, *friction_terms(shape, shapes))
    return Model(
        model.robot, terms, "input" if model.gravity_vector is None else model.gravity_vector, model.velocity_deadband
    )


def _kept(data: Dataset, values: Array | None, k: int) -> Array:
    assert values is not None
    return values[:, k] if data.mask is None else values[data.mask[:, k], k]


def _evaluate(shape: FrictionModel, v: Array, theta: Array) -> Array:
    x = ca.SX.sym("v")
    columns = ca.Function("columns", [x], [ca.horzcat(*shape.columns(x, [float(t) for t in theta]))])
    values = columns.map(len(v))(ca.DM(v).T).full()  # 1 x (amplitudes * N), sample by sample
    return np.asarray(values.reshape(len(v), len(shape.amplitudes)))


def _solve(
    shape: FrictionModel, v: list[Array], tau: list[Array], W: list[Array], weights: Array
) -> tuple[float, Array, int, str]:
    """IPOPT over (beta, a_1, theta_1, a_2, ...), scaled columns; returns objective, theta, iterations, status."""
    joints, rank, linear, nonlinear = len(v), W[0].shape[1], len(shape.amplitudes), len(shape.shape)
    size = linear + nonlinear
    speeds = [float(np.abs(x).max()) for x in v]
    lengths = np.sqrt(sum(((wj * Wj) ** 2).sum(axis=0) for wj, Wj in zip(weights, W, strict=True)))
    lengths = np.where(lengths > 0, lengths, 1.0)
    total = np.sqrt(sum(float(wj**2 * (t @ t)) for wj, t in zip(weights, tau, strict=True))) or 1.0
    # value, slope and curvature of the friction of one sample
    x, p, e = ca.SX.sym("v"), ca.SX.sym("p", size), ca.SX.sym("e")
    theta = [p[linear + i] for i in range(nonlinear)]
    phi = ca.dot(p[:linear], ca.vertcat(*shape.columns(x, theta)))
    slope = ca.densify(ca.jacobian(phi, p))
    curve = ca.densify(e * ca.hessian(phi, p)[0])
    value_f, slope_f = ca.Function("phi", [x, p], [phi]), ca.Function("dphi", [x, p], [slope.T])
    curve_f = ca.Function("ddphi", [x, p, e], [ca.vec(curve)])
    z = ca.MX.sym("z", rank + joints * size)
    sigma = ca.MX.sym("lam_f")
    beta = z[:rank]
    f, gradient_beta, gradients, corners, diagonal = ca.MX(0), ca.MX(rank, 1), [], [], []
    H = ca.DM(rank, rank)
    for k in range(joints):
        wk, count = float(weights[k]) / total, len(v[k])
        scaled = ca.DM(wk * W[k] / lengths * total)
        q = z[rank + k * size : rank + (k + 1) * size]
        many = ca.DM(v[k]).T
        residual = wk * (ca.DM(tau[k]) - value_f.map(count)(many, ca.repmat(q, 1, count)).T) - scaled @ beta
        J = wk * slope_f.map(count)(many, ca.repmat(q, 1, count))  # size x count
        f = f + ca.sumsqr(residual)
        gradient_beta = gradient_beta - 2 * (scaled.T @ residual)
        gradients.append(-2 * (J @ residual))
        corners.append(2 * (scaled.T @ J.T))
        bend = ca.reshape(ca.sum2(curve_f.map(count)(many, ca.repmat(q, 1, count), (wk * residual).T)), size, size)
        diagonal.append(2 * (J @ J.T) - 2 * bend)
        H += 2 * (scaled.T @ scaled)
    gradient = ca.vertcat(gradient_beta, *gradients)
    corner = ca.horzcat(*corners)
    hessian = ca.vertcat(ca.horzcat(ca.MX(ca.densify(H)), corner), ca.horzcat(corner.T, ca.diagcat(*diagonal)))
    start, low, high = [np.zeros(rank)], [np.full(rank, -np.inf)], [np.full(rank, np.inf)]
    for V in speeds:
        start += [np.zeros(linear), np.array(shape.start(V))]
        low += [np.full(linear, -np.inf), np.array(shape.lower(V))]
        high += [np.full(linear, np.inf), np.array(shape.upper(V))]
    x0 = np.concatenate(start)
    x0 = _linear_start(shape, v, tau, W, weights, lengths / total, x0, rank, speeds)
    none = ca.MX.sym("p", 0)
    lam_g = ca.MX.sym("lam_g", 0)
    solver = ca.nlpsol(
        "friction",
        "ipopt",
        {"x": z, "f": f},
        {
            "print_time": False,
            "calc_lam_p": False,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "tol": 1e-9,
                "acceptable_tol": 1e-7,
                "max_iter": 500,
                "mu_init": 1e-4,
            },
            "grad_f": ca.Function("grad_f", [z, none], [f, gradient], ["x", "p"], ["f", "grad_f_x"]),
            "hess_lag": ca.Function(
                "hess_lag",
                [z, none, sigma, lam_g],
                [ca.triu(sigma * hessian)],
                ["x", "p", "lam_f", "lam_g"],
                ["triu_hess_gamma_x_x"],
            ),
        },
    )
    found = solver(x0=x0, lbx=np.concatenate(low), ubx=np.concatenate(high))
    stats = solver.stats()
    values = np.array(found["x"]).ravel()[rank:].reshape(joints, size)
    return float(found["f"]) * total**2, values[:, linear:], int(stats["iter_count"]), str(stats["return_status"])


def _linear_start(
    shape: FrictionModel,
    v: list[Array],
    tau: list[Array],
    W: list[Array],
    weights: Array,
    scale: Array,
    x0: Array,
    rank: int,
    speeds: list[float],
) -> Array:
    """Least squares in everything that is linear, at the starting shapes."""
    linear = len(shape.amplitudes)
    size = linear + len(shape.shape)
    columns = rank + len(v) * linear
    stacked, target = [], []
    for k, (vk, tk, Wk) in enumerate(zip(v, tau, W, strict=True)):
        block = np.zeros((len(vk), columns))
        block[:, :rank] = Wk / scale
        block[:, rank + k * linear : rank + (k + 1) * linear] = _evaluate(shape, vk, np.array(shape.start(speeds[k])))
        stacked.append(weights[k] * block)
        target.append(weights[k] * tk)
    solution = np.linalg.lstsq(np.vstack(stacked), np.concatenate(target), rcond=1e-10)[0]
    x = x0.copy()
    x[:rank] = solution[:rank]
    for k in range(len(v)):
        x[rank + k * size : rank + k * size + linear] = solution[rank + k * linear : rank + (k + 1) * linear]
    return np.asarray(x)
