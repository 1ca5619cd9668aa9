"""Losses: the contract; on accelerations of forward dynamics; of rollouts under the recorded torques."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import numeric_array
from casid.measurement import Dataset
from casid.regression import VariationalDynamics

#: ``(k, pi) -> gradient`` of the k-th batch.
Slopes = Callable[[int, Array], Array]


class Loss(ABC):
    """A mean of squares over samples, of parameters in the order of `Chart`.

    Attributes
    ----------
    samples : int
        Number of samples N; batches are indices into them.
    """

    samples: int

    @abstractmethod
    def value(self, pi: Array) -> float:
        """Mean over all samples."""

    @abstractmethod
    def gradient(self, pi: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
        """Mean over the samples ``rows``, and its gradient in pi."""

    @abstractmethod
    def residual(self, pi: Array) -> tuple[Array, Array]:
        """Residual r and Jacobian ``dr/dpi`` with ``value = |r|^2``, compressed where the loss is linear in pi."""

    @abstractmethod
    def nmse(self, pi: Array) -> Array:
        """Mean squared error over the variance of each joint's signal, shape (n,)."""

    def check(self, pi: Array) -> None:
        """DatasetError unless value and gradient at parameters pi have the shapes of the contract."""
        where, one = f"loss '{type(self).__name__}'", np.zeros(1, dtype=np.intp)
        numeric_array(self.value(pi), f"{where}: `value`", DatasetError, shape=())
        given = self.gradient(pi, one)
        if not isinstance(given, tuple) or len(given) != 2:
            raise DatasetError(f"{where}: `gradient` returns a mean and its gradient, got {type(given).__name__}")
        numeric_array(given[0], f"{where}: mean of `gradient`", DatasetError, shape=())
        numeric_array(given[1], f"{where}: `gradient`", DatasetError, shape=pi.shape)

    def linearised(self, pi: Array) -> tuple[Array, Array]:
        """`residual`, with the shapes checked; DatasetError for others."""
        where, given = f"loss '{type(self).__name__}'", self.residual(pi)
        if not isinstance(given, tuple) or len(given) != 2:
            raise DatasetError(f"{where}: `residual` returns r and its Jacobian, got {type(given).__name__}")
        r = numeric_array(given[0], f"{where}: `residual`", DatasetError, shape=(np.size(given[0]),))
        return r, numeric_array(given[1], f"{where}: Jacobian of `residual`", DatasetError, shape=(len(r), len(pi)))

    def batches(self, size: int, shuffle: bool) -> list[NDArray[np.intp]]:
        """All samples in batches of a size (the last may be smaller): drawn once, or in the recording's order."""
        order = np.random.default_rng(self.samples).permutation(self.samples) if shuffle else np.arange(self.samples)
        return [order[begin : begin + size] for begin in range(0, self.samples, size)]

    def slopes(self, size: int, shuffle: bool) -> Slopes:
        """Gradients of those `batches`; a loss that can compress a batch does so once."""
        batches = self.batches(size, shuffle)
        return lambda k, pi: self.gradient(pi, batches[k])[1]


def check_torques(data: Dataset) -> None:
    """DatasetError where a recording has masked torques: a loss of whole samples has no use for a part of them."""
    if data.mask is not None and not data.mask.all():
        raise DatasetError(f"{data.name}: training needs the torques of all joints at all samples; some are masked")


def check_terms(model: Model) -> None:
    """DatasetError where the dynamics need more than the motion, as a simulation of them would not have it."""
    further = model.regressor.name_in()[3:]
    if further:
        raise DatasetError(f"this loss has no input '{further[0]}' of the model; leave the terms out or use TorqueLoss")


class AccelerationLoss(Loss):
    """``mean of ((ddq - FD(q, dq, tau; pi))_j / s_j)^2`` with s the standard deviation of each acceleration.

    The derivative needs no differentiation of FD: ``d FD / d pi = -M(q; pi)^-1 Y(q, dq, FD)``. Parametrisations
    without positive definite inertias can make M singular, which ends the training with an error.

    Parameters
    ----------
    model, data
        As for `TorqueLoss`; the recording needs dq, ddq and tau. Inertias must be symmetric.

    Raises
    ------
    DatasetError
        If velocities or accelerations are missing, joints do not match, torques are masked, a joint never accelerates,
        or a joint term needs more than the motion.
    """

    def __init__(self, model: Model, data: Dataset) -> None:
        if data.dq is None or data.ddq is None or data.n != model.n:
            raise DatasetError(f"{data.name}: needs velocities, accelerations and {model.n} joints; process it first")
        check_torques(data)
        check_terms(model)
        self.model, self.data, self.samples = model, data, len(data)
        self.scale = data.ddq.std(axis=0)
        if not (self.scale > 0).all():
            joint = model.robot.coordinates[int(np.argmin(self.scale))].name
            raise DatasetError(f"{data.name}: {joint} never accelerates; leave it out or use TorqueLoss")
        columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
        q, dq, ddq = (ca.SX.sym(name, model.n) for name in ("q", "dq", "ddq"))
        own = ca.SX.sym("pi", len(columns))
        pi = ca.SX(len(columns), 1)
        pi[columns] = own
        bias = model.inverse_dynamics(q, dq, ca.SX(model.n, 1), pi)
        M = model.mass_matrix(q, pi)
        bodies = ca.Function("bias", [q, dq, own], [ca.densify(bias), ca.densify(M)], {"cse": True})
        self._bias = Function(bodies, axes=2)
        Y = model.regressor(q, dq, ddq)[:, columns]
        self._regressor = Function(ca.Function("Y", [q, dq, ddq], [ca.densify(Y)], {"cse": True}), axes=2)

    def _predict(self, pi: Array, rows: NDArray[np.intp] | slice) -> tuple[Array, Array, Array, Array]:
        d = self.data
        assert d.dq is not None and d.ddq is not None
        bias, M = self._bias(d.q[rows], d.dq[rows], pi)
        try:
            predicted = np.linalg.solve(M, d.tau[rows][..., None] - bias)[..., 0]
        except np.linalg.LinAlgError:
            raise DatasetError("the mass matrix became singular in training; use a physical parametrisation") from None
        return (predicted - d.ddq[rows]) / self.scale, predicted, np.asarray(M), d.q[rows]

    def _jacobian(self, predicted: Array, M: Array, rows: NDArray[np.intp] | slice) -> Array:
        d = self.data
        assert d.dq is not None
        Y = self._regressor(d.q[rows], d.dq[rows], predicted)
        return np.asarray(-np.linalg.solve(M, Y) / self.scale[:, None])

    def value(self, pi: Array) -> float:
        """Mean over all samples and joints."""
        return float(np.mean(self._predict(pi, slice(None))[0] ** 2))

    def gradient(self, pi: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
        """Mean over a batch and its gradient."""
        error, predicted, M, _ = self._predict(pi, rows)
        J = self._jacobian(predicted, M, rows)
        return float(np.mean(error**2)), 2.0 / error.size * np.tensordot(error, J, axes=([0, 1], [0, 1]))

    def residual(self, pi: Array) -> tuple[Array, Array]:
        """All samples' residuals and their Jacobian."""
        error, predicted, M, _ = self._predict(pi, slice(None))
        J = self._jacobian(predicted, M, slice(None))
        scale = np.sqrt(error.size)
        return error.ravel() / scale, J.reshape(error.size, -1) / scale

    def nmse(self, pi: Array) -> Array:
        """Per joint."""
        return np.asarray((self._predict(pi, slice(None))[0] ** 2).mean(axis=0))


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
        if np.ptp(steps) > ALIKE * steps.mean():
            raise DatasetError(f"{data.name}: samples are not equally spaced; resample first")
        self.model, self.data, self.window, self.step = model, data, window, float(steps.mean())
        self._first = np.arange(0, len(data) - window, stride or window)
        self.samples = len(self._first)
        self._states = np.concatenate([data.q, data.dq], axis=1)
        deviation = self._states.std(axis=0)
        self.scale = np.where(deviation > 0, deviation, np.inf)
        if not np.isfinite(self.scale).any():
            raise DatasetError(f"{data.name}: nothing moves")
        self._columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
        self._dynamics = VariationalDynamics.of(model)

    def _roll(self, pi: Array, rows: NDArray[np.intp], sensitive: bool = True) -> tuple[Array, Array]:
        """Scaled errors (B, W, 2 n) and their Jacobian (B, W, 2 n, columns)."""
        first, n = self._first[rows], self.model.n
        width = len(pi) if sensitive else 0
        whole = np.zeros(len(pi))
        whole[self._columns] = pi
        y = np.concatenate([self._states[first][..., None], np.zeros((len(first), 2 * n, width))], axis=2)
        errors = np.empty((len(first), self.window, 2 * n))
        slopes = np.empty((len(first), self.window, 2 * n, width))
        with np.errstate(all="ignore"):
            for k in range(self.window):
                y = self._dynamics.step(y, self.data.tau[first + k], whole, self.step)
                errors[:, k] = (y[..., 0] - self._states[first + k + 1]) / self.scale
                slopes[:, k] = y[..., 1:][..., self._columns if sensitive else []] / self.scale[:, None]
        if sensitive and not (np.isfinite(errors).all() and np.isfinite(slopes).all()):
            raise DatasetError(
                "rollouts are not finite any more: the mass matrix is not that of bodies, or the window is too long; "
                "use a physical parametrisation, a smaller rate or a shorter window"
            )
        return errors, slopes

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
