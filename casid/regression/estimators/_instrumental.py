"""Instrumental variables from simulation (IDIM-IV)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from casid.arrays import Array
from casid.errors import DatasetError
from casid.evidence import Batches
from casid.measurement import Dataset
from casid.regression._compress import observation_blocks
from casid.regression._fit import Fit, wls
from casid.regression.estimators._estimator import Estimator, Observations, solved_in_turn

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
