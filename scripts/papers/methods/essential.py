"""The method of Gautier et al. (2013): essential parameters, and the standard ones that are nearest to CAD values.

The essential base parameters are found once (Pham and Gautier 1991). The estimate is then taken to the standard
parameters by the shortest step from the CAD values (a singular value decomposition): it explains the data as well as
the essential ones do, and is feasible where the CAD values are and the step is short. Nothing makes it so: feasibility
is only checked (Sousa 2014, Sec. 2.6.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.arrays import Array
from casid.inertia._parameters import spatial_inertia
from casid.regression import essential
from papers.methods.wam import WamData


@dataclass(frozen=True, eq=False)
class EssentialFit:
    """Standard parameters near CAD values that have the essential base parameters.

    Attributes
    ----------
    parameters : ndarray, shape (N,)
    kept : int
        Essential base parameters.
    error : float
        Relative error of the weighted data [%].
    eigenvalue : float
        Smallest of all links' spatial inertias, and of parameters that must not be negative.
    """

    parameters: Array
    kept: int
    error: float
    eigenvalue: float

    @property
    def feasible(self) -> bool:
        """Whether these very parameters are feasible; others with the same base parameters may be."""
        return self.eigenvalue >= 0


def essential_fit(data: WamData) -> EssentialFit:
    """Of the simulated arm; CAD values of links from its robot file, none of friction and rotors."""
    model, base = data.model, data.base
    fit, removed = essential(data.weighted)
    kept = [k for k, name in enumerate(base.names) if name not in removed]
    cad = np.zeros(len(model.parameter_names))
    cad[np.ravel(model.link_columns)] = model.robot.standard_parameters()
    K = base.K[kept]
    parameters = cad + np.linalg.pinv(K) @ (fit.beta[kept] - K @ cad)
    allowed = data.feasible_set("semi")
    smallest = min(float(np.linalg.eigvalsh(spatial_inertia(parameters[i : i + 10]))[0]) for i in allowed.links)
    smallest = min(smallest, float(parameters[list(allowed.nonnegative)].min()))
    beta = np.zeros(base.rank)
    beta[kept] = fit.beta[kept]
    return EssentialFit(parameters, len(kept), data.relative_error(beta, weighted=True), smallest)
