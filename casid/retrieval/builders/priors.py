"""Regularisation towards known bodies (CAD, URDF): distances of a link's parameters from a prior.

With the prior's pseudo-inertia J0 of each link (Lee, Wensing and Park 2020, Sec. III; Wensing et al. 2018)::

    euclidean   sum_i ((x_i - x0_i) / s_i)^2            s: the size of the prior body's parameters
    pullback    tr( J0^-1 (J - J0) J0^-1 (J - J0) )     the affine-invariant metric, pulled back at the prior
    entropic    2 (tr J0^-1 J - log det J0^-1 J - 4)    log-det Bregman divergence; equal to pullback to second order

The last two do not depend on units or frames. All three vanish at the prior and are convex in the standard parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.errors import ProblemError
from casid.inertia import consistency, from_pseudo_inertia, pseudo_inertia
from casid.inertia._parameter_vector import link_slice, standard_size

Array = NDArray[np.float64]
Metric = Literal["euclidean", "entropic", "pullback"]


@dataclass(frozen=True, eq=False)
class Prior:
    """Where the parameters are drawn to, how strongly, and how distance is measured.

    Attributes
    ----------
    robot : Robot
    parameters : ndarray, shape (10 n,)
        Standard parameters of the prior bodies.
    weight : float
        Weight of the squared distance, in units of the regression's weighted sum of squares: with joints weighted by
        1/RMS, a relative change of one parameter by 100 % costs as much as ``weight`` torque samples that miss by
        their RMS.
    metric : {"pullback", "entropic", "euclidean"}

    Raises
    ------
    ProblemError
        If a link of the prior is not fully consistent (its pseudo-inertia must be invertible), or the weight is not
        positive.
    """

    robot: Robot
    parameters: Array
    weight: float
    metric: Metric = "pullback"

    def __post_init__(self) -> None:
        x = np.array(self.parameters, dtype=float)
        size = standard_size(len(self.robot.links))
        if x.shape != (size,):
            raise ProblemError(f"prior: expected {size} standard parameters, got shape {x.shape}")
        if not (np.isfinite(self.weight) and self.weight > 0):
            raise ProblemError(f"prior: the weight must be positive and finite, got {self.weight}")
        if self.metric not in ("euclidean", "entropic", "pullback"):
            raise ProblemError(f"prior: metric '{self.metric}' is none of 'pullback', 'entropic', 'euclidean'")
        for link, ten in zip(self.robot.links, x.reshape(-1, 10), strict=True):
            complaint = consistency(ten).complaint()
            if complaint:
                raise ProblemError(f"prior: link '{link.name}': {complaint}; repair it first (nearest_consistent)")
        x.setflags(write=False)
        object.__setattr__(self, "parameters", x)

    def distance(self, parameters: ArrayLike) -> float:
        """Squared distance of standard parameters, shape (10 n,), from the prior."""
        x = np.asarray(parameters, dtype=float)
        if self.metric != "entropic":
            matrix, target = self.rows()
            return float(np.sum((matrix @ x - target) ** 2) / self.weight)
        total = 0.0
        for ten, ten0 in zip(x.reshape(-1, 10), self.parameters.reshape(-1, 10), strict=True):
            ratio = np.linalg.solve(pseudo_inertia(ten0), pseudo_inertia(ten))
            sign, log_determinant = np.linalg.slogdet(ratio)
            total += 2.0 * (np.trace(ratio) - log_determinant - 4.0) if sign > 0 else np.inf
        return float(total)

    def rows(self, around: ArrayLike | None = None) -> tuple[Array, Array]:
        """``(A, b)`` with ``weight distance(x) = ||A x - b||^2``; entropic: the second-order model, up to a constant.

        Parameters
        ----------
        around
            Where the entropic divergence is expanded, shape (10 n,); default: the prior.
        """
        n = len(self.robot.links)
        at = self.parameters if around is None else np.asarray(around, dtype=float)
        A, b = np.zeros((standard_size(n), standard_size(n))), np.zeros(standard_size(n))
        for k in range(n):
            link = link_slice(k)
            if self.metric == "euclidean":
                block, target = (
                    np.diag(1.0 / _sizes(self.parameters[link])),
                    self.parameters[link] / _sizes(self.parameters[link]),
                )
            elif self.metric == "pullback":
                block = _metric_root(self.parameters[link])
                target = block @ self.parameters[link]
            else:
                block = _metric_root(at[link])
                # gradient 2 (J0^-1 - J^-1), Hessian 2 J^-1 . J^-1: the model's minimiser is J + J (J^-1 - J0^-1) J
                J, J0 = pseudo_inertia(at[link]), pseudo_inertia(self.parameters[link])
                target = block @ from_pseudo_inertia(2.0 * J - J @ np.linalg.solve(J0, J))
            A[link, link], b[link] = np.sqrt(self.weight) * block, np.sqrt(self.weight) * target
        return A, b


def _sizes(ten: Array) -> Array:
    """Typical size of each of a body's ten parameters: the inertia's trace, mass times its radius, mass."""
    mass = ten[9]
    inertia = max(float(np.trace(pseudo_inertia(ten)[:3, :3])), 1e-12)
    return np.array([inertia] * 6 + [np.sqrt(mass * inertia)] * 3 + [mass])


def _metric_root(ten: Array) -> Array:
    """Matrix (10, 10) with ``||root dx||^2 = tr(J^-1 dJ J^-1 dJ)``."""
    inverse = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(ten)))
    columns = [(inverse @ pseudo_inertia(unit) @ inverse.T).ravel() for unit in np.eye(10)]
    return np.asarray(np.linalg.qr(np.stack(columns, axis=1), mode="r"))
