"""Closed-loop output error: the parameters whose simulated positions are the measured ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from casid.errors import DatasetError, SolveError
from casid.regression.batches import Batches
from casid.regression.estimators.closed_loop import ClosedLoop
from casid.regression.estimators.estimator import Estimator, Observations
from casid.regression.fit import Fit, wls

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OutputError(Estimator):
    """Closed-loop output error (CLOE; Gautier, Janot, Vandanjon 2013, with positions).

    Minimises ``sum_i ||q_i - q_i(beta)||^2 / sigma^2`` over the simulated positions of a `ClosedLoop`, from the
    weighted least-squares estimate, by SciPy's trust-region method with exact derivatives. Torques enter only by the
    start: what the controller's gains do not scale (a common factor of all parameters and gains) the positions do not
    tell.

    Attributes
    ----------
    loop : ClosedLoop
    positions : ndarray, shape (N, n)
        Measured at every control step of the loop.
    iterations : int
    """

    loop: ClosedLoop
    positions: Array
    iterations: int = 30
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
        start = wls(data.compressed)
        columns = list(start.excited.independent)
        first = start.beta[columns]
        scale = np.where(first == 0.0, 1.0, np.abs(first))
        full = np.zeros(len(start.beta))

        def whole(x: Array) -> Array:
            full[columns] = x * scale
            return full

        def residual(x: Array) -> Array:
            return np.asarray((self.loop.simulate(whole(x)).q - measured).ravel() / spread)

        def slope(x: Array) -> Array:
            J = self.loop.positions(whole(x))[1][:, :, columns]
            return np.asarray(J.reshape(-1, len(columns)) * scale / spread)

        spread = 1.0
        spread = float(np.sqrt(np.mean(residual(first / scale) ** 2))) or 1.0
        found = least_squares(
            residual, first / scale, jac=slope, x_scale="jac", max_nfev=self.iterations, xtol=1e-7, ftol=1e-9
        )
        if found.status <= 0:
            raise SolveError(f"CLOE: no convergence in {found.nfev} simulations ({found.message})")
        beta = np.zeros(len(start.beta))
        beta[columns] = found.x * scale
        J, e = slope(found.x) / scale, residual(found.x)
        inverse = np.linalg.pinv(J.T @ J)
        batches = Batches(len(measured), len(columns))
        batches.add(J.reshape(len(measured), -1, len(columns)), e.reshape(len(measured), -1))
        covariance = inverse @ batches.covariance() @ inverse.T
        for array in (beta, covariance):
            array.setflags(write=False)
        condition = float(np.linalg.cond(J / np.linalg.norm(J, axis=0)))
        return Fit(data.compressed, beta, start.weights, start.excited, covariance, condition, self.name)
