"""The inverse-dynamics loss: measured torques against ``Y pi`` (Sutanto et al. 2020, eq. 2); its certified optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import Model, newton_euler
from casid.errors import DatasetError
from casid.identification import feasible_regression
from casid.learning._loss import Loss, Slopes, check_torques
from casid.learning._parametrisations import Parametrisation
from casid.measurement import Dataset
from casid.regression import compress, inputs, wls


def training_regressor(model: Model, symmetric: bool = True) -> ca.Function:
    """``(q, dq, ddq) -> Y``: columns of the links (10 or 13 each), then of the terms, in the order of `Chart`.

    What terms of the model ask for beside the motion (``memory``, ``signal``) are further inputs.
    """
    n = model.n
    symbols = [ca.SX.sym(name, n) for name in ("q", "dq", "ddq")]
    count = 10 if symmetric else 13
    links = ca.SX.sym("links", count * len(model.robot.links))
    gravity = model.gravity_vector
    if gravity is None:
        raise DatasetError("training needs a fixed gravity vector: pass gravity=[x, y, z] to Model")
    q, dq, ddq = symbols
    tau = newton_euler(model.robot, q, dq, ddq, ca.vertsplit(links, count), ca.SX(ca.DM(gravity)))[0]
    Y = ca.jacobian(tau, links)
    names = model.regressor.name_in()
    symbols += [ca.SX.sym(name, model.regressor.size1_in(k)) for k, name in enumerate(names) if k > 2]
    if model.term_columns:
        every = model.regressor(*symbols)
        Y = ca.horzcat(Y, every[:, sorted(model.term_columns)])
    return ca.Function("training_regressor", symbols, [ca.densify(Y)], names, ["Y"], {"cse": True})


class TorqueLoss(Loss):
    """``mean over samples and joints of (tau_j - Y_j pi)^2 / s_j^2``.

    With the default scale, the standard deviation of each joint's torque, it is the mean NMSE of the joints.

    Parameters
    ----------
    model
        Inertial parameters and joint terms to learn.
    datasets
        Processed recordings (with dq, ddq), one or several.
    scale
        s_j [N.m], shape (n,).
    symmetric
        False: also the columns of asymmetric inertias, for the `NoStr` parametrisation.

    Raises
    ------
    DatasetError
        If a recording has no velocities or accelerations, masked torques, or another number of joints.
    """

    def __init__(
        self, model: Model, datasets: Dataset | list[Dataset], scale: ArrayLike | None = None, symmetric: bool = True
    ) -> None:
        self.model, self.datasets = model, [datasets] if isinstance(datasets, Dataset) else list(datasets)
        self._batches: dict[tuple[int, bool], tuple[Array, Array]] = {}
        self._function = Function(training_regressor(model, symmetric), axes=2)
        n = model.n
        self.samples = sum(len(d) for d in self.datasets)
        motion: list[list[Array]] = []
        for data in self.datasets:
            if data.n != n:
                raise DatasetError(f"{data.name} has {data.n} joints, the model has {n}")
            if data.dq is None or data.ddq is None:
                raise DatasetError(f"{data.name} has no velocities or accelerations; process it first")
            check_torques(data)
            extras = inputs(model, replace(data, full=None))[3:] if self._function.n_in() > 3 else []
            motion.append([data.q, data.dq, data.ddq, *extras])
        self._motion = [np.concatenate(parts) for parts in zip(*motion, strict=True)]
        self.tau = np.concatenate([d.tau for d in self.datasets])
        deviation = self.tau.std(axis=0)
        self.variance = np.where(deviation > 0, deviation**2, np.inf)
        self.scale = np.array(np.sqrt(self.variance) if scale is None else scale, dtype=float)
        if self.scale.shape != (n,) or not (self.scale > 0).all():
            raise DatasetError(f"scale: expected {n} positive numbers, got {scale!r}")
        if not np.isfinite(self.scale).any():
            raise DatasetError("no joint's torque varies: there is nothing to learn from")

    @property
    def columns(self) -> int:
        """Number of parameters."""
        return int(self._function.size2_out(0))

    def _blocks(self, order: NDArray[np.intp] | None = None, size: int = 1024) -> Iterator[tuple[slice, Array]]:
        """Regressors of the samples in an order, a block at a time, shape (block, n, columns)."""
        motion = self._motion if order is None else [part[order] for part in self._motion]
        for first in range(0, len(motion[0]), size):
            rows = slice(first, min(first + size, len(motion[0])))
            yield rows, self._function(*(part[rows] for part in motion))

    @cached_property
    def _joints(self) -> Array:
        """Triangular factors of ``[Y_j, tau_j] / sqrt(N)`` of every joint, shape (n, columns + 1, columns + 1)."""
        width = self.columns + 1
        factors = np.zeros((self.model.n, width, width))
        for rows, block in self._blocks(size=8192):
            augmented = np.concatenate([block, self.tau[rows, :, None]], axis=2) / np.sqrt(self.samples)
            for j, R in enumerate(factors):
                found = np.linalg.qr(np.vstack([R, augmented[:, j]]), mode="r")
                R[: len(found)] = found
        return factors

    @cached_property
    def _compressed(self) -> tuple[Array, Array, float]:
        """``(R, rho, rest)`` with ``value = |rho - R pi|^2 + rest``."""
        weights = 1.0 / (self.scale * np.sqrt(self.model.n))
        rows = (self._joints * weights[:, None, None]).reshape(-1, self._joints.shape[2])
        stack = np.asarray(np.linalg.qr(rows, mode="r"))
        return stack[:-1, :-1], stack[:-1, -1], float(stack[-1, -1] ** 2)

    def quadratics(self, size: int, shuffle: bool) -> tuple[Array, Array]:
        """The normal equations of every batch, ``A_k = Y_k' S^-2 Y_k / (N_k n)``, ``b_k`` likewise; kept."""
        key = (size, shuffle)
        if key not in self._batches:
            order = np.concatenate(self.batches(size, shuffle))
            columns = self.columns
            A, b = (np.zeros((-(-self.samples // size), columns, *more)) for more in ((columns,), ()))
            for rows, Y in self._blocks(order, size):
                Z = (Y / self.scale[:, None]).reshape(-1, columns)
                A[rows.start // size] = Z.T @ Z / len(Z)
                b[rows.start // size] = Z.T @ (self.tau[order[rows]] / self.scale).ravel() / len(Z)
            self._batches[key] = A, b
        return self._batches[key]

    def slopes(self, size: int, shuffle: bool) -> Slopes:
        """Gradients ``2 (A_k pi - b_k)``."""
        A, b = self.quadratics(size, shuffle)
        return lambda k, pi: 2.0 * (A[k] @ pi - b[k])

    def value(self, pi: Array) -> float:
        """Mean over all samples and joints."""
        R, rho, rest = self._compressed
        return float(np.sum((rho - R @ pi) ** 2)) + rest

    def gradient(self, pi: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
        """Mean over a batch and its gradient."""
        total, slope = 0.0, np.zeros(self.columns)
        for place, Y in self._blocks(rows):
            error = (Y @ pi - self.tau[rows[place]]) / self.scale
            total += float((error**2).sum())
            slope += np.tensordot(error / self.scale, Y, axes=2)
        size = len(rows) * self.model.n
        return total / size, 2.0 / size * slope

    def residual(self, pi: Array) -> tuple[Array, Array]:
        """Compressed residual, whose last entry is what no parameters explain."""
        R, rho, rest = self._compressed
        r = np.append(R @ pi - rho, np.sqrt(rest))
        return r, np.vstack([R, np.zeros(R.shape[1])])

    def nmse(self, pi: Array) -> Array:
        """Per joint."""
        residual = self._joints @ np.append(pi, -1.0)
        return np.asarray((residual**2).sum(axis=1) / self.variance)


@dataclass(frozen=True, eq=False)
class Limit:
    """Best value of a `TorqueLoss` over all parameters that a parametrisation can reach.

    Attributes
    ----------
    value : float
        Reached by ``parameters``.
    lower_bound : float
        Proven: no parameters of the kind have a smaller loss.
    parameters : ndarray
        In the order of `Chart`.
    seconds : float
        Of compression and solve, together.
    """

    value: float
    lower_bound: float
    parameters: Array
    seconds: float

    def gap(self, value: float, floor: float = 1e-12) -> float:
        """``(value - lower_bound) / value``: how far a training run can be from the best, relative to its loss.

        Losses below ``floor`` (the variance of the torques is 1) count as reached. Below zero by more than rounding,
        the bound would be contradicted: it is returned as it is.
        """
        return (value - self.lower_bound) / max(value, floor)


def certified_limit(loss: TorqueLoss, kind: Parametrisation) -> Limit:
    """The limit of every rung that guarantees as much as ``kind``, by convex optimisation.

    ``triangle``: full consistency; ``definite`` only: m > 0 and I > 0; else unconstrained least squares in all
    columns of the loss, which is a lower bound for any parameters of theirs.

    Raises
    ------
    SolveError
        As `casid.identification.feasible_regression`.
    """
    began = perf_counter()
    model = loss.model
    if not kind.definite:  # all columns of the loss, those of asymmetric inertias too
        residual, slope = loss.residual(np.zeros(loss.columns))
        pi = np.asarray(np.linalg.lstsq(slope, -residual, rcond=None)[0])
        return Limit(loss.value(pi), loss.value(pi), pi, perf_counter() - began)
    weights = 1.0 / (loss.scale * np.sqrt(loss.samples * model.n))
    same = [replace(data, full=None) for data in loss.datasets]  # the loss knows no filtered columns
    fit = wls(compress(model, same), weights=weights)
    found = feasible_regression(fit, consistency="full" if kind.triangle else "semi", margin=0.0, constraints=None)
    value, lower = found.objective, found.objective - found.gap * found.objective
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    return Limit(float(value), float(lower), found.values[columns], perf_counter() - began)
