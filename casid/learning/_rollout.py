"""The rollout loss: motions that the model produces when the recorded torques drive it."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.codegen._evaluate import bound_batch
from casid.dynamics import Model
from casid.dynamics._derived import rk4_step
from casid.errors import DatasetError
from casid.learning._loss import Loss, check_terms, check_torques
from casid.measurement import Dataset

Array = NDArray[np.float64]


class RolloutLoss(Loss):
    """``mean of ((x_k - x(k h; x_0, tau, pi))_i / s_i)^2`` over windows of the recording, x = (q, dq).

    Each window starts at a recorded state; the recorded torques, held between samples, drive the model through
    ``window`` steps of Runge and Kutta's fourth order. No accelerations enter. The derivative is that of the
    integration itself: the variational equation ``dS/dt = f_x S + f_pi`` with ``f_pi = -M^-1 Y``, integrated along.

    Parameters
    ----------
    model
        Inertial parameters and smooth joint terms to learn (dry friction stops motions, which has no derivative).
    data
        Recording with dq and torques at a constant rate.
    window
        Steps of a rollout, W.
    stride
        Samples between the starts of windows; default W.

    Raises
    ------
    DatasetError
        If velocities are missing, joints do not match, torques are masked, the recording is shorter than a window, or a
        term is not smooth or needs more than the motion.
        In training: if the model's rollouts are not finite any more (an unphysical mass matrix).
    """

    def __init__(self, model: Model, data: Dataset, window: int = 20, stride: int | None = None) -> None:
        if data.dq is None or data.n != model.n:
            raise DatasetError(f"{data.name}: needs velocities of {model.n} joints; process it first")
        check_torques(data)
        check_terms(model)
        if window < 1 or (stride is not None and stride < 1) or len(data) <= window:
            raise DatasetError(f"{data.name}: windows of {window} steps do not fit into {len(data)} samples")
        dry = [term.name for term in model.terms if term.dry]
        if dry:
            raise DatasetError(f"joint term '{dry[0]}' stops motions: rollouts have no derivative; leave it out")
        steps = np.diff(data.t)
        if np.ptp(steps) > 1e-6 * steps.mean():
            raise DatasetError(f"{data.name}: samples are not equally spaced; resample first")
        self.model, self.data, self.window, self.step = model, data, window, float(steps.mean())
        self._first = np.arange(0, len(data) - window, stride or window)
        self.samples = len(self._first)
        self._states = np.concatenate([data.q, data.dq], axis=1)
        deviation = self._states.std(axis=0)
        self.scale = np.where(deviation > 0, deviation, np.inf)
        if not np.isfinite(self.scale).any():
            raise DatasetError(f"{data.name}: nothing moves")
        columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
        self._rate = _variational_rate(model, columns)
        self._count = len(columns)

    def _roll(self, pi: Array, rows: NDArray[np.intp], sensitive: bool = True) -> tuple[Array, Array]:
        """Scaled errors (B, W, 2 n) and their Jacobian (B, W, 2 n, columns)."""
        first, n = self._first[rows], self.model.n
        width = self._count if sensitive else 0
        y = np.concatenate([self._states[first][..., None], np.zeros((len(first), 2 * n, width))], axis=2)
        errors = np.empty((len(first), self.window, 2 * n))
        slopes = np.empty((len(first), self.window, 2 * n, width))
        with np.errstate(all="ignore"):
            for k in range(self.window):
                y = self._step(y, self.data.tau[first + k], pi)
                errors[:, k] = (y[..., 0] - self._states[first + k + 1]) / self.scale
                slopes[:, k] = y[..., 1:] / self.scale[:, None]
        if sensitive and not (np.isfinite(errors).all() and np.isfinite(slopes).all()):
            raise DatasetError(
                "rollouts are not finite any more: the mass matrix is not that of bodies, or the window is too long; "
                "use a physical parametrisation, a smaller rate or a shorter window"
            )
        return errors, slopes

    def _step(self, y: Array, tau: Array, pi: Array) -> Array:
        """One step of ``y = [x, S]``, shape (B, 2 n, 1 + columns); without the sensitivities S, (B, 2 n, 1)."""
        n = self.model.n

        def rate(y: Array, tau: Array) -> Array:
            f, fx, fpi = self._rate(y[:, :n, 0], y[:, n:, 0], tau, pi)
            return np.concatenate([f, fx @ y[..., 1:] + fpi], axis=2) if y.shape[2] > 1 else f

        return rk4_step(rate, y, tau, self.step)

    def value(self, pi: Array) -> float:
        """Mean over all windows, instants and states; infinite where a rollout is not finite."""
        with np.errstate(all="ignore"):
            value = float(np.mean(self._roll(pi, np.arange(self.samples), False)[0] ** 2))
        return value if np.isfinite(value) else np.inf

    def gradient(self, pi: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
        """Mean over some windows and its gradient."""
        error, slope = self._roll(pi, rows)
        return float(np.mean(error**2)), 2.0 / error.size * np.tensordot(error, slope, axes=3)

    def residual(self, pi: Array) -> tuple[Array, Array]:
        """Errors of all windows and their Jacobian."""
        error, slope = self._roll(pi, np.arange(self.samples))
        size = np.sqrt(error.size)
        return error.ravel() / size, slope.reshape(error.size, -1) / size

    def nmse(self, pi: Array) -> Array:
        """Per joint, of its velocity."""
        error = self._roll(pi, np.arange(self.samples), False)[0]
        return np.asarray((error[:, :, self.model.n :] ** 2).mean(axis=(0, 1)))


def _variational_rate(model: Model, columns: list[int]) -> Callable[..., tuple[Array, ...]]:
    """``(q, dq, tau, own) -> f, f_x, f_pi`` with f = (dq, FD(q, dq, tau; pi))."""
    n = model.n
    q, dq, tau, ddq = (ca.SX.sym(name, n) for name in ("q", "dq", "tau", "ddq"))
    own = ca.SX.sym("own", len(columns))
    pi = ca.SX(len(model.parameter_names), 1)
    pi[columns] = own
    M = model.mass_matrix(q, pi)
    torque = model.inverse_dynamics(q, dq, ddq, pi)
    inverse = ca.inv(M)
    acceleration = inverse @ (tau - model.inverse_dynamics(q, dq, ca.SX(n, 1), pi))
    slopes = ca.substitute(ca.jacobian(torque, ca.vertcat(q, dq, own)), ddq, acceleration)
    slopes = -inverse @ slopes
    f = ca.vertcat(dq, acceleration)
    fx = ca.vertcat(ca.horzcat(ca.SX(n, n), ca.SX.eye(n)), slopes[:, : 2 * n])
    fpi = ca.vertcat(ca.SX(n, len(columns)), slopes[:, 2 * n :])
    outputs = [ca.densify(part) for part in (f, fx, fpi)]
    return bound_batch(ca.Function("variational_rate", [q, dq, tau, own], outputs, {"cse": True}))
