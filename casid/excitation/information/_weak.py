"""Weak parameters of an information matrix, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.excitation.information._observation import Observation
from casid.motion._basis import Array

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
    names = observation.names
    F = np.asarray(information, dtype=float)
    if F.shape != (len(names), len(names)) or not np.isfinite(F).all():
        raise DatasetError(
            f"information matrix: expected finite numbers of shape ({len(names)}, {len(names)}), got shape {F.shape}"
        )
    size, C = _scaled_covariance(F, names)
    deviation = np.sqrt(np.diagonal(C)) / size
    beta = None if nominal is None else np.abs(np.asarray(nominal, dtype=float))
    if beta is not None and beta.shape != (len(names),):
        raise DatasetError(f"nominal values: expected {len(names)}, got shape {beta.shape}")
    badness = deviation if beta is None else deviation / np.maximum(beta, 1e-12 * max(1.0, float(beta.max())))
    correlation = C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    np.fill_diagonal(correlation, 0.0)
    typical = float(np.median(size))
    result = []
    for k in np.argsort(-badness, kind="stable")[:count]:
        partners = np.argsort(-np.abs(correlation[k]))[:3]
        strong = tuple((names[j], float(correlation[k, j])) for j in partners if abs(correlation[k, j]) > 0.3)
        relative = None if beta is None or beta[k] == 0 else float(deviation[k] / beta[k])
        reason = _reason(1.0 - 1.0 / C[k, k], size[k], typical, strong)
        result.append(WeakParameter(names[k], float(deviation[k]), float(1 / size[k]), relative, strong, reason))
    return result


def _scaled_covariance(F: Array, names: Sequence[str]) -> tuple[Array, Array]:
    """Lengths of the columns, and the covariance of parameters in units of 1 / length."""
    size = np.sqrt(np.maximum(np.diagonal(F), 0.0))
    absent = [name for name, length in zip(names, size, strict=True) if length == 0]
    if absent:
        raise DatasetError(f"information matrix: no information about {', '.join(absent)}")
    values, vectors = np.linalg.eigh(F / np.outer(size, size))
    if values[0] <= 1e-14 * values[-1]:
        mixed = np.argsort(-np.abs(vectors[:, 0]))[:5]
        raise DatasetError(
            "information matrix: singular; these parameters cannot be distinguished: "
            + ", ".join(names[k] for k in mixed)
        )
    return size, (vectors / values) @ vectors.T


def _reason(lost: float, size: float, typical: float, strong: tuple[tuple[str, float], ...]) -> str:
    effect = f"its column has length {size:.3g} (median {typical:.3g})"
    if lost > CONFOUNDED:
        others = ", ".join(f"{name} ({value:+.2f})" for name, value in strong) or "a combination of many others"
        share = f"{100 * lost:.0f} % of the motion's information about it is shared"
        return f"not distinguishable from {others}: {share}; {effect}"
    shared = f"{effect}, {100 * lost:.0f} % of its information is shared with other parameters"
    return f"small effect on the measurement: {shared}" if size < SMALL * typical else shared
