"""Criteria of information matrices, exact and smooth at a finite sharpness; parameters that a matrix leaves weak."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import DatasetError, ProblemError
from casid.excitation.information._observation import Observation
from casid.files import near, numeric_array

#: Eigenvalues of the (scaled) information matrix below this share of the largest are rounding: F squares what W knows.
RANK_TOLERANCE = 1e-14


@dataclass(frozen=True, eq=False)
class Criterion(ABC):
    """A measure of the information matrix F (r x r), to be made small.

    Attributes
    ----------
    scale : ndarray, shape (r,), or "columns", optional
        Unit of each parameter: ``F`` becomes ``diag(scale) F diag(scale)``. Give expected sizes (or a-priori standard
        deviations) to weigh relative errors; ``"columns"`` scales the columns of W to unit length; default: unscaled.
    """

    scale: Array | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scale, str):
            if self.scale != "columns":
                raise ProblemError(f"criterion: scale must be 'columns' or one number a parameter, not '{self.scale}'")
        elif self.scale is not None:
            scale = np.array(self.scale, dtype=float)
            if scale.ndim != 1 or not (np.isfinite(scale).all() and (scale > 0).all()):
                raise ProblemError("criterion: scale must hold one positive number a parameter")
            object.__setattr__(self, "scale", scale)

    @property
    @abstractmethod
    def name(self) -> str:
        """What a user reads."""

    @abstractmethod
    def _exact(self, eigenvalues: Array, vectors: Array) -> float:
        """Value from the eigenvalues (ascending) and eigenvectors of the scaled F."""

    @abstractmethod
    def _smooth(self, eigenvalues: Array, vectors: Array, sharpness: float) -> tuple[float, Array]:
        """Smooth objective and its gradient in the scaled F (r x r, symmetric)."""

    def value(self, information: ArrayLike) -> float:
        """Exact value; infinite where F is singular."""
        F = np.asarray(information, dtype=float)
        values, vectors = np.linalg.eigh(self._scaled(F)[0])
        if values[0] <= RANK_TOLERANCE * max(values[-1], 0.0) or values[-1] <= 0:
            return float("inf")
        where = f"criterion '{type(self).__name__}': `_exact`"
        return float(numeric_array(self._exact(values, vectors), where, ProblemError, shape=()))

    def objective(self, information: Array, sharpness: float) -> tuple[float, Array]:
        """Smooth objective (a logarithm, so free of units) and its gradient dF (r x r, symmetric).

        Parameters
        ----------
        sharpness
            Power p of the p-norms that stand for largest and smallest values; exact as p grows.
        """
        scaled, units = self._scaled(information)
        values, vectors = np.linalg.eigh(scaled)
        values = np.maximum(values, RANK_TOLERANCE * values[-1])
        given, where = self._smooth(values, vectors, sharpness), f"criterion '{type(self).__name__}': `_smooth`"
        if not isinstance(given, tuple) or len(given) != 2:
            raise ProblemError(f"{where}: expected an objective and its gradient, got {type(given).__name__}")
        f = float(numeric_array(given[0], f"{where}, objective", ProblemError, shape=()))
        G = numeric_array(given[1], f"{where}, gradient", ProblemError, shape=scaled.shape)
        result = G * np.outer(units, units)
        if isinstance(self.scale, str):  # the units depend on the diagonal of F
            result[np.diag_indices_from(result)] -= np.einsum("ij,ij->i", G, scaled) * units**2
        return f, result

    def _scaled(self, F: Array) -> tuple[Array, Array]:
        if self.scale is None:
            units = np.ones(len(F))
        elif isinstance(self.scale, str):
            diagonal = np.diagonal(F)
            floor = 1e-12 * max(float(diagonal.max()), 1e-300)
            units = 1.0 / np.sqrt(np.maximum(diagonal, floor))
        else:
            units = self.scale
            if len(units) != len(F):
                raise ProblemError(f"criterion: {len(units)} scales for {len(F)} parameters")
        return F * np.outer(units, units), units


class ConditionNumber(Criterion):
    """Condition number of the observation matrix W (Gautier and Khalil 1992; as a criterion: Sousa 2014, Sec. 4.3.2).

    ``cond W = sqrt(lmax / lmin)``, l the eigenvalues of F. Smooth: ``sqrt(|l|_p |1/l|_p)``, from above.
    """

    name = "condition number"

    def _exact(self, eigenvalues: Array, vectors: Array) -> float:
        return float(np.sqrt(eigenvalues[-1] / eigenvalues[0]))

    def _smooth(self, eigenvalues: Array, vectors: Array, sharpness: float) -> tuple[float, Array]:
        high = (eigenvalues / eigenvalues[-1]) ** sharpness
        low = (eigenvalues[0] / eigenvalues) ** sharpness
        f = np.log(eigenvalues[-1] / eigenvalues[0]) + (np.log(high.sum()) + np.log(low.sum())) / sharpness
        slope = (high / high.sum() - low / low.sum()) / eigenvalues
        return 0.5 * f, 0.5 * (vectors * slope) @ vectors.T


class DOptimality(Criterion):
    """Volume of the confidence ellipsoid: ``det(F)^(-1 / 2r)``, the geometric mean of its semi-axes."""

    name = "D-optimality"

    def _exact(self, eigenvalues: Array, vectors: Array) -> float:
        return float(np.exp(-np.log(eigenvalues).sum() / (2 * len(eigenvalues))))

    def _smooth(self, eigenvalues: Array, vectors: Array, sharpness: float) -> tuple[float, Array]:
        r = len(eigenvalues)
        return float(-np.log(eigenvalues).sum() / (2 * r)), -(vectors / eigenvalues) @ vectors.T / (2 * r)


class AOptimality(Criterion):
    """Root-mean-square standard deviation of the parameters: ``sqrt(trace(F^-1) / r)``."""

    name = "A-optimality"

    def _exact(self, eigenvalues: Array, vectors: Array) -> float:
        return float(np.sqrt((1 / eigenvalues).sum() / len(eigenvalues)))

    def _smooth(self, eigenvalues: Array, vectors: Array, sharpness: float) -> tuple[float, Array]:
        trace = (1 / eigenvalues).sum()
        return 0.5 * float(np.log(trace / len(eigenvalues))), -0.5 * (vectors / eigenvalues**2) @ vectors.T / trace


@dataclass(frozen=True, eq=False)
class LargestDeviation(Criterion):
    """Largest standard deviation among chosen parameters: ``max_i sqrt((F^-1)_ii)``, i in ``rows``.

    Attributes
    ----------
    rows : tuple of int
        Numbers of the parameters; empty: all.
    """

    rows: tuple[int, ...] = ()

    name = "largest standard deviation"

    def _chosen(self, r: int) -> list[int]:
        if any(not 0 <= k < r for k in self.rows):
            raise ProblemError(f"criterion: parameters {list(self.rows)} chosen, there are {r}")
        return list(self.rows) or list(range(r))

    def _exact(self, eigenvalues: Array, vectors: Array) -> float:
        variances = ((vectors**2) / eigenvalues).sum(axis=1)
        return float(np.sqrt(variances[self._chosen(len(variances))].max()))

    def _smooth(self, eigenvalues: Array, vectors: Array, sharpness: float) -> tuple[float, Array]:
        chosen = self._chosen(len(eigenvalues))
        inverse_rows = (vectors[chosen] / eigenvalues) @ vectors.T
        variances = np.einsum("ij,ij->i", vectors[chosen] / eigenvalues, vectors[chosen])
        top = variances.max()
        powers = (variances / top) ** sharpness
        weights = powers / powers.sum() / variances
        f = 0.5 * (np.log(top) + np.log(powers.sum()) / sharpness)
        return float(f), -0.5 * (inverse_rows.T * weights) @ inverse_rows


#: Names a user writes -> criterion.
CRITERIA: dict[str, type[Criterion]] = {
    "condition": ConditionNumber,
    "d-optimal": DOptimality,
    "a-optimal": AOptimality,
    "largest-sd": LargestDeviation,
}


def criterion(
    name: str, observation: Observation, parameters: Sequence[str] = (), scale: ArrayLike | str | None = None
) -> Criterion:
    """A criterion by name.

    Parameters
    ----------
    name
        One of ``condition, d-optimal, a-optimal, largest-sd``.
    observation
        Whose parameters are meant.
    parameters
        For ``largest-sd``: names of the chosen base parameters; default all.
    scale
        See `Criterion`.

    Raises
    ------
    ProblemError
        For an unknown name, parameters that are not identifiable, or parameters chosen for another criterion.
    """
    if name not in CRITERIA:
        raise ProblemError(f"unknown criterion '{name}'{near(name, CRITERIA)}; known: {', '.join(CRITERIA)}")
    units = scale if scale is None or isinstance(scale, str) else np.asarray(scale, dtype=float)
    rows = tuple(observation.row(parameter) for parameter in parameters)
    if CRITERIA[name] is LargestDeviation:
        return LargestDeviation(units, rows)
    if rows:
        raise ProblemError(f"criterion '{name}' takes all parameters; parameters can be chosen with 'largest-sd' only")
    return CRITERIA[name](units)


#: Above this share of a parameter's information lost to others, they, not a small effect, make it weak; each of
#: them that takes more than the rest is named.
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
    reason : str
        Why it is as uncertain as it is.
    """

    name: str
    deviation: float
    alone: float
    reason: str


def weak_parameters(observation: Observation, information: ArrayLike, count: int | None = None) -> list[WeakParameter]:
    """Parameters sorted by uncertainty, weakest first, each with the reason.

    With the covariance ``C = F^-1``, ``sd_i = sqrt(C_ii)``; with all other parameters known it would be
    ``1 / sqrt(F_ii)``. The ratio separates the two reasons: a motion that hardly depends on the parameter (both
    large), or one that does not distinguish it from others (only the first large).

    Parameters
    ----------
    information
        F, shape (r, r).
    count
        How many to return; default all.

    Raises
    ------
    DatasetError
        If F is singular; the message names the parameters that cannot be distinguished.
    """
    names = observation.names
    shape = (len(names), len(names))
    F = numeric_array(information, "information matrix", DatasetError, finite=True, shape=shape)
    size, C = _scaled_covariance(F, names)
    deviation = np.sqrt(np.diagonal(C)) / size
    correlation = C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    np.fill_diagonal(correlation, 0.0)
    typical = float(np.median(size))
    result = []
    for k in np.argsort(-deviation, kind="stable")[:count]:
        partners = np.argsort(-np.abs(correlation[k]))[:3]
        strong = tuple(
            (names[j], float(correlation[k, j])) for j in partners if correlation[k, j] ** 2 > 1.0 - CONFOUNDED
        )
        reason = _reason(1.0 - 1.0 / C[k, k], size[k], typical, strong)
        result.append(WeakParameter(names[k], float(deviation[k]), float(1 / size[k]), reason))
    return result


def _scaled_covariance(F: Array, names: Sequence[str]) -> tuple[Array, Array]:
    """Lengths of the columns, and the covariance of parameters in units of 1 / length."""
    size = np.sqrt(np.maximum(np.diagonal(F), 0.0))
    absent = [name for name, length in zip(names, size, strict=True) if length == 0]
    if absent:
        raise DatasetError(f"information matrix: no information about {', '.join(absent)}")
    values, vectors = np.linalg.eigh(F / np.outer(size, size))
    if values[0] <= RANK_TOLERANCE * values[-1]:
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
