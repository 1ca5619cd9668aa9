"""Base parameters of a model that is only known by its numbers: mass matrices and gravity torques at static poses.

A controller that reports M(q) and g(q) gives away the coefficients of its model without any exciting motion
(Gaz et al. 2019, Sec. IV-A).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import evaluate_batch
from casid.dynamics import Model, regroup
from casid.errors import DatasetError
from casid.regression.estimate import Estimate, ordinary_least_squares

Array = NDArray[np.float64]


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
