"""Direct and inverse dynamic identification models (DIDIM): torques alone, no measured position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.regression.estimators.instrumental import InstrumentalVariables

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DirectInverse(InstrumentalVariables):
    """DIDIM: the parameters whose simulated torques are the measured ones (Gautier, Janot, Vandanjon 2013).

    Gauss-Newton on ``sum_j w_j^2 ||tau_j - tau_sim,j(beta)||^2``. The controller keeps the simulated motion where it is
    while the parameters change a little, so that the simulated torques' derivative is the regressor Z of the simulated
    motion:

        beta <- beta + (Z' Z)^-1 Z' (tau - tau_sim(beta)) .

    Positions enter only by the start, the weighted least squares estimate. With a soft controller take `OutputError` or
    `InstrumentalVariables`.
    """

    name = "DIDIM"

    def _regressor(self, measured: Array, simulated: Array) -> Array:
        """What the parameters multiply: the regressor of the simulated motion."""
        return simulated
