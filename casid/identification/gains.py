"""Drive gains from a load whose mass is known (Gautier and Briot 2014): what makes torques of the drives' signals.

Torques that are currents times nominal gains are wrong by a factor a joint, and the whole robot scales with it. A known
mass m fixes the scale: with the load's mass column on the other side, ::

    g_j tau_j = W_j beta + W_lj x + drift    ->    [W_j, W_lj', drift, -tau_j] [beta; x'; d; g_j] = -m w_mj

is linear in everything that is unknown: the robot, the load's centre of mass and inertia, and the factors g_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification.payload import Payload, combined, load_stack, payload
from casid.measurement import Dataset

Array = NDArray[np.float64]

#: Relative standard deviation from which a joint's own factor is not used.
VAGUE = 0.1
#: Torque over residual, root mean squares, below which a joint's own factor is not used.
CLEAR = 15.0


@dataclass(frozen=True, eq=False)
class Gains:
    """Factors of the torques.

    Attributes
    ----------
    common : float
        One factor for all joints, which makes the load weigh what it does.
    interval : tuple of float
        95 % interval of it.
    joints, sd : ndarray, shape (n,)
        A factor for each joint, and its standard deviation; NaN where the recordings do not tell it.
    mass : float
        Known mass [kg].
    payload : Payload
        The load with the torques as they were.
    """

    common: float
    interval: tuple[float, float]
    joints: Array
    sd: Array
    mass: float
    payload: Payload

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Gains(torques times {self.common:.4g} [{low:.4g}, {high:.4g}])"


def gains(
    model: Model,
    loaded: Dataset | Sequence[Dataset],
    unloaded: Dataset | Sequence[Dataset],
    mass: float,
    *,
    drift: bool = True,
) -> Gains:
    """Calibrate drive gains with a load of known mass.

    Parameters
    ----------
    model, loaded, unloaded, drift
        As `payload`.
    mass
        Of the load [kg].

    Raises
    ------
    DatasetError
        If the mass is not positive, or as `payload`.
    """
    if not (np.isfinite(mass) and mass > 0):
        raise DatasetError(f"gains: the mass of the load must be positive, got {mass}")
    found = payload(model, loaded, unloaded, drift=drift)
    low, high = found.intervals["m"]
    if low <= 0:
        raise DatasetError(
            f"gains: the recordings do not tell the load from none: {found.mass:.3g} kg, at least {low:.3g}; record "
            "more motion against gravity, or a heavier load"
        )
    joints, sd = _each(model, loaded, unloaded, mass, drift)
    return Gains(mass / found.mass, (mass / high, mass / low), joints, sd, mass, found)


def _each(
    model: Model, loaded: Dataset | Sequence[Dataset], unloaded: Dataset | Sequence[Dataset], mass: float, drift: bool
) -> tuple[Array, Array]:
    """Factor of each joint and its standard deviation, by least squares over everything at once."""
    stack = load_stack(model, loaded, unloaded, None, drift)
    factors, weights, share = combined(stack)
    place = stack.base + 9
    rows, target = [], []
    for k, (factor, weight) in enumerate(zip(factors, weights, strict=True)):
        own = np.zeros((len(factor), model.n))
        own[:, k] = -factor[:, -1]
        rows.append(weight * np.column_stack([np.delete(factor[:, :-1], place, axis=1), own]))
        target.append(-weight * mass * factor[:, place])
    A, b = np.vstack(rows), np.concatenate(target)
    lengths = np.linalg.norm(A, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    sure = s > 1e-9 * s[0]
    x = Vt[sure].T @ ((U[:, sure].T @ b) / s[sure]) / scale
    variance = float(np.sum((A @ x - b) ** 2)) / max(share, 1.0)
    spread = np.linalg.norm((Vt[sure].T / s[sure]) / scale[:, None], axis=1) * np.sqrt(variance)
    values, sd = x[-model.n :], spread[-model.n :]
    sizes = np.array([np.linalg.norm(factor[:, -1]) for factor in factors]) / np.sqrt(np.maximum(stack.samples, 1))
    told = (lengths[-model.n :] > 0) & (sd < VAGUE * np.abs(values))
    told &= sizes * weights > CLEAR  # noise on the torque itself draws a factor towards zero
    return np.where(told, values, np.nan), np.where(told, sd, np.nan)
