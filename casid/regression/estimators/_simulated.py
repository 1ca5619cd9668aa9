"""Estimators that simulate the motion in closed loop: instrumental variables (IDIM-IV) and output error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import RANK, Array
from casid.codegen import Function, accumulate
from casid.control import Controller
from casid.dynamics import BaseParameters, Model, regroup, rk4_step
from casid.errors import DatasetError, SolveError
from casid.evidence import Batches
from casid.files import numeric_array
from casid.measurement import Dataset
from casid.regression._compress import CHUNK, lengths, observation_blocks
from casid.regression._fit import BEYOND, EXCITATION_TOLERANCE, Estimator, Fit, Observations, joint_weights, wls
from casid.regression._rollout import VariationalDynamics
from casid.regression.estimators._catalogue import solved_in_turn

# ------------------------------------------------------------------ instrumental variables

#: From base parameters to recordings of the same motion as simulated, processed like the measured ones.
Simulate = Callable[[Array], Sequence[Dataset]]


@dataclass(frozen=True)
class InstrumentalVariables(Estimator):
    """Instrumental variables: the regressor of a simulated motion (Janot et al. 2014, IDIM-IV).

    Noise in the positions makes the columns of W random and least squares biased. The columns Z of the motion that the
    model itself makes under the same controller and reference are independent of this noise:

        beta <- (sum_j w_j^2 Z_j' W_j)^-1 sum_j w_j^2 Z_j' (tau_j - r_j) ,   Z, r simulated with the last beta.

    ``r_j = tau_sim,j - Z_j beta`` is what differences, filters and sampling leave of the simulated motion, which obeys
    the model exactly between samples; the same is left of the measured one (indirect inference, Gourieroux et al.
    1993).

    The covariance is ``A^-1 (sum_b s_b s_b') A^-T`` with ``A = Z' W`` and the scores ``s_b = Z_b' (tau_b - r_b - W_b
    beta)`` of batches of samples (`Batches`): it holds for noise of any colour.

    Attributes
    ----------
    simulate : callable
        See `Simulate`.
    iterations : int
    tolerance : float
        Relative change of the weighted estimate at which it stops.
    """

    simulate: Simulate
    iterations: int = 10
    tolerance: float = 1e-3
    name = "IDIM-IV"

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance.

        Raises
        ------
        DatasetError
            If simulated and measured recordings do not match.
        SolveError
            If the iteration does not converge.
        """
        start = wls(data.compressed)
        instruments: Sequence[Dataset] = ()

        def equations(beta: Array, scored: bool) -> tuple[Array, Array, Batches]:
            nonlocal instruments
            instruments = instruments if scored else self._instruments(data, beta)
            return self._products(data, instruments, start, beta, scored)

        return solved_in_turn(data, start, equations, self.iterations, self.tolerance, self.name)

    def _instruments(self, data: Observations, beta: Array) -> Sequence[Dataset]:
        made = list(self.simulate(beta))
        if [len(d) for d in made] != [len(d) for d in data.datasets]:
            raise DatasetError(
                f"simulated recordings have {[len(d) for d in made]} samples, the measured ones "
                f"{[len(d) for d in data.datasets]}: process both alike"
            )
        return made

    def _products(
        self, data: Observations, instruments: Sequence[Dataset], start: Fit, beta: Array, scored: bool
    ) -> tuple[Array, Array, Batches]:
        """``Z' W``, ``Z' (tau - r)``, and the scores of batches where asked."""
        columns = list(start.excited.independent)
        size = len(columns)
        A, b = np.zeros((size, size)), np.zeros(size)
        batches = data.batches(size)
        for measured, simulated in zip(data.datasets, instruments, strict=True):
            pairs = zip(
                observation_blocks(data.model, measured), observation_blocks(data.model, simulated), strict=True
            )
            for (first, W), (other, Z) in pairs:
                if first != other or len(W) != len(Z):
                    raise DatasetError(f"{measured.name}: the simulated recording is sampled differently")
                rows = slice(first, first + len(W))
                kept = measured.counted[rows].astype(float)
                scale = kept * start.weights
                left = simulated.tau[rows] - Z @ beta
                tau = scale * (measured.tau[rows] - left)
                Wk, Zk = (scale[:, :, None] * X[:, :, columns] for X in (W, Z))
                flat = Zk.reshape(-1, size)
                A += flat.T @ Wk.reshape(-1, size)
                b += flat.T @ tau.ravel()
                if scored:
                    batches.add(Zk, tau - Wk @ beta[columns])
        return A, b, batches


# ------------------------------------------------------------------ output error


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
            value = numeric_array(getattr(self, name), name, DatasetError, finite=True, shape=shape)
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

    def _motion(self, beta: ArrayLike) -> tuple[Array, Array]:
        """``[q; dq; memory]`` and ``[q; dq; ddq; tau]`` at every control step, shapes (N, states) and (N, 4 n)."""
        place = ca.SX.sym("q", self.model.n)
        remembered = ca.Function("memory", [place], [ca.densify(ca.vec(self.controller.initial(place)))])
        memory = remembered(ca.DM(self.reference[0])).full().ravel()
        start = np.concatenate([self.reference[0], self.velocity[0], memory])
        after, values = accumulate(self._step, start, self._references, np.asarray(beta, dtype=float))
        finite = np.isfinite(np.hstack([values, after])).all(axis=1)
        if not finite.all():
            when = self.period * int(np.argmin(finite))
            raise SolveError(f"the simulated motion diverges at t = {when:.4g} s with these parameters")
        return np.vstack([start, after[:-1]]), values

    def simulate(self, beta: ArrayLike) -> Dataset:
        """The motion with these base parameters: exact t, q, dq, ddq, tau at every control step.

        Raises
        ------
        SolveError
            If the simulation diverges.
        """
        _, values = self._motion(beta)
        q, dq, ddq, tau = np.split(values, 4, axis=1)
        return Dataset(self.period * np.arange(len(values), dtype=np.float64), q, tau, dq, ddq, name="simulated")

    def positions(self, beta: ArrayLike) -> tuple[Array, Array]:
        """Simulated positions, shape (N, n), and their derivatives in the base parameters, shape (N, n, rank).

        The derivatives are those of the integrated motion itself, to rounding. One control step takes the state x to
        ``F(x, beta)``. With ``A_k = dF/dx``, ``B_k = dF/dbeta`` along the motion the sensitivities ``S_k = dx_k/dbeta``
        solve the banded linear system ``S_{k+1} = A_k S_k + B_k``, ``S_0 = 0``.

        Raises
        ------
        SolveError
            If the simulation or its derivatives diverge.
        """
        from scipy.linalg.lapack import dtbtrs  # slow to import

        beta = np.asarray(beta, dtype=float)
        states, _ = self._motion(beta)
        (count, size), rank, n = states.shape, len(beta), self.model.n
        slopes = np.zeros((count, n, rank))
        if count > 1:
            parts = [slice(first, min(first + CHUNK, count - 1)) for first in range(0, count - 1, CHUNK)]
            F = np.concatenate([self._chained(states[part], self._references[part], beta) for part in parts])
            band = np.zeros((2 * size, (count - 1) * size), order="F")
            band[0] = 1.0
            for row in range(size):
                for column in range(size):
                    band[size + row - column, column : (count - 2) * size : size] = -F[1:, row, column]
            B = F[:, :, size:].reshape(-1, rank)
            S, _ = dtbtrs(band, B, uplo="L", diag="U")
            slopes[1:] = S.reshape(count - 1, size, rank)[:, :n]
        if not np.isfinite(slopes).all():
            raise SolveError("the derivatives of the simulated motion diverge with these parameters")
        return states[:, :n], slopes

    def _chained(self, states: Array, references: Array, beta: Array) -> Array:
        """``[dF/dx, dF/dbeta]`` of the control steps from these states, shape (steps, states, states + rank)."""
        n, (count, size) = self.model.n, states.shape
        torque, slope, remembered = self._control(states, references)
        wide = size + len(beta)
        driven = np.zeros((count, n, wide))
        driven[:, :, :size] = slope
        motion = np.zeros((count, 2 * n, 1 + wide))
        motion[:, :, 0] = states[:, : 2 * n]
        motion[:, :, 1 : 1 + 2 * n] = np.eye(2 * n)
        for _ in range(self.substeps):
            motion = self._dynamics.step(motion, torque, beta, self.period / self.substeps, driven)
        kept = np.zeros((count, size - 2 * n, wide))
        kept[:, :, :size] = remembered
        return np.concatenate([motion[:, :, 1:], kept], axis=1)

    @cached_property
    def _dynamics(self) -> VariationalDynamics:
        return VariationalDynamics.of(self.model, base=True)

    @cached_property
    def _control(self) -> Function:
        """``(x, r) -> tau, dtau/dx, dmemory/dx`` of one control step."""
        n, remembered = self.model.n, self.controller.states
        x, r = ca.SX.sym("x", (2 + remembered) * n), ca.SX.sym("r", 3 * n)
        tau, memory = self.controller.joint_step(r, x[:n], x[n : 2 * n], ca.reshape(x[2 * n :], n, remembered))
        slopes = [ca.densify(ca.jacobian(made, x)) for made in (tau, ca.vec(memory))]
        return Function(ca.Function("control", [x, r], [ca.densify(tau), *slopes], {"cse": True}), axes=(1, 2, 2))

    @property
    def _references(self) -> Array:
        """Position, velocity and acceleration asked for, side by side, shape (N, 3 n)."""
        return np.hstack([self.reference, self.velocity, self.acceleration])


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
        from scipy.optimize import least_squares  # slow to import

        measured = numeric_array(self.positions, "positions", DatasetError, shape=self.loop.reference.shape)
        rows = self._rows(data)
        start, weights = self._begin(data)
        moved = lru_cache(maxsize=1)(lambda key: self.loop.positions(np.frombuffer(key)))  # asked for twice at a point
        excited = self._excited(data, measured, *moved(start.tobytes()))
        columns = list(excited.independent)
        first = (excited.K @ start)[: len(columns)]
        scale = np.where(first == 0.0, 1.0, np.abs(first))
        full = np.zeros(len(start))

        def at(x: Array) -> tuple[Array, Array]:
            full[columns] = x * scale
            return moved(full.tobytes())

        def residual(x: Array) -> Array:
            return np.asarray((at(x)[0] - measured)[rows].ravel())

        def slope(x: Array) -> Array:
            return np.asarray(at(x)[1][rows][:, :, columns].reshape(-1, len(columns)) * scale)

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
        start = numeric_array(self.start, "start", DatasetError, finite=True, shape=(data.model.base.rank,))
        return start, np.asarray(joint_weights(data.compressed, start))

    def _excited(self, data: Observations, measured: Array, q: Array, J: Array) -> BaseParameters:
        """Combinations that the positions determine: their uncertainty moves positions less than the control error."""
        rows = J.reshape(-1, J.shape[2])
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        # what the best small change of the parameters leaves is noise
        e = (measured - q).ravel()
        X = rows / lengths((rows**2).sum(axis=0))
        left = e - X @ np.linalg.lstsq(X, e, rcond=RANK)[0]
        moved = float(np.linalg.norm(measured - self.loop.reference)) or 1.0
        noise = float(np.linalg.norm(left)) / moved / np.sqrt(len(e)) / BEYOND
        return regroup(R, data.model.base.names, max(EXCITATION_TOLERANCE, noise))
