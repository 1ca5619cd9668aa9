"""Losses: the contract; on accelerations of forward dynamics; of rollouts under the recorded torques."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array
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


class SimulatedLoss(Loss):
    """Mean squares of what the forward dynamics miss under the recorded torques; `errors` says of what.

    Raises
    ------
    DatasetError
        If velocities are missing, joints do not match, torques are masked, or a joint term needs more than the motion.
        In training: if predictions are not finite any more (a singular mass matrix, or one that is no bodies').
    """

    def __init__(self, model: Model, data: Dataset) -> None:
        if data.dq is None or data.n != model.n:
            raise DatasetError(f"{data.name}: needs velocities of {model.n} joints; process it first")
        check_torques(data)
        more = model.regressor.name_in()[3:]
        if more:  # as a simulation would not have it
            raise DatasetError(f"this loss has no input '{more[0]}' of the model; leave terms out or use TorqueLoss")
        self.model, self.data, self.samples = model, data, len(data)
        self._states = np.concatenate([data.q, data.dq], axis=1)
        self._columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
        self._dynamics = VariationalDynamics.of(model)

    @abstractmethod
    def errors(self, pi: Array, rows: NDArray[np.intp], sensitive: bool = True) -> tuple[Array, Array]:
        """Scaled errors of some samples, and their Jacobian (last axis; without columns unless ``sensitive``)."""

    def _ordered(self, pi: Array) -> Array:
        """Parameters in the model's order."""
        whole = np.zeros(len(pi))
        whole[self._columns] = pi
        return whole

    def _sensitive(self, pi: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """`errors` with their Jacobian, finite."""
        with np.errstate(all="ignore"):
            error, slope = self.errors(pi, rows)
        if not (np.isfinite(error).all() and np.isfinite(slope).all()):
            raise DatasetError(
                "predictions are not finite any more: the mass matrix is not that of bodies, or a rollout's window is "
                "too long; use a physical parametrisation, a smaller rate or a shorter window"
            )
        return error, slope

    def value(self, pi: Array) -> float:
        """Mean over all samples; infinite where a prediction is not finite."""
        with np.errstate(all="ignore"):
            value = float(np.mean(self.errors(pi, np.arange(self.samples), False)[0] ** 2))
        return value if np.isfinite(value) else np.inf

    def gradient(self, pi: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
        """Mean over some samples and its gradient."""
        error, slope = self._sensitive(pi, rows)
        return float(np.mean(error**2)), 2.0 / error.size * np.tensordot(error, slope, axes=error.ndim)

    def residual(self, pi: Array) -> tuple[Array, Array]:
        """Errors of all samples and their Jacobian."""
        error, slope = self._sensitive(pi, np.arange(self.samples))
        size = np.sqrt(error.size)
        return error.ravel() / size, slope.reshape(error.size, -1) / size


class AccelerationLoss(SimulatedLoss):
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
        super().__init__(model, data)
        if data.ddq is None:
            raise DatasetError(f"{data.name}: needs accelerations; process it first")
        self._measured, self.scale = data.ddq, data.ddq.std(axis=0)
        if not (self.scale > 0).all():
            joint = model.robot.coordinates[int(np.argmin(self.scale))].name
            raise DatasetError(f"{data.name}: {joint} never accelerates; leave it out or use TorqueLoss")

    def errors(self, pi: Array, rows: NDArray[np.intp], sensitive: bool = True) -> tuple[Array, Array]:
        """Shape (B, n), and their Jacobian (B, n, columns)."""
        whole = self._ordered(pi)
        q, dq = (np.ascontiguousarray(part) for part in np.split(self._states[rows], 2, axis=1))
        ddq = self._dynamics.forward(q, dq, self.data.tau[rows], whole)
        errors = (ddq - self._measured[rows]) / self.scale
        if not sensitive:
            return errors, np.empty((*errors.shape, 0))
        return errors, self._dynamics.slopes(q, dq, ddq, whole)[:, :, self._columns] / self.scale[:, None]

    def nmse(self, pi: Array) -> Array:
        """Per joint."""
        return np.asarray((self.errors(pi, np.arange(self.samples), False)[0] ** 2).mean(axis=0))


class RolloutLoss(SimulatedLoss):
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
        super().__init__(model, data)
        if window < 1 or (stride is not None and stride < 1) or len(data) <= window:
            raise DatasetError(f"{data.name}: windows of {window} steps do not fit into {len(data)} samples")
        dry = [term.name for term in model.terms if term.dry]
        if dry:
            raise DatasetError(f"joint term '{dry[0]}' stops motions: rollouts have no derivative; leave it out")
        steps = np.diff(data.t)
        if np.ptp(steps) > ALIKE * steps.mean():
            raise DatasetError(f"{data.name}: samples are not equally spaced; resample first")
        self.window, self.step = window, float(steps.mean())
        self._first = np.arange(0, len(data) - window, stride or window)
        self.samples = len(self._first)
        deviation = self._states.std(axis=0)
        self.scale = np.where(deviation > 0, deviation, np.inf)
        if not np.isfinite(self.scale).any():
            raise DatasetError(f"{data.name}: nothing moves")

    def errors(self, pi: Array, rows: NDArray[np.intp], sensitive: bool = True) -> tuple[Array, Array]:
        """Shape (B, W, 2 n), and their Jacobian (B, W, 2 n, columns)."""
        first, n = self._first[rows], self.model.n
        whole, width = self._ordered(pi), len(pi) if sensitive else 0
        y = np.concatenate([self._states[first][..., None], np.zeros((len(first), 2 * n, width))], axis=2)
        errors = np.empty((len(first), self.window, 2 * n))
        slopes = np.empty((len(first), self.window, 2 * n, width))
        for k in range(self.window):
            y = self._dynamics.step(y, self.data.tau[first + k], whole, self.step)
            errors[:, k] = (y[..., 0] - self._states[first + k + 1]) / self.scale
            slopes[:, k] = y[..., 1:][..., self._columns if sensitive else []] / self.scale[:, None]
        return errors, slopes

    def nmse(self, pi: Array) -> Array:
        """Per joint, of its velocity."""
        with np.errstate(all="ignore"):
            error = self.errors(pi, np.arange(self.samples), False)[0]
        return np.asarray((error[:, :, self.model.n :] ** 2).mean(axis=(0, 1)))
