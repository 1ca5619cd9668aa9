"""Base parameters of a model that is only known by its numbers: mass matrices and gravity torques at static poses.

A controller that reports M(q) and g(q) determines the coefficients of its model without any exciting motion
(Gaz et al. 2019, Sec. IV-A).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import evaluate_batch
from casid.dynamics import BaseParameters, Model
from casid.dynamics._base_parameters import regroup
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._compress import CompressedData, compress
from casid.regression._fit import wls

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Base parameters estimated from data.

    Attributes
    ----------
    base : BaseParameters
        Which combinations the data determine: names, groupings, K.
    values : ndarray, shape (rank,)
        Estimated base parameters.
    sd : ndarray, shape (rank,)
        Standard deviations, in the units of the values.
    condition_number : float
        2-norm condition number of the observation matrix of the base parameters.
    relative_error : float
        ``100 ||y - W beta|| / ||y||`` [%] (Sousa 2014, eq. 4.37).
    samples : int
        Number of scalar equations.
    """

    base: BaseParameters
    values: Array
    sd: Array
    condition_number: float
    relative_error: float
    samples: int

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


def ordinary_least_squares(W: ArrayLike, y: ArrayLike, base: BaseParameters) -> Estimate:
    """Ordinary least squares of ``y = W_b beta`` with its classical statistics.

    With residual variance ``s^2 = ||y - W_b beta||^2 / (rows - rank)``, the covariance is ``s^2 (W_b' W_b)^-1``
    (Gaz et al. 2019, eq. 21; Sousa 2014, Sec. 2.7).

    Parameters
    ----------
    W
        Observation matrix of all parameters, shape (rows, N); its independent columns are used.
    y
        Measurements, shape (rows,).
    base
        The base parameters of these columns.

    Raises
    ------
    DatasetError
        If the shapes do not fit, an entry is not finite, or there are no more equations than unknowns.
    """
    W_b = np.asarray(W, dtype=float)[:, list(base.independent)]
    y = np.asarray(y, dtype=float)
    rows, rank = W_b.shape
    if y.shape != (rows,):
        raise DatasetError(f"measurements: expected shape ({rows},), got {y.shape}")
    if not np.isfinite(y).all():
        raise DatasetError(f"measurements: entry {np.flatnonzero(~np.isfinite(y))[0]} is not a finite number")
    if rows <= rank:
        raise DatasetError(f"{rows} equations are too few for {rank} unknowns and their statistics: record more")
    values, sd, condition_number, error = solved(W_b, y, rows)
    return Estimate(base, values, sd, condition_number, error, rows)


def solved(W: Array, y: Array, equations: int, rest: float = 0.0) -> tuple[Array, Array, float, float]:
    """Least squares of ``y = W beta``: values, standard deviations, condition number and relative error [%].

    Parameters
    ----------
    W, y
        Rows, shapes (rows, rank) and (rows,); or triangular factors that stand for more.
    equations
        How many equations the rows stand for.
    rest
        Sum of squares of those equations that no beta changes.
    """
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    values = Vt.T @ (U.T @ y / s)
    residual = y - W @ values
    squares = float(residual @ residual) + rest
    sd = np.sqrt(squares / (equations - len(values)) * ((Vt.T / s) ** 2).sum(axis=1))
    length = float(np.sqrt(y @ y + rest))
    error = 100.0 * float(np.sqrt(squares)) / length if length > 0 else 0.0
    return values, sd, float(s[0] / s[-1]), error


#: Joint terms beside the links where measured torques are used.
FRICTION = ("viscous", "coulomb", "offset")
#: Gravity torques that a model computed are taken to be this exact, relative to their size.
EXACT = 1e-6


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
    n = model.n
    q = _checked(q, (n,), "q")
    g = _checked(gravity_torques, (n,), "gravity torques")
    if mass_matrices is None:
        if len(q) != len(g):
            raise DatasetError(f"numbers of poses differ: q has {len(q)}, gravity torques {len(g)}")
        gravity_rows = np.asarray(evaluate_batch(model.static_regressor, q))[:, -n:]
        return _estimated(model, gravity_rows.reshape(g.size, -1), g)
    M = _checked(mass_matrices, (n, n), "mass matrices")
    if not len(q) == len(M) == len(g):
        raise DatasetError(f"numbers of poses differ: q has {len(q)}, mass matrices {len(M)}, gravity torques {len(g)}")
    asymmetry = np.abs(M - M.transpose(0, 2, 1)).max(axis=(1, 2))
    worst = int(asymmetry.argmax())
    if asymmetry[worst] > 1e-6 * np.abs(M[worst]).max():
        raise DatasetError(f"mass matrix of pose {worst} is not symmetric: |M - M'| is {asymmetry[worst]:.3g} kg.m^2")

    rows, columns = np.tril_indices(n)
    s = np.hstack([M[:, rows, columns], g])
    W = np.asarray(evaluate_batch(model.static_regressor, q)).reshape(s.size, -1)
    return _estimated(model, W, s)


def reverse_engineer_with_torques(
    model: Model, q: ArrayLike, gravity_torques: ArrayLike, recording: Dataset | CompressedData
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
        Processed: with velocities and accelerations; or compressed with the friction above.

    Returns
    -------
    Estimate
        Of the links; condition number and relative error are those of the weighted rows, friction included.

    Raises
    ------
    DatasetError
        As `reverse_engineer` and `compress`, or if the motion does not determine all base parameters.
    """
    alone = reverse_engineer(model, q, None, gravity_torques)
    data = recording
    if isinstance(data, Dataset):
        data = compress(Model(model.robot, FRICTION, model.gravity_vector, model.velocity_deadband), data)
    weights = wls(data).weights
    R, rho, rest = data.stacked(weights)
    g = _checked(gravity_torques, (model.n,), "gravity torques").ravel()
    size = float(np.sqrt(np.mean(g**2)))
    sigma = max(alone.relative_error / 100.0, EXACT) * size
    rows = np.asarray(evaluate_batch(model.static_regressor, np.asarray(q, dtype=float)))[:, -model.n :]
    places = [data.base.row(name) for name in model.base.names]
    W = np.zeros((g.size, data.base.rank))
    W[:, places] = rows.reshape(g.size, -1)[:, list(model.base.independent)]
    equations = int(data.counts.sum()) + g.size
    beta, sd, condition_number, error = solved(
        np.vstack([R, W / sigma]), np.concatenate([rho, g / sigma]), equations, rest
    )
    return Estimate(model.base, beta[places], sd[places], condition_number, error, equations)


def _estimated(model: Model, W: Array, values: Array) -> Estimate:
    return ordinary_least_squares(W, values.ravel(), regroup(W, model.parameter_names))


def _checked(values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 + len(shape) or array.shape[1:] != shape or len(array) == 0:
        raise DatasetError(f"{what}: expected shape (poses, {', '.join(map(str, shape))}), got {array.shape}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        pose, *entry = bad[0].tolist()
        raise DatasetError(f"{what}: pose {pose}, joint {entry[0] + 1}: not a finite number")
    return array
