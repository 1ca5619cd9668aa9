"""Calibration of the drive gains with a load of known mass (Gautier and Briot 2014).

Torques that are currents times nominal gains are wrong by a factor for each joint, and the whole robot scales with it.
A known mass m fixes the scale: with the load's mass column on the other side, ::

    g_j tau_j = W_j beta + W_lj x + drift    ->    [W_j, W_lj', drift, -tau_j] [beta; x'; d; g_j] = -m w_mj

is linear in everything that is unknown: the robot, the load's centre of mass and inertia, and the factors g_j. Noise on
tau_j would draw its least squares solution towards zero, by many standard deviations: the torques stay on the left, and
the factors are those of maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casid.arrays import ALIKE, Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.loads._equations import load_stack, scaled_least_squares
from casid.loads._payload import Payload, payload
from casid.measurement import Dataset

#: Relative standard deviation from which a joint's own factor is not used: about the error of nominal gains that is to
#: be corrected (two published sets of the UR10e's differ by 6 % from joint to joint).
VAGUE = 0.1
#: Most Gauss-Newton steps for the factors; without convergence no factor is given.
STEPS = 50


@dataclass(frozen=True, eq=False)
class Gains:
    """Correction factors of the torques.

    Attributes
    ----------
    common : float
        One factor for all joints, with which the identified mass of the load equals the known one.
    interval : tuple of float
        95 % interval of it.
    joints, sd : ndarray, shape (n,)
        A factor for each joint, and its standard deviation; NaN where the recordings do not determine it.
    mass : float
        Known mass [kg].
    payload : Payload
        The load identified with uncorrected torques.
    """

    common: float
    interval: tuple[float, float]
    joints: Array
    sd: Array
    mass: float
    payload: Payload

    @property
    def determined(self) -> bool:
        """Whether the factors of all joints are known: they then take the place of the common one."""
        return bool(np.isfinite(self.joints).all())

    def __repr__(self) -> str:
        if self.determined:
            return f"Gains(torques times {', '.join(f'{g:.4g}' for g in self.joints)})"
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
        As in `payload`.
    mass
        Of the load [kg].

    Raises
    ------
    DatasetError
        If the mass is not positive, or as in `payload`.
    """
    if not (np.isfinite(mass) and mass > 0):
        raise DatasetError(f"gains: expected a positive mass of the load, got {mass}")
    found = payload(model, loaded, unloaded, drift=drift)
    low, high = found.intervals["m"]
    if low <= 0:
        raise DatasetError(
            f"gains: the load cannot be distinguished from none: {found.mass:.3g} kg, at least {low:.3g} kg; record "
            "more motion against gravity, or a heavier load"
        )
    joints, sd = _each(model, loaded, unloaded, mass, drift)
    return Gains(mass / found.mass, (mass / high, mass / low), joints, sd, mass, found)


def _each(
    model: Model, loaded: Dataset | Sequence[Dataset], unloaded: Dataset | Sequence[Dataset], mass: float, drift: bool
) -> tuple[Array, Array]:
    """Factor of each joint and its deviation: Gauss-Newton on ``tau_j = (W_j beta + W_lj x + drift) / g_j``."""
    stack = load_stack(model, loaded, unloaded, None, drift)
    stack.compressed()  # weighs the joints
    factors, weights = stack.factors(), stack.weights
    share = float(stack.independent.sum()) - factors[0].shape[1]
    place = stack.base + 9
    known = [weight * mass * factor[:, place] for factor, weight in zip(factors, weights, strict=True)]
    columns = [weight * np.delete(f[:, :-1], place, axis=1) for f, weight in zip(factors, weights, strict=True)]
    torques = [weight * factor[:, -1] for factor, weight in zip(factors, weights, strict=True)]
    n, width = model.n, columns[0].shape[1]
    h = np.ones(n)  # 1/g: noise is on the torques alone, so they stay on the left
    beta = scaled_least_squares(np.vstack(columns), np.concatenate(torques) - np.concatenate(known))[0]
    for _ in range(STEPS):
        inner = [A @ beta + k for A, k in zip(columns, known, strict=True)]
        J = np.vstack([np.column_stack([h[j] * columns[j], np.outer(inner[j], np.eye(n)[j])]) for j in range(n)])
        left = np.concatenate([torques[j] - h[j] * inner[j] for j in range(n)])
        step, spread = scaled_least_squares(J, left)
        beta, h = beta + step[:width], h + step[width:]
        if np.abs(step[width:]).max() <= ALIKE * np.abs(h).max():
            break
    else:  # no convergence: the factors are not the maximum of the likelihood
        h[:] = np.nan
    variance = float(left @ left) / max(share, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, sd = 1.0 / h, spread[width:] * np.sqrt(variance) / h**2
    determined = np.isfinite(values) & (values > 0) & (sd > 0) & (sd < VAGUE * values)
    return np.where(determined, values, np.nan), np.where(determined, sd, np.nan)
