"""Closed-loop output error: simulated motions, their derivatives in the base parameters, the ones that fit best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dtbtrs
from scipy.optimize import least_squares

from casid.arrays import Array
from casid.codegen import Function, accumulate
from casid.control import Controller
from casid.dynamics import BaseParameters, Model, inverse_dynamics_derivatives, regroup, rk4_step
from casid.errors import DatasetError, SolveError
from casid.evidence import Batches
from casid.measurement import Dataset
from casid.regression._fit import BEYOND, EXCITATION_TOLERANCE, Fit, joint_weights, wls
from casid.regression._rows import lengths
from casid.regression.estimators._estimator import Estimator, Observations

#: Control steps whose derivatives are held at a time.
CHUNK = 2048


def loop_sensitivities(loop: ClosedLoop, states: Array, beta: Array) -> Array:
    """``dq/dbeta`` at every control step, shape (N, n, rank).

    One control step takes the state x to ``F(x, beta)``. With ``A_k = dF/dx``, ``B_k = dF/dbeta`` along the motion the
    sensitivities ``S_k = dx_k/dbeta`` solve the banded linear system ``S_{k+1} = A_k S_k + B_k``, ``S_0 = 0``. A and B
    follow by the chain rule through the stages of the integrator from

        d ddq = M^-1 (d tau - dtau/dq dq - dtau/d(dq) d(dq) - Y dbeta),

    with M, the partial derivatives and the regressor Y evaluated for all stages of all steps in one batch.

    Parameters
    ----------
    loop
    states : ndarray, shape (N, states)
        ``[q; dq; memory]`` at every control step.
    beta : ndarray, shape (rank,)
    """
    n, size, rank = loop.model.n, states.shape[1], len(beta)
    steps = len(states) - 1
    if steps < 1:
        return np.zeros((len(states), n, rank))
    A, B = np.empty((steps, size, size)), np.empty((rank, steps, size))
    for first in range(0, steps, CHUNK):
        part = slice(first, min(first + CHUNK, steps))
        F = _chained(loop, states[part], loop.references[part], beta)
        A[part], B[:, part] = F[:, :, :size], F[:, :, size:].transpose(2, 0, 1)
    band = np.zeros((2 * size, steps * size), order="F")
    band[0] = 1.0
    for row in range(size):
        for column in range(size):
            band[size + row - column, column : (steps - 1) * size : size] = -A[1:, row, column]
    S, _ = dtbtrs(band, B.reshape(rank, steps * size).T, uplo="L", diag="U", overwrite_b=True)
    out = np.zeros((len(states), n, rank))
    out[1:] = S.T.reshape(rank, steps, size)[:, :, :n].transpose(1, 2, 0)
    return out


@dataclass(frozen=True, eq=False)
class SlopeFunctions:
    """What the derivatives of a closed loop are made of.

    Attributes
    ----------
    control : Function
        ``(x, r) -> tau, dtau/dx, dmemory/dx`` of one control step.
    forward, derivatives, regressor : Function
        ``(q, dq, tau, beta) -> ddq``; ``(q, dq, ddq, beta) -> dtau/dq, dtau/d(dq), M``; ``(q, dq, ddq) -> Y``.
    """

    control: Function
    forward: Function
    derivatives: Function
    regressor: Function

    @classmethod
    def of(cls, loop: ClosedLoop) -> SlopeFunctions:
        """Those of a loop."""
        base = loop.model.with_base_parameters()
        return cls(_control(loop), base.forward_dynamics, inverse_dynamics_derivatives(base), loop.model.base_regressor)


def _control(loop: ClosedLoop) -> Function:
    n, remembered = loop.model.n, loop.controller.states
    x, r = ca.SX.sym("x", (2 + remembered) * n), ca.SX.sym("r", 3 * n)
    memory = ca.reshape(x[2 * n :], n, remembered)
    tau, memory = loop.controller.joint_step(r, x[:n], x[n : 2 * n], memory)
    new = ca.densify(ca.jacobian(ca.vec(memory), x))
    outputs = [ca.densify(tau), ca.densify(ca.jacobian(tau, x)), new]
    return Function(ca.Function("control", [x, r], outputs, {"cse": True}), axes=(1, 2, 2))


def _chained(loop: ClosedLoop, states: Array, references: Array, beta: Array) -> Array:
    """``[dF/dx, dF/dbeta]`` of the control steps from these states, shape (steps, states, states + rank)."""
    use = loop.slope_functions
    n, (count, size) = loop.model.n, states.shape
    tau, slope, remembered = use.control(states, references)
    wide = size + len(beta)
    h = loop.period / loop.substeps
    driven = np.zeros((count, n, wide))
    driven[:, :, :size] = slope
    # motion [q; dq] in the first column, its derivatives in the others
    motion = np.zeros((count, 2 * n, 1 + wide))
    motion[:, :, 0] = states[:, : 2 * n]
    motion[:, :, 1 : 1 + 2 * n] = np.eye(2 * n)

    def rate(motion: Array, tau: Array) -> Array:
        """Velocities and accelerations, and their derivatives."""
        q, dq = (np.ascontiguousarray(motion[:, part, 0]) for part in (slice(None, n), slice(n, None)))
        ddq = use.forward(q, dq, tau, beta)
        by_q, by_dq, M = use.derivatives(q, dq, ddq, beta)
        right = driven - by_q @ motion[:, :n, 1:] - by_dq @ motion[:, n:, 1:]
        right[:, :, size:] -= use.regressor(q, dq, ddq)
        accelerations = np.concatenate([ddq[:, :, None], np.linalg.solve(M, right)], axis=2)
        return np.concatenate([motion[:, n:], accelerations], axis=1)

    for _ in range(loop.substeps):
        motion = rk4_step(rate, motion, tau, h)
    kept = np.zeros((count, size - 2 * n, wide))
    kept[:, :, :size] = remembered
    return np.concatenate([motion[:, :, 1:], kept], axis=1)


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """Robot, controller and reference motion.

    Between control steps the torque is held and the equations of motion are integrated by Runge and Kutta's method of
    order 4, as one CasADi function, so that derivatives in the parameters are exact.

    Attributes
    ----------
    model : Model
        With friction that is smooth in the velocity; its base parameters are the parameters.
    controller : Controller
    reference, velocity, acceleration : ndarray, shape (N, n)
        Asked for at every control step; velocity and acceleration may be zero where the controller does not use them.
    period : float
        Of the controller [s].
    substeps : int
        Integration steps in a control period.
    """

    model: Model
    controller: Controller
    reference: Array
    velocity: Array
    acceleration: Array
    period: float
    substeps: int = 1

    def __post_init__(self) -> None:
        shape = (len(self.reference), self.model.n)
        for name in ("reference", "velocity", "acceleration"):
            value = np.array(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise DatasetError(f"{name}: expected finite numbers of shape {shape}, got shape {value.shape}")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if not self.period > 0 or self.substeps < 1:
            raise DatasetError(f"period and substeps must be positive, got {self.period} and {self.substeps}")

    @cached_property
    def _step(self) -> ca.Function:
        """``(state, reference, beta) -> (state, [q; dq; ddq; tau])``; state = [q; dq; memory]."""
        n, states = self.model.n, self.controller.states
        base = self.model.with_base_parameters()
        x = ca.SX.sym("x", (2 + states) * n)
        r = ca.SX.sym("r", 3 * n)
        beta = ca.SX.sym("beta", self.model.base.rank)
        q, dq = x[:n], x[n : 2 * n]
        memory = ca.reshape(x[2 * n :], n, states)
        tau, memory = self.controller.joint_step(r, q, dq, memory)

        def rate(motion: ca.SX, tau: ca.SX) -> ca.SX:
            return ca.vertcat(motion[n:], base.forward_dynamics(motion[:n], motion[n:], tau, beta))

        motion = x[: 2 * n]
        for _ in range(self.substeps):
            motion = rk4_step(rate, motion, tau, self.period / self.substeps)
        now = ca.vertcat(q, dq, base.forward_dynamics(q, dq, tau, beta), tau)
        return ca.Function("step", [x, r, beta], [ca.vertcat(motion, ca.vec(memory)), now], {"cse": True})

    def _motion(self, beta: Array) -> tuple[Array, Array]:
        """State after every control step, and ``[q; dq; ddq; tau]`` at it: shapes (N, states) and (N, 4 n)."""
        return accumulate(self._step, self._start, self.references, beta)

    @cached_property
    def _start(self) -> Array:
        """State before the first control step."""
        place = ca.SX.sym("q", self.model.n)
        remembered = ca.Function("memory", [place], [ca.densify(ca.vec(self.controller.initial(place)))])
        start = ca.DM(self.reference[0])
        return np.asarray(ca.vertcat(start, ca.DM(self.velocity[0]), remembered(start)).full().ravel())

    def simulate(self, beta: ArrayLike) -> Dataset:
        """The motion with these base parameters: exact t, q, dq, ddq, tau at every control step.

        Raises
        ------
        SolveError
            If the simulation diverges.
        """
        n = self.model.n
        values = np.hstack(self._motion(np.asarray(beta, dtype=float))[::-1])
        if not np.isfinite(values).all():
            raise SolveError(
                f"the simulated motion diverges at t = {self._diverged(values):.4g} s with these parameters"
            )
        t = np.asarray(self.period * np.arange(len(values)), dtype=float)
        q, dq, ddq, tau = (values[:, k * n : (k + 1) * n] for k in range(4))
        return Dataset(t, q, tau, dq, ddq, name="simulated")

    def positions(self, beta: ArrayLike) -> tuple[Array, Array]:
        """Simulated positions, shape (N, n), and their derivatives in the base parameters, shape (N, n, rank).

        The derivatives of the integrated motion itself, to rounding (`loop_sensitivities`).
        """
        states = self._states(np.asarray(beta, dtype=float))
        if not np.isfinite(states).all():
            raise SolveError("the simulated motion diverges with these parameters")
        slopes = loop_sensitivities(self, states, np.asarray(beta, dtype=float))
        if not np.isfinite(slopes).all():
            raise SolveError("the derivatives of the simulated motion diverge with these parameters")
        return states[:, : self.model.n], slopes

    def _states(self, beta: Array) -> Array:
        """``[q; dq; memory]`` at every control step, shape (N, states)."""
        after, _ = self._motion(beta)
        return np.vstack([self._start, after[:-1]])

    @property
    def references(self) -> Array:
        """Position, velocity and acceleration asked for, side by side, shape (N, 3 n)."""
        return np.hstack([self.reference, self.velocity, self.acceleration])

    @cached_property
    def slope_functions(self) -> SlopeFunctions:
        """What `loop_sensitivities` evaluates."""
        return SlopeFunctions.of(self)

    def _diverged(self, values: Array) -> float:
        return self.period * int(np.argmax(~np.isfinite(values).all(axis=1)))


class _LastMotion:
    """Simulated motions, the last of which need not be simulated again."""

    def __init__(self, loop: ClosedLoop) -> None:
        self._loop = loop
        self._motion: dict[bytes, Array] = {}
        self._slopes: dict[bytes, tuple[Array, Array]] = {}

    def simulated(self, beta: Array) -> Array:
        """Positions."""
        key = beta.tobytes()
        if key in self._slopes:
            return self._slopes[key][0]
        if key not in self._motion:
            self._motion = {key: self._loop.simulate(beta).q}
        return self._motion[key]

    def positions(self, beta: Array) -> tuple[Array, Array]:
        """Positions and their derivatives, see `ClosedLoop.positions`."""
        key = beta.tobytes()
        if key not in self._slopes:
            self._slopes = {key: self._loop.positions(beta)}
        return self._slopes[key]


@dataclass(frozen=True)
class OutputError(Estimator):
    """Closed-loop output error (CLOE; Gautier, Janot, Vandanjon 2013, with positions).

    Minimises ``sum_i ||q_i - q_i(beta)||^2 / sigma^2`` over the simulated positions of a `ClosedLoop`, from the
    weighted least-squares estimate or a given start, by SciPy's trust-region method with exact derivatives. Torques
    are used for that start only: the scale of the parameters is that of the controller's gains. Parameters that
    move the simulated positions as others do, or by less than the noise, stay in their regrouped combinations and are
    named by the fit (`Fit.unexcited`, `unexcited_reasons`).

    Attributes
    ----------
    loop : ClosedLoop
    positions : ndarray, shape (N, n)
        Measured at every control step of the loop.
    iterations : int
    start : ndarray, optional
        Base parameters to begin with, shape (rank,): then no measured torque is used.
    """

    loop: ClosedLoop
    positions: Array
    iterations: int = 30
    start: Array | None = None
    name = "CLOE"

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance.

        Raises
        ------
        DatasetError
            If positions and loop do not match.
        SolveError
            If the search does not converge.
        """
        measured = np.asarray(self.positions, dtype=float)
        if measured.shape != self.loop.reference.shape:
            raise DatasetError(
                f"positions have shape {measured.shape}, the loop's reference {self.loop.reference.shape}"
            )
        rows = self._rows(data)
        start, weights = self._begin(data)
        motions = _LastMotion(self.loop)
        excited = self._excited(data, start, measured, motions)
        columns = list(excited.independent)
        first = (excited.K @ start)[: len(columns)]
        scale = np.where(first == 0.0, 1.0, np.abs(first))
        full = np.zeros(len(start))

        def whole(x: Array) -> Array:
            full[columns] = x * scale
            return full

        def residual(x: Array) -> Array:
            return np.asarray((motions.simulated(whole(x)) - measured)[rows].ravel())

        def slope(x: Array) -> Array:
            J = motions.positions(whole(x))[1][rows][:, :, columns]
            return np.asarray(J.reshape(-1, len(columns)) * scale)

        found = least_squares(
            residual, first / scale, jac=slope, x_scale="jac", max_nfev=self.iterations, xtol=1e-7, ftol=1e-9, gtol=None
        )
        if found.status <= 0:
            raise SolveError(f"CLOE: no convergence in {found.nfev} simulations ({found.message})")
        beta = np.zeros(len(start))
        beta[columns] = found.x * scale
        J, e = np.asarray(found.jac) / scale, np.asarray(found.fun)
        inverse = np.linalg.pinv(J.T @ J)
        count = int(rows.sum())
        batches = Batches(count, len(columns))
        batches.add(J.reshape(count, -1, len(columns)), e.reshape(count, -1))
        covariance = inverse @ batches.covariance() @ inverse.T
        for array in (beta, covariance):
            array.setflags(write=False)
        condition = float(np.linalg.cond(J / np.linalg.norm(J, axis=0)))
        return Fit(data.compressed, beta, weights, excited, covariance, condition, self.name, True)

    def _rows(self, data: Observations) -> NDArray[np.bool_]:
        """Control steps that are fitted: all, or those of a part of the observations."""
        if data.whole:
            return np.ones(len(self.positions), dtype=bool)
        rows = np.concatenate(data.rows())
        if len(rows) != len(self.positions):
            raise DatasetError(
                f"{self.name}: a part of the data is fitted only where recordings and loop have the same samples; got "
                f"{len(rows)} and {len(self.positions)}"
            )
        return rows

    def _begin(self, data: Observations) -> tuple[Array, Array]:
        """First base parameters, and the weights of the joints' torques, which only reported errors use."""
        if self.start is None:
            fit = wls(data.compressed)
            return np.array(fit.beta), fit.weights
        start = np.array(self.start, dtype=float)
        if start.shape != (data.model.base.rank,) or not np.isfinite(start).all():
            raise DatasetError(f"start: expected {data.model.base.rank} finite numbers, got shape {start.shape}")
        return start, np.asarray(joint_weights(data.compressed, start))

    def _excited(self, data: Observations, start: Array, measured: Array, motions: _LastMotion) -> BaseParameters:
        """Combinations that the positions determine: their uncertainty moves positions less than the control error."""
        q, J = motions.positions(start)
        rows = J.reshape(-1, J.shape[2])
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        # what the best small change of the parameters leaves is noise
        e = (measured - q).ravel()
        X = rows / lengths((rows**2).sum(axis=0))
        left = e - X @ np.linalg.lstsq(X, e, rcond=1e-10)[0]
        moved = float(np.linalg.norm(measured - self.loop.reference)) or 1.0
        noise = float(np.linalg.norm(left)) / moved / np.sqrt(len(e)) / BEYOND
        return regroup(R, data.model.base.names, max(EXCITATION_TOLERANCE, noise))
