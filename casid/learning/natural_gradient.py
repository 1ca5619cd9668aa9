"""Natural gradient: steps measured by how far they move the bodies, not the coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.learning.chart import Chart
from casid.learning.gauss_newton import GaussNewton

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NaturalGradient(GaussNewton):
    """``(J'J + lambda G) d = -J'r`` with G the pullback of the affine-invariant metric (`Chart.metric`).

    For large lambda the natural gradient ``-G^-1 J'r / lambda`` (Lee, Kwon and Park 2018), for small lambda
    Gauss-Newton: the same trust region for every coordinate system of the same bodies.
    """

    damping: float = 1e-4
    name = "natural-gradient"

    def scaling(self, chart: Chart, theta: Array, H: Array) -> Array:
        """The metric, scaled to the size of J'J."""
        G = chart.metric(theta)
        G = G + 1e-10 * np.trace(G) / len(G) * np.eye(len(G))
        return np.asarray(G * (np.trace(H) / max(np.trace(G), 1e-300)))
