"""Derivatives of a simulated closed-loop motion in the base parameters, with respect to every control step at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtbtrs

from casid.codegen import evaluate_batch
from casid.dynamics.derived import inverse_dynamics_derivatives

if TYPE_CHECKING:
    from casid.regression.estimators.closed_loop import ClosedLoop

Array = NDArray[np.float64]

#: Control steps whose derivatives are held at a time.
CHUNK = 2048


def loop_sensitivities(loop: ClosedLoop, states: Array, beta: Array) -> Array:
    """``dq/dbeta`` at every control step, shape (N, n, rank).

    One control step takes the state x to ``F(x, beta)``. With ``A_k = dF/dx``, ``B_k = dF/dbeta`` along the motion the
    sensitivities ``S_k = dx_k/dbeta`` solve the banded linear system ``S_{k+1} = A_k S_k + B_k``, ``S_0 = 0``. A and B
    follow by the chain rule through the stages of the integrator from

        d ddq = M^-1 (d tau - dtau/dq dq - dtau/d(dq) d(dq) - Y dbeta),

    with M, the partial derivatives and the regressor Y evaluated for all stages of all steps in one batch.

    Parameters
    ----------
    loop
    states : ndarray, shape (N, states)
        ``[q; dq; memory]`` at every control step.
    beta : ndarray, shape (rank,)
    """
    n, size, rank = loop.model.n, states.shape[1], len(beta)
    steps = len(states) - 1
    if steps < 1:
        return np.zeros((len(states), n, rank))
    A, B = np.empty((steps, size, size)), np.empty((rank, steps, size))
    for first in range(0, steps, CHUNK):
        part = slice(first, min(first + CHUNK, steps))
        F = _chained(loop, states[part], loop.references[part], beta, -(-steps // CHUNK))
        A[part], B[:, part] = F[:, :, :size], F[:, :, size:].transpose(2, 0, 1)
    band = np.zeros((2 * size, steps * size), order="F")
    band[0] = 1.0
    for row in range(size):
        for column in range(size):
            band[size + row - column, column : (steps - 1) * size : size] = -A[1:, row, column]
    S, _ = dtbtrs(band, B.reshape(rank, steps * size).T, uplo="L", diag="U", overwrite_b=True)
    out = np.zeros((len(states), n, rank))
    out[1:] = S.T.reshape(rank, steps, size)[:, :, :n].transpose(1, 2, 0)
    return out


@dataclass(frozen=True, eq=False)
class SlopeFunctions:
    """What the derivatives of a closed loop are made of.

    Attributes
    ----------
    control : casadi.Function
        ``(x, r) -> tau, dtau/dx, dmemory/dx`` of one control step.
    forward, derivatives, regressor : casadi.Function
        ``(q, dq, tau, beta) -> ddq``; ``(q, dq, ddq, beta) -> dtau/dq, dtau/d(dq), M``; ``(q, dq, ddq) -> Y``.
    """

    control: ca.Function
    forward: ca.Function
    derivatives: ca.Function
    regressor: ca.Function

    @classmethod
    def of(cls, loop: ClosedLoop) -> SlopeFunctions:
        """Those of a loop."""
        base = loop.model.with_base_parameters()
        return cls(_control(loop), base.forward_dynamics, inverse_dynamics_derivatives(base), loop.model.base_regressor)


def _control(loop: ClosedLoop) -> ca.Function:
    n, remembered = loop.model.n, loop.controller.states
    x, r = ca.SX.sym("x", (2 + remembered) * n), ca.SX.sym("r", 3 * n)
    memory = ca.reshape(x[2 * n :], n, remembered)
    tau, memory = loop.controller.joint_step(r, x[:n], x[n : 2 * n], memory)
    new = ca.densify(ca.jacobian(ca.vec(memory), x))
    return ca.Function("control", [x, r], [ca.densify(tau), ca.densify(ca.jacobian(tau, x)), new], {"cse": True})


def _chained(loop: ClosedLoop, states: Array, references: Array, beta: Array, chunks: int) -> Array:
    """``[dF/dx, dF/dbeta]`` of the control steps from these states, shape (steps, states, states + rank).

    ``chunks``: how many such stretches there are.
    """
    use = loop.slope_functions
    n, (count, size) = loop.model.n, states.shape
    calls = 4 * loop.substeps * chunks
    torque, slope, remembered = evaluate_batch(use.control, states, references)
    tau, wide = torque[:, :, 0], size + len(beta)
    h = loop.period / loop.substeps
    driven = np.zeros((count, n, wide))
    driven[:, :, :size] = slope
    a, b = states[:, :n], states[:, n : 2 * n]
    da, db = np.zeros((count, n, wide)), np.zeros((count, n, wide))
    da[:, :, :n], db[:, :, n : 2 * n] = np.eye(n), np.eye(n)

    def stage(q: Array, dq: Array, sq: Array, sdq: Array) -> tuple[Array, Array]:
        """Acceleration and its derivatives."""
        ddq = np.asarray(evaluate_batch(use.forward, q, dq, tau, beta, calls=calls))[:, :, 0]
        by_q, by_dq, M = evaluate_batch(use.derivatives, q, dq, ddq, beta, calls=calls)
        right = driven - by_q @ sq - by_dq @ sdq
        right[:, :, size:] -= np.asarray(evaluate_batch(use.regressor, q, dq, ddq, calls=calls))
        return ddq, np.linalg.solve(M, right)

    for _ in range(loop.substeps):
        k1, s1 = stage(a, b, da, db)
        k2, s2 = stage(a + h / 2 * b, b + h / 2 * k1, da + h / 2 * db, db + h / 2 * s1)
        k3, s3 = stage(a + h / 2 * (b + h / 2 * k1), b + h / 2 * k2, da + h / 2 * (db + h / 2 * s1), db + h / 2 * s2)
        k4, s4 = stage(a + h * (b + h / 2 * k2), b + h * k3, da + h * (db + h / 2 * s2), db + h * s3)
        a, b = a + h * b + h**2 / 6 * (k1 + k2 + k3), b + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        da, db = da + h * db + h**2 / 6 * (s1 + s2 + s3), db + h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
    kept = np.zeros((count, size - 2 * n, wide))
    kept[:, :, :size] = remembered
    return np.concatenate([da, db, kept], axis=1)
