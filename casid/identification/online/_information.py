"""Square-root information filter: all information of samples about parameters, in one triangular matrix.

``||rho - R p||^2 + rest`` is the weighted sum of squares of all samples, so that an estimate after N samples equals the
batch estimate of the same N samples (Bierman 1977, ch. V). Forgetting is directional: only information along the newest
rows fades (Cao and Schwartz 2000),

    A <- A - (1 - lambda) A Y' (Y A Y')^+ Y A + Y'Y,      A = R'R,

so that directions without excitation keep their information for any length of time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Information along a row, ``|R y|``, is rounding below this share of ``sum_k |R_k| |y_k|``: nothing to forget there.
SILENT = 1e-12
#: A parameter is determined by more than this share of its column of R, and a direction by that of the largest.
KNOWN = 1e-10


@dataclass(frozen=True, eq=False)
class Information:
    """Information about parameters p.

    Attributes
    ----------
    R : ndarray, shape (r, r)
        Upper triangular, up to an orthogonal factor.
    rho : ndarray, shape (r,)
        Or (r, c), of c right-hand sides of the same rows.
    rest : float
        Residual sum of squares at the best p.
    count : float
        Number of scalar equations, less the forgotten ones.
    freedom : float
        Degrees of freedom of the noise: the equations beyond those that first determine the parameters.
    determined : int
        Parameters that follow from those before them and the equations so far.
    """

    R: Array
    rho: Array
    rest: float = 0.0
    count: float = 0.0
    freedom: float = 0.0
    determined: int = 0

    @classmethod
    def nothing(cls, size: int) -> Information:
        """No information: before the first sample."""
        return cls(np.zeros((size, size)), np.zeros(size))

    def updated(self, rows: Array, targets: Array) -> Information:
        """With more equations ``rows p = targets`` of unit variance, shapes (k, r) and (k,), or (k, c)."""
        r = len(self.rho)
        above = np.column_stack([self.R, self.rho])
        triangle = np.asarray(np.linalg.qr(np.vstack([above, np.column_stack([rows, targets])]), mode="r"))
        left = triangle[r:, r:].ravel()
        R = triangle[:r, :r].copy()
        determined = int(np.sum(np.abs(np.diagonal(R)) > KNOWN * np.linalg.norm(R, axis=0)))
        freedom = self.freedom + len(rows) - (determined - self.determined)
        rest, count = self.rest + float(left @ left), self.count + len(rows)
        return Information(R, triangle[:r, r:].reshape(self.rho.shape), rest, count, freedom, determined)

    def forgotten(self, rows: Array, share: float) -> Information:
        """With the information along ``rows``, shape (k, r), times ``share`` (lambda), and all other unchanged.

        With an orthonormal basis D of the columns of R Y', ``R <- R - (1 - sqrt(lambda)) D D' R``, rho likewise.
        """
        if share >= 1.0:
            return self
        negligible = SILENT * np.abs(rows) @ np.linalg.norm(self.R, axis=0)
        D: Array = np.zeros((0, len(self.rho)))
        for direction, least in zip(rows @ self.R.T, negligible, strict=True):
            for _ in range(2):  # orthogonalised twice is orthogonal
                direction = direction - (D @ direction) @ D
            length = float(np.linalg.norm(direction))
            if length > least:
                D = np.vstack([D, direction / length])
        fade = 1.0 - np.sqrt(share)
        R, rho = self.R - fade * D.T @ (D @ self.R), self.rho - fade * D.T @ (D @ self.rho)
        rest, count, freedom = self.rest * share, self.count * share, self.freedom * share
        return replace(self, R=R, rho=rho, rest=rest, count=count, freedom=freedom)

    @property
    def estimate(self) -> Array:
        """Least-squares p; the one of minimum norm where it is not fully determined."""
        return np.asarray(np.linalg.lstsq(self.R, self.rho, rcond=KNOWN)[0])

    def error(self, p: Array) -> float:
        """``||rho - R p||^2 + rest``."""
        return float(np.sum((self.rho - self.R @ p) ** 2)) + self.rest

    @property
    def variance(self) -> float:
        """Mean square of the residual at the estimate; infinite without degrees of freedom."""
        return self.error(self.estimate) / self.freedom if self.freedom >= 1.0 else np.inf

    def covariance(self, scale: float = 1.0) -> Array:
        """``scale (R'R)^+``; infinite variances where there is no information."""
        _, s, Vt = np.linalg.svd(self.R)
        known = s > KNOWN * max(float(s[0]), 1e-300)
        V = Vt.T[:, known] / s[known]
        covariance = scale * V @ V.T
        unknown = np.linalg.norm(Vt[~known], axis=0) > 1e-6 if (~known).any() else np.zeros(len(s), dtype=bool)
        covariance[unknown, unknown] = np.inf
        return np.asarray(covariance)
