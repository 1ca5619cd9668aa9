"""Weak parameters of an information matrix, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.excitation.information._observation import Observation

#: Above this share of a parameter's information lost to others, they, not a small effect, make it weak.
CONFOUNDED = 0.9
#: A column shorter than this share of the median column counts as a small effect.
SMALL = 0.5


@dataclass(frozen=True)
class WeakParameter:
    """Uncertainty of one parameter under an information matrix.

    Attributes
    ----------
    name : str
    deviation : float
        Predicted standard deviation.
    alone : float
        What it would be if all other parameters were known.
    relative : float or None
        ``deviation / |nominal value|``, where a value is given and not zero.
    confounded_with : tuple of (str, float)
        The parameters whose estimates move with it most, with their correlations; strongest first.
    reason : str
        Why it is as uncertain as it is.
    """

    name: str
    deviation: float
    alone: float
    relative: float | None
    confounded_with: tuple[tuple[str, float], ...]
    reason: str


def weak_parameters(
    observation: Observation, information: ArrayLike, nominal: ArrayLike | None = None, count: int | None = None
) -> list[WeakParameter]:
    """Parameters sorted by uncertainty, weakest first, each with the reason.

    With the covariance ``C = F^-1``, ``sd_i = sqrt(C_ii)``; with all other parameters known it would be
    ``1 / sqrt(F_ii)``. The ratio separates the two reasons: a motion that hardly depends on the parameter (both
    large), or one that does not distinguish it from others (only the first large).

    Parameters
    ----------
    information
        F, shape (r, r).
    nominal
        Values of the parameters, shape (r,): sorts by relative instead of absolute uncertainty.
    count
        How many to return; default all.

    Raises
    ------
    DatasetError
        If F is singular; the message names the parameters that cannot be distinguished.
    """
    F = np.asarray(information, dtype=float)
    r = len(observation.names)
    if F.shape != (r, r) or not np.isfinite(F).all():
        raise DatasetError(f"information matrix: expected finite numbers of shape ({r}, {r}), got shape {F.shape}")
    size = np.sqrt(np.maximum(np.diagonal(F), 0.0))
    absent = [observation.names[k] for k in np.flatnonzero(size == 0)]
    if absent:
        raise DatasetError(f"information matrix: no information about {', '.join(absent)}")
    scaled = F / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] <= 1e-14 * values[-1]:
        mixed = np.argsort(-np.abs(vectors[:, 0]))[:5]
        raise DatasetError(
            "information matrix: singular; these parameters cannot be distinguished: "
            + ", ".join(observation.names[k] for k in mixed)
        )
    C = (vectors / values) @ vectors.T
    deviation = np.sqrt(np.diagonal(C)) / size
    beta = None if nominal is None else np.abs(np.asarray(nominal, dtype=float))
    if beta is not None and beta.shape != (r,):
        raise DatasetError(f"nominal values: expected {r}, got shape {beta.shape}")
    badness = deviation if beta is None else deviation / np.maximum(beta, 1e-12 * max(1.0, float(beta.max())))
    correlation = C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    np.fill_diagonal(correlation, 0.0)
    typical = float(np.median(size))
    result = []
    for k in np.argsort(-badness, kind="stable")[:count]:
        partners = np.argsort(-np.abs(correlation[k]))[:3]
        strong = tuple(
            (observation.names[j], float(correlation[k, j])) for j in partners if abs(correlation[k, j]) > 0.3
        )
        lost = 1.0 - 1.0 / C[k, k]
        relative = None if beta is None or beta[k] == 0 else float(deviation[k] / beta[k])
        result.append(
            WeakParameter(
                observation.names[k],
                float(deviation[k]),
                float(1 / size[k]),
                relative,
                strong,
                _reason(lost, size[k], typical, strong),
            )
        )
    return result


def _reason(lost: float, size: float, typical: float, strong: tuple[tuple[str, float], ...]) -> str:
    effect = f"its column has length {size:.3g} (median {typical:.3g})"
    if lost > CONFOUNDED:
        others = ", ".join(f"{name} ({value:+.2f})" for name, value in strong) or "a combination of many others"
        return f"not distinguishable from {others}: {100 * lost:.0f} % of the motion's information about it is shared; {effect}"
    shared = f"{effect}, {100 * lost:.0f} % of its information is shared with other parameters"
    return f"small effect on the measurement: {shared}" if size < SMALL * typical else shared
