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

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import RANK, Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction, JointSignals, friction_model, sensitive_states
from casid.errors import DatasetError, SolveError
from casid.measurement import Dataset
from casid.regression._compress import compress
from casid.regression._fit import Fit, wls
from casid.regression._rows import filtered_blocks, lengths, motion, observation_blocks, sampling_period

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
    iterations : int
        Evaluations of the columns.
    """

    theta: list[Array]
    amplitudes: list[Array]
    objective: float
    iterations: int


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
    reduced = _Reduced(columns, W, tau, weights, low, high - low, np.cumsum([0, *(len(theta) for theta in start)]))
    if not len(low):
        return reduced.shapes(low, 1)
    inside = np.clip((first - low) / (high - low), 1e-6, 1 - 1e-6)
    found = least_squares(
        reduced.residual, inside, jac=reduced.jacobian, bounds=(0.0, 1.0), xtol=TOLERANCE, ftol=TOLERANCE,
        gtol=TOLERANCE, max_nfev=MOST_EVALUATIONS, x_scale="jac",
    )  # fmt: skip
    if found.status <= 0 or not np.isfinite(found.x).all():
        raise SolveError(
            f"{what}: no convergence in {found.nfev} evaluations ({found.message}); the data may not determine the "
            "shape; use a simpler law"
        )
    return reduced.shapes(found.x, int(found.nfev))


@dataclass(frozen=True, eq=False)
class _Point:
    """Residual and linear parameters at some shapes: all arrays weighted, joint below joint.

    ``residual`` is what the best linear parameters leave of the torques, ``basis`` orthonormal, of everything linear;
    ``amplitudes`` and ``slopes`` are those of each joint's columns, and the columns' derivatives.
    """

    residual: Array
    basis: Array
    amplitudes: list[Array]
    slopes: list[Array]


class _Reduced:
    """The residual as a function of the shapes alone, these scaled to 0 ... 1 between their bounds (``unit``)."""

    def __init__(
        self,
        columns: Columns,
        W: Sequence[Array],
        tau: Sequence[Array],
        weights: Array,
        low: Array,
        span: Array,
        edges: NDArray[np.intp],
    ) -> None:
        self._columns, self._W, self._weights = columns, W, weights
        self._low, self._span, self._edges = low, span, edges
        self._target = np.concatenate([w * t for w, t in zip(weights, tau, strict=True)])
        self._scale = float(np.linalg.norm(self._target)) or 1.0
        self._rows = [slice(a, b) for a, b in itertools.pairwise(np.cumsum([0, *(len(t) for t in tau)]))]
        self._last: tuple[bytes, _Point] | None = None

    def residual(self, unit: Array) -> Array:
        """Relative to the size of the torques."""
        return self._at(unit).residual / self._scale

    def jacobian(self, unit: Array) -> Array:
        """Kaufman's: derivatives of the columns alone, less what is linear can follow."""
        at = self._at(unit)
        J = np.zeros((len(self._target), len(self._low)))
        for k, (amplitudes, slopes) in enumerate(zip(at.amplitudes, at.slopes, strict=True)):
            own = slice(self._edges[k], self._edges[k + 1])
            J[self._rows[k], own] = -self._weights[k] * np.einsum("nat,a->nt", slopes, amplitudes)
        J -= at.basis @ (at.basis.T @ J)
        return np.asarray(J * self._span / self._scale)

    def shapes(self, unit: Array, iterations: int) -> Shapes:
        """The result at a point."""
        at = self._at(unit)
        return Shapes(self._theta(unit), at.amplitudes, float(at.residual @ at.residual), iterations)

    def _theta(self, unit: Array) -> list[Array]:
        theta = self._low + self._span * unit
        return [theta[a:b] for a, b in itertools.pairwise(self._edges)]

    def _at(self, unit: Array) -> _Point:
        """The residual and its Jacobian are asked for at the same point, one after the other."""
        key = unit.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._projected(*self._columns(self._theta(unit)))
        return self._last[1]

    def _projected(self, C: list[Array], slopes: list[Array]) -> _Point:
        rank = self._W[0].shape[1]
        widths = np.cumsum([rank, *(c.shape[1] for c in C)])
        X = np.zeros((len(self._target), int(widths[-1])))
        for k, c in enumerate(C):
            X[self._rows[k], :rank] = self._weights[k] * self._W[k]
            X[self._rows[k], widths[k] : widths[k + 1]] = self._weights[k] * c
        units = lengths((X**2).sum(axis=0))
        U, s, Vt = np.linalg.svd(X / units, full_matrices=False)
        sure = s > RANK * s[0]
        basis = U[:, sure]
        x = (Vt[sure].T / s[sure]) @ (basis.T @ self._target) / units
        residual = self._target - basis @ (basis.T @ self._target)
        return _Point(residual, basis, [x[a:b] for a, b in itertools.pairwise(widths)], slopes)


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
        columns = velocity_function(self.model)(v.reshape(-1, 1), self.shape)
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
        C = values(v[:, None], theta[0])
        dC = slopes(v[:, None], theta[0])
        return [C], [dC]

    none = np.zeros((len(v), 0))
    bounds = [np.array(law.lower(speed))], [np.array(law.upper(speed))]
    start = [np.array(law.start(speed))]
    found = fit_shapes(columns, [none], [tau], np.ones(1), start, *bounds, f"{law.name} friction of one joint")
    rms, size = float(np.sqrt(found.objective / len(v))), float(np.sqrt(np.mean(tau**2)))
    error = 100.0 * rms / size if size else 0.0
    return FrictionFit(law, found.amplitudes[0], found.theta[0], rms, error)


def velocity_function(law: FrictionLaw, derivative: bool = False) -> Function:
    """``(v, theta) -> columns`` of a law of the velocity, or their derivatives in theta.

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
    made = ca.jacobian(columns, theta) if derivative else columns
    function = ca.Function("columns", [v, theta], [ca.densify(made)], ["v", "theta"], ["c"], {"cse": True})
    return Function(function, axes=2 if derivative else 1)


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
    return model.with_friction(Friction(tuple(JointFriction(law, tuple(row.tolist())) for row in theta)))


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

    def evaluate(part: slice) -> Array:
        return np.asarray(function(*(a[part] for a in arrays), theta))

    return np.concatenate([block for _, block in filtered_blocks(data, evaluate)])
