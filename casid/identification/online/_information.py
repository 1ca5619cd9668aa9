"""Square-root information filter: all that samples say about parameters, in one triangle.

``||rho - R p||^2 + rest`` is the weighted sum of squares of everything seen, so that an estimate after N samples equals
the batch estimate of the same N samples (Bierman 1977, ch. V). Forgetting is directional: only what the newest rows
speak about fades (Cao and Schwartz 2000),

    A <- A - (1 - lambda) A Y' (Y A Y')^+ Y A + Y'Y,      A = R'R,

so that directions without excitation keep what is known of them however long they stay silent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: What is known along a row, ``|R y|``, is rounding below this share of ``sum_k |R_k| |y_k|``: nothing to forget there.
SILENT = 1e-12
#: A parameter is determined by more than this share of its column of R, and a direction by that of the largest.
KNOWN = 1e-10


@dataclass(frozen=True, eq=False)
class Information:
    """What is known of parameters p.

    Attributes
    ----------
    R : ndarray, shape (r, r)
        Upper triangular, up to an orthogonal factor.
    rho : ndarray, shape (r,)
        Or (r, c), of c right-hand sides of the same rows.
    rest : float
        Sum of squares that no p explains.
    count : float
        Scalar equations seen, forgotten ones taken off.
    freedom : float
        Those of them that tell of the noise: the first ones that determine a parameter tell nothing of it.
    determined : int
        Parameters that follow from those before them and the equations seen.
    """

    R: Array
    rho: Array
    rest: float = 0.0
    count: float = 0.0
    freedom: float = 0.0
    determined: int = 0

    @classmethod
    def nothing(cls, size: int) -> Information:
        """Before the first sample."""
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
        """With the information about what ``rows``, shape (k, r), see times ``share`` (lambda), all else untouched.

        With an orthonormal basis D of the columns of R Y', ``R <- R - (1 - sqrt(lambda)) D D' R``, rho likewise.
        """
        if share >= 1.0:
            return self
        silent = SILENT * np.abs(rows) @ np.linalg.norm(self.R, axis=0)
        D: Array = np.zeros((0, len(self.rho)))
        for seen, least in zip(rows @ self.R.T, silent, strict=True):
            for _ in range(2):  # orthogonalised twice is orthogonal
                seen = seen - (D @ seen) @ D
            length = float(np.linalg.norm(seen))
            if length > least:
                D = np.vstack([D, seen / length])
        fade = 1.0 - np.sqrt(share)
        R, rho = self.R - fade * D.T @ (D @ self.R), self.rho - fade * D.T @ (D @ self.rho)
        rest, count, freedom = self.rest * share, self.count * share, self.freedom * share
        return replace(self, R=R, rho=rho, rest=rest, count=count, freedom=freedom)

    @property
    def estimate(self) -> Array:
        """Least-squares p of minimum norm, where some of it is not determined."""
        return np.asarray(np.linalg.lstsq(self.R, self.rho, rcond=KNOWN)[0])

    def error(self, p: Array) -> float:
        """``||rho - R p||^2 + rest``."""
        return float(np.sum((self.rho - self.R @ p) ** 2)) + self.rest

    @property
    def variance(self) -> float:
        """Mean square of the residual at the estimate; infinite where no equation tells of it."""
        return self.error(self.estimate) / self.freedom if self.freedom >= 1.0 else np.inf

    def covariance(self, scale: float = 1.0) -> Array:
        """``scale (R'R)^+``; infinite variances where nothing is known."""
        _, s, Vt = np.linalg.svd(self.R)
        known = s > KNOWN * max(float(s[0]), 1e-300)
        V = Vt.T[:, known] / s[known]
        covariance = scale * V @ V.T
        unknown = np.linalg.norm(Vt[~known], axis=0) > 1e-6 if (~known).any() else np.zeros(len(s), dtype=bool)
        covariance[unknown, unknown] = np.inf
        return np.asarray(covariance)
