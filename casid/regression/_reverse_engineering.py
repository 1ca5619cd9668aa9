"""Base parameters of a model that is only known by its numbers: mass matrices and gravity torques at static poses.

A controller that reports M(q) and g(q) determines the coefficients of its model without any exciting motion
(Gaz et al. 2019, Sec. IV-A).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.dynamics import BaseParameters, Model, regroup
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._compress import compress
from casid.regression._fit import wls


@dataclass(frozen=True, eq=False)
class Estimate:
    """Base parameters estimated from data.

    Attributes
    ----------
    base : BaseParameters
        Which combinations the data determine: names, groupings, K.
    values : ndarray, shape (rank,)
        Estimated base parameters.
    covariance : ndarray, shape (rank, rank)
        Of the values.
    condition_number : float
        2-norm condition number of the observation matrix of the base parameters.
    relative_error : float
        ``100 ||y - W beta|| / ||y||`` [%] (Sousa 2014, eq. 4.37).
    samples : int
        Number of scalar equations.
    """

    base: BaseParameters
    values: Array
    covariance: Array
    condition_number: float
    relative_error: float
    samples: int

    @property
    def sd(self) -> Array:
        """Standard deviations, in the units of the values, shape (rank,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def squares(self) -> float:
        """Sum of squares of all residuals over the variance that the covariance rests on."""
        return float(self.samples - self.rank)

    @property
    def information(self) -> tuple[Array, Array]:
        """Rows, shape (rank, rank), and targets: ``rows beta = targets``, every one with unit variance."""
        sd = np.maximum(self.sd, 1e-300)
        rows = np.linalg.inv(np.linalg.cholesky(self.covariance / np.outer(sd, sd))) / sd
        return rows, rows @ self.values

    @property
    def rank(self) -> int:
        """Number of parameters the data determine."""
        return self.base.rank

    @property
    def relative_sd(self) -> Array:
        """Standard deviations in percent of the values, ``100 sd / |beta|``; infinite for a value of exactly zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            percent = 100.0 * self.sd / np.abs(self.values)
        return np.where(self.values == 0.0, np.inf, percent)

    def reliable(self, threshold: float = 30.0) -> NDArray[np.bool_]:
        """Which values have a relative standard deviation of at most ``threshold`` % (Gaz et al. 2019, Sec. VI)."""
        return np.asarray(self.relative_sd <= threshold)


def solved(
    W: Array, y: Array, equations: int, rest: float = 0.0, least: float = 0.0
) -> tuple[Array, Array, float, float, int]:
    """Least squares of ``y = W beta``: what an `Estimate` has beside its base parameters.

    Parameters
    ----------
    W, y
        Rows, shapes (rows, rank) and (rows,); or triangular factors that stand for more.
    equations
        How many equations the rows stand for.
    rest
        Sum of squares of those equations that no beta changes.
    least
        Least residual variance.
    """
    lengths = np.linalg.norm(W, axis=0)
    U, s, Vt = np.linalg.svd(W / lengths, full_matrices=False)
    root = (Vt.T / s) / lengths[:, None]
    values = root @ (U.T @ y)
    residual = y - W @ values
    squares = float(residual @ residual) + rest
    variance = max(squares / (equations - len(values)), least)
    singular = np.linalg.svd(W, compute_uv=False)
    length = float(np.sqrt(y @ y + rest))
    error = 100.0 * float(np.sqrt(squares)) / length if length > 0 else 0.0
    condition = float(singular[0] / singular[-1])
    return values, variance * root @ root.T, condition, error, equations


#: Joint terms beside the links where measured torques are used.
FRICTION = ("viscous", "coulomb", "offset")
#: Mass matrices and gravity torques that a model computed are taken to be this exact, relative to their size.
EXACT = 1e-6
#: Most turns of the weights, and their relative change from which they count as settled.
TURNS, SETTLED = 20, 1e-3


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers of a controller's model at static poses, checked.

    Attributes
    ----------
    model : Model
        Kinematics and gravity vector; without friction terms.
    q : ndarray, shape (poses, n)
        Joint positions [rad or m].
    M : ndarray, shape (poses, n, n), or None
        Mass matrices [kg.m^2].
    g : ndarray, shape (poses, n)
        Gravity torques [N.m].

    Raises
    ------
    DatasetError
        If a shape does not fit the robot, a number is not finite (pose and joint are named), or M is not symmetric.
    """

    model: Model
    q: Array
    M: Array | None
    g: Array

    @classmethod
    def checked(
        cls, model: Model, q: ArrayLike, mass_matrices: ArrayLike | None, gravity_torques: ArrayLike
    ) -> Numbers:
        """The numbers as arrays, after all checks."""
        n = model.n
        q, g = _checked(q, (n,), "q"), _checked(gravity_torques, (n,), "gravity torques")
        M = None if mass_matrices is None else _checked(mass_matrices, (n, n), "mass matrices")
        given = {"q": q, "mass matrices": M, "gravity torques": g}
        counts = {name: len(values) for name, values in given.items() if values is not None}
        if len(set(counts.values())) > 1:
            words = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise DatasetError(f"numbers of poses differ: {words}")
        if M is None:
            return cls(model, q, None, g)
        asymmetry = np.abs(M - M.transpose(0, 2, 1)).max(axis=(1, 2))
        worst = int(asymmetry.argmax())
        if asymmetry[worst] > EXACT * np.abs(M[worst]).max():
            raise DatasetError(
                f"mass matrix of pose {worst} is not symmetric: |M - M'| is {asymmetry[worst]:.3g} kg.m^2"
            )
        return cls(model, q, M, g)

    @cached_property
    def values(self) -> Array:
        """``[vech M; g]`` of every pose, shape (poses, r)."""
        if self.M is None:
            return self.g
        rows, columns = np.tril_indices(self.model.n)
        return np.hstack([self.M[:, rows, columns], self.g])

    @cached_property
    def regressor(self) -> Array:
        """``Y_s(q)`` of every pose, shape (poses, r, N)."""
        rows: Array = self.model.static_regressor(self.q)
        return rows if self.M is not None else rows[:, -self.model.n :]

    @cached_property
    def base(self) -> BaseParameters:
        """What these poses determine."""
        return regroup(self.regressor.reshape(self.values.size, -1), self.model.parameter_names)

    @cached_property
    def sizes(self) -> Array:
        """Size of each entry, shape (r,): of M the root of its joints' diagonal entries, of g the RMS of all joints."""
        gravity = np.full(self.model.n, np.sqrt(np.mean(self.g**2)) or 1.0)
        if self.M is None:
            return gravity
        own = np.sqrt(np.mean(np.diagonal(self.M, axis1=1, axis2=2) ** 2, axis=0))
        own[own == 0] = 1.0
        rows, columns = np.tril_indices(self.model.n)
        return np.concatenate([np.sqrt(own[rows] * own[columns]), gravity])

    def least_squares(self, sigma: Array | float = 1.0, least: float = 0.0) -> Estimate:
        """Ordinary least squares of ``y = W_b beta`` with its classical statistics.

        With residual variance ``s^2 = ||y - W_b beta||^2 / (rows - rank)``, the covariance is ``s^2 (W_b' W_b)^-1``
        (Gaz et al. 2019, eq. 21; Sousa 2014, Sec. 2.7).

        Parameters
        ----------
        sigma
            Standard deviation of each entry, shape (r,), by which rows and values are divided.
        least
            Least residual variance, where that of the measurements is known to be no smaller.

        Raises
        ------
        DatasetError
            If there are no more equations than unknowns.
        """
        rows, rank = self.values.size, self.base.rank
        if rows <= rank:
            raise DatasetError(f"{rows} equations are too few for {rank} unknowns and their statistics: record more")
        W = (self.regressor / np.reshape(sigma, (-1, 1))).reshape(rows, -1)[:, list(self.base.independent)]
        return Estimate(self.base, *solved(W, (self.values / sigma).ravel(), rows, least=least))

    @cached_property
    def weighted(self) -> tuple[Estimate, Array]:
        """Base parameters by weighted least squares, and the standard deviation of each entry's error, shape (r,).

        Entries of M differ in size by orders of magnitude, and so do their errors: each entry counts by its own
        residual, in turns (maximum likelihood of errors that differ from entry to entry). To its poses comes one that
        has the error, relative to size, of all entries of its kind (the unit-information prior): an entry that is zero
        in the poses at hand is not exact.
        """
        kinds = np.arange(self.values.shape[1]) < self.values.shape[1] - self.model.n  # M, then g
        sigma = self.sizes
        for _ in range(TURNS):
            made = self.least_squares(sigma, least=1.0)
            left = self._left(made.values)
            squares = np.sum((left / self.sizes) ** 2, axis=0)
            usual = np.where(kinds, *(squares[of].mean() if of.any() else 0.0 for of in (kinds, ~kinds))) / len(left)
            relative = np.maximum(np.sqrt((squares + usual) / (len(left) + 1)), EXACT)
            before, sigma = sigma, relative * self.sizes
            if np.allclose(before, sigma, rtol=SETTLED):
                break
        return made, sigma

    def _left(self, beta: Array) -> Array:
        """What base parameters leave of the values, shape (poses, r)."""
        return np.asarray(self.values - self.regressor[:, :, list(self.base.independent)] @ beta)

    @cached_property
    def likelihood(self) -> Array:
        """Logarithm of the likelihood of each pose, shape (poses,), normal errors of `weighted`, up to a constant."""
        estimate, sigma = self.weighted
        return np.asarray(-np.sum(np.log(sigma) + (self._left(estimate.values) / sigma) ** 2 / 2.0, axis=1))

    @property
    def unexplained(self) -> float:
        """Part of the numbers that no parameters explain, every entry over its size [%]."""
        left = self._left(self.weighted[0].values)
        return 100.0 * float(np.linalg.norm(left / self.sizes) / np.linalg.norm(self.values / self.sizes))


def reverse_engineer(
    model: Model, q: ArrayLike, mass_matrices: ArrayLike | None, gravity_torques: ArrayLike
) -> Estimate:
    """Base parameters from numeric mass matrices and gravity torques (Gaz et al. 2019, eq. 17-21).

    Solves ``s = Y_s(q) pi`` in the least-squares sense for the stack ``s = [vech M; g]`` over all poses.

    Parameters
    ----------
    model
        Kinematics and gravity vector; a model without friction terms.
    q
        Joint positions, shape (poses, n) [rad or m].
    mass_matrices
        M at each pose, shape (poses, n, n) [kg.m^2]; None: the controller gives gravity torques alone, which
        determine the coefficients that gravity depends on.
    gravity_torques
        g at each pose, shape (poses, n) [N.m].

    Returns
    -------
    Estimate
        ``.values, .sd, .relative_sd, .reliable(30), .rank, .condition_number, .relative_error``.

    Raises
    ------
    DatasetError
        If a shape does not fit the robot, a number is not finite (pose and joint are named), or M is not symmetric.
    """
    return Numbers.checked(model, q, mass_matrices, gravity_torques).least_squares()


def reverse_engineer_with_torques(
    model: Model, q: ArrayLike, gravity_torques: ArrayLike, recording: Dataset
) -> Estimate:
    """Base parameters from a controller's gravity torques and the measured torques of a motion, without M.

    One least-squares problem of both: ``g = Y_g(q) pi`` and ``tau = Y pi + friction``, with viscous and Coulomb
    friction and an offset of every joint, which are eliminated. Rows count by their residuals: gravity torques by that
    of their own fit, measured ones joint by joint (Sousa 2014, eq. 4.35).

    Parameters
    ----------
    model
        Kinematics and gravity vector; a model without friction terms.
    q, gravity_torques
        See `reverse_engineer`.
    recording
        Processed: with velocities and accelerations.

    Returns
    -------
    Estimate
        Of the links; condition number and relative error are those of the weighted rows, friction included.

    Raises
    ------
    DatasetError
        As `reverse_engineer` and `compress`, or if the motion does not determine all base parameters.
    """
    given = Numbers.checked(model, q, None, gravity_torques)
    alone = given.least_squares()
    data = compress(Model(model.robot, FRICTION, model.gravity_vector, model.velocity_deadband), recording)
    weights = wls(data).weights
    R, rho, rest = data.stacked(weights)
    g = given.g.ravel()
    size = float(np.sqrt(np.mean(g**2)))
    sigma = max(alone.relative_error / 100.0, EXACT) * size
    places = [data.base.row(name) for name in model.base.names]
    W = np.zeros((g.size, data.base.rank))
    W[:, places] = given.regressor.reshape(g.size, -1)[:, list(model.base.independent)]
    equations = int(data.counts.sum()) + g.size
    rows, targets = np.vstack([R, W / sigma]), np.concatenate([rho, g / sigma])
    beta, covariance, variance, error, count = solved(rows, targets, equations, rest)
    return Estimate(model.base, beta[places], covariance[np.ix_(places, places)], variance, error, count)


def _checked(values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 + len(shape) or array.shape[1:] != shape or len(array) == 0:
        raise DatasetError(f"{what}: expected shape (poses, {', '.join(map(str, shape))}), got {array.shape}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        pose, *entry = bad[0].tolist()
        raise DatasetError(f"{what}: pose {pose}, joint {entry[0] + 1}: not a finite number")
    return array
