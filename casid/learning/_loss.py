"""The contract of losses, and the forward-dynamics loss on accelerations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset

Array = NDArray[np.float64]
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

    def batches(self, size: int, shuffle: bool) -> list[NDArray[np.intp]]:
        """All samples in batches of a size (the last may be smaller): drawn once, or in the recording's order."""
        order = np.random.default_rng(self.samples).permutation(self.samples) if shuffle else np.arange(self.samples)
        return [order[begin : begin + size] for begin in range(0, self.samples, size)]

    def slopes(self, size: int, shuffle: bool) -> Slopes:
        """Gradients of those `batches`; a loss that can compress a batch does so once."""
        batches = self.batches(size, shuffle)
        return lambda k, pi: self.gradient(pi, batches[k])[1]

    def quadratics(self, size: int, shuffle: bool) -> tuple[Array, Array] | None:
        """``(A, b)`` with gradients ``2 (A_k pi - b_k)`` of those `batches`, where the loss is a quadratic in pi.

        Shapes (batches, count, count) and (batches, count); None where it is none.
        """
        return None


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
        self._bias = ca.Function("bias", [q, dq, own], [ca.densify(bias), ca.densify(M)], {"cse": True})
        Y = model.regressor(q, dq, ddq)[:, columns]
        self._regressor = ca.Function("Y", [q, dq, ddq], [ca.densify(Y)], {"cse": True})

    def _predict(self, pi: Array, rows: NDArray[np.intp] | slice) -> tuple[Array, Array, Array, Array]:
        d = self.data
        assert d.dq is not None and d.ddq is not None
        bias, M = evaluate_batch(self._bias, d.q[rows], d.dq[rows], pi)
        try:
            predicted = np.linalg.solve(M, d.tau[rows][..., None] - bias)[..., 0]
        except np.linalg.LinAlgError:
            raise DatasetError("the mass matrix became singular in training; use a physical parametrisation") from None
        return (predicted - d.ddq[rows]) / self.scale, predicted, np.asarray(M), d.q[rows]

    def _jacobian(self, predicted: Array, M: Array, rows: NDArray[np.intp] | slice) -> Array:
        d = self.data
        assert d.dq is not None
        Y = np.asarray(evaluate_batch(self._regressor, d.q[rows], d.dq[rows], predicted))
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
