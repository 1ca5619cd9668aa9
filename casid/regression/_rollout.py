"""Derivatives of a motion that is integrated in time: what every output error is fitted with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import Model, inverse_dynamics_derivatives, rk4_step


@dataclass(frozen=True, eq=False)
class VariationalDynamics:
    """Forward dynamics, and the derivatives of the integrated motion itself, of many motions at once.

    The acceleration of a motion ``[q; dq]`` that depends on any quantities s, the parameters p among them, changes by

        d ddq/ds = M^-1 (dtau/ds - dtau/dq dq/ds - dtau/d(dq) d(dq)/ds - Y dp/ds),

    with the partial derivatives of inverse dynamics and its regressor Y at the acceleration that the torques make.

    Attributes
    ----------
    forward, derivatives, regressor : Function
        ``(q, dq, tau, p) -> ddq``; ``(q, dq, ddq, p) -> dtau/dq, dtau/d(dq), M``; ``(q, dq, ddq) -> Y``.
    """

    forward: Function
    derivatives: Function
    regressor: Function

    @classmethod
    def of(cls, model: Model, base: bool = False) -> VariationalDynamics:
        """With p the parameters of a model, or its base parameters."""
        given = model.with_base_parameters() if base else model
        regressor = model.base_regressor if base else model.regressor
        return cls(given.forward_dynamics, inverse_dynamics_derivatives(given), regressor)

    def step(self, motion: Array, tau: Array, p: Array, h: float, driven: Array | float = 0.0) -> Array:
        """One step of Runge and Kutta's fourth order under held torques.

        Parameters
        ----------
        motion : ndarray, shape (N, 2 n, 1 + s)
            ``[q; dq]``, and its derivatives by s quantities, the last of which are the parameters; s = 0: none.
        tau : ndarray, shape (N, n)
        p : ndarray, shape (parameters,)
        h
            [s]
        driven : ndarray, shape (N, n, s)
            Derivatives of the torques.

        Returns
        -------
        ndarray, shape (N, 2 n, 1 + s)
            NaN where the mass matrix is singular.
        """
        n = tau.shape[1]

        def rate(motion: Array, tau: Array) -> Array:
            q, dq = (np.ascontiguousarray(motion[:, part, 0]) for part in (slice(None, n), slice(n, None)))
            ddq = self.forward(q, dq, tau, p)
            if motion.shape[2] == 1:
                return np.concatenate([motion[:, n:], ddq[:, :, None]], axis=1)
            slopes = self.slopes(q, dq, ddq, p, motion[:, :, 1:], driven)
            return np.concatenate([motion[:, n:], np.concatenate([ddq[:, :, None], slopes], axis=2)], axis=1)

        return rk4_step(rate, motion, tau, h)

    def slopes(
        self, q: Array, dq: Array, ddq: Array, p: Array, moved: Array | None = None, driven: Array | float = 0.0
    ) -> Array:
        """``d ddq/ds``, shape (N, n, s): with the derivatives ``moved`` of ``[q; dq]``, shape (N, 2 n, s); None: s = p.

        NaN where the mass matrix is singular.
        """
        by_q, by_dq, M = self.derivatives(q, dq, ddq, p)
        right = -self.regressor(q, dq, ddq)
        if moved is not None:
            n, own = q.shape[1], right
            right = driven - by_q @ moved[:, :n] - by_dq @ moved[:, n:]
            right[:, :, -len(p) :] += own
        try:
            return np.asarray(np.linalg.solve(M, right))
        except np.linalg.LinAlgError:  # parameters that are no bodies'
            return np.full(right.shape, np.nan)
