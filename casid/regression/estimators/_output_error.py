"""Closed-loop output error: the parameters whose simulated positions are the measured ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from casid.dynamics import BaseParameters
from casid.dynamics._base_parameters import regroup
from casid.errors import DatasetError, SolveError
from casid.regression._fit import BEYOND, EXCITATION_TOLERANCE, Fit, joint_weights, wls
from casid.regression._statistics import Batches
from casid.regression.estimators._closed_loop import ClosedLoop
from casid.regression.estimators._estimator import Estimator, Observations

Array = NDArray[np.float64]


class _LastMotion:
    """Simulated motions, the last of which need not be simulated again."""

    def __init__(self, loop: ClosedLoop) -> None:
        self._loop = loop
        self._motion: tuple[bytes, Array] = (b"", np.empty(0))
        self._slopes: tuple[bytes, tuple[Array, Array]] = (b"", (np.empty(0), np.empty(0)))

    def simulated(self, beta: Array) -> Array:
        """Positions."""
        key = beta.tobytes()
        if key == self._slopes[0]:
            return self._slopes[1][0]
        if key != self._motion[0]:
            self._motion = key, self._loop.simulate(beta).q
        return self._motion[1]

    def positions(self, beta: Array) -> tuple[Array, Array]:
        """Positions and their derivatives, see `ClosedLoop.positions`."""
        key = beta.tobytes()
        if key != self._slopes[0]:
            self._slopes = key, self._loop.positions(beta)
        return self._slopes[1]


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
            return np.asarray((motions.simulated(whole(x)) - measured)[rows].ravel() / spread)

        def slope(x: Array) -> Array:
            J = motions.positions(whole(x))[1][rows][:, :, columns]
            return np.asarray(J.reshape(-1, len(columns)) * scale / spread)

        spread = 1.0
        spread = float(np.sqrt(np.mean(residual(first / scale) ** 2))) or 1.0
        found = least_squares(
            residual, first / scale, jac=slope, x_scale="jac", max_nfev=self.iterations, xtol=1e-7, ftol=1e-9
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
        """Combinations of parameters that the positions determine: their uncertainty moves less than the control error."""
        q, J = motions.positions(start)
        rows = J.reshape(-1, J.shape[2])
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        # what the best small change of the parameters leaves is noise
        e = (measured - q).ravel()
        lengths = np.linalg.norm(rows, axis=0)
        X = rows / np.where(lengths > 0, lengths, 1.0)
        left = e - X @ np.linalg.lstsq(X, e, rcond=1e-10)[0]
        moved = float(np.linalg.norm(measured - self.loop.reference)) or 1.0
        noise = float(np.linalg.norm(left)) / moved / np.sqrt(max(len(e), 1)) / BEYOND
        return regroup(R, data.model.base.names, max(EXCITATION_TOLERANCE, noise))
