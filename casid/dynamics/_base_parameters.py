"""Base parameters: the linear combinations of standard parameters that the torques depend on.

The columns of the regressor are scanned from left to right; a column that depends on those before it is regrouped
into them (Gautier 1991; Sousa 2014, Sec. 2.5.1). With ``Y = Y_b K``, where ``Y_b`` holds the independent columns,
``beta = K pi`` are the base parameters and ``tau = Y_b beta``. ``K`` is the reduced row echelon form of the regressor's
row space, hence unique, whatever the samples it was computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE, ROUNDING, Array
from casid.errors import DatasetError, UnknownNameError


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """Base parameters of a model.

    Attributes
    ----------
    parameter_names : tuple of str
        Names of the N parameters ``pi``.
    independent : tuple of int
        Indices of the independent columns: the leading parameter of each base parameter.
    K : ndarray, shape (rank, N)
        ``beta = K pi``; the identity on the independent columns.
    margin : float
        Smallest share of an independent column that the columns before it leave: distance to losing rank.
    """

    parameter_names: tuple[str, ...]
    independent: tuple[int, ...]
    K: Array
    margin: float

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Leading parameter of each base parameter."""
        return tuple(self.parameter_names[i] for i in self.independent)

    @cached_property
    def unidentifiable(self) -> tuple[str, ...]:
        """Parameters without any effect on the torques: their columns of the regressor vanish."""
        return tuple(name for name, column in zip(self.parameter_names, self.K.T, strict=True) if not column.any())

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """Each base parameter written out, e.g. ``Lzz1 + Lyy2``."""
        return tuple(linear_form(row, self.parameter_names) for row in self.K)

    def values(self, parameters: ArrayLike) -> Array:
        """``beta = K pi`` of numeric parameters, shape (N,) -> (rank,)."""
        parameters = np.asarray(parameters, dtype=float)
        if parameters.shape != (len(self.parameter_names),):
            raise DatasetError(f"expected {len(self.parameter_names)} parameters, got shape {parameters.shape}")
        return np.asarray(self.K @ parameters)

    def row(self, name: str) -> int:
        """Index of the base parameter led by the parameter ``name``."""
        if name not in self.names:
            raise UnknownNameError(f"'{name}' leads no base parameter; leading parameters: {', '.join(self.names)}")
        return self.names.index(name)

    def __repr__(self) -> str:
        first = "; ".join(self.expressions[:2])
        more = f"; ... ({self.rank - 2} more)" if self.rank > 2 else ""
        return f"BaseParameters({self.rank} of {len(self.parameter_names)} parameters: {first}{more})"


def random_rows(regressor: ca.Function, prismatic: Sequence[bool], samples: int | None = None) -> Array:
    """A regressor at random states, stacked: shape (rows samples, N).

    Parameters
    ----------
    regressor
        ``(q[, dq[, ddq[, ...]]]) -> Y``; further inputs are gravity, a measured signal: any value must do.
    prismatic
        Which joints are prismatic, shape (n,).
    samples
        Default: six times as many rows as parameters, 30 at least.
    """
    rows, columns = regressor.size_out(0)
    count = samples or max(30, 6 * columns // rows)
    rng = np.random.default_rng(20140401)
    reach = np.where(prismatic, 1.0, np.pi)[:, None]
    sizes: dict[str, Array | float] = {"q": reach, "dq": 3.0}
    inputs = [
        sizes.get(name, 10.0) * rng.uniform(-1.0, 1.0, (regressor.size1_in(name), count))
        for name in regressor.name_in()
    ]
    return np.array(regressor.map(count)(*inputs)).reshape(rows * count, columns)  # from rows x (N count)


def regroup(W: ArrayLike, names: Sequence[str], tolerance: float = 1e-8) -> BaseParameters:
    """Independent columns from the left and the regrouping of the others.

    Parameters
    ----------
    W
        Observation matrix, shape (rows, N), with at least as many rows as its rank.
    names
        Names of its N columns.
    tolerance
        A column depends on those before it when what they leave of it is below this share of its length.

    Raises
    ------
    DatasetError
        If W has NaN or infinite entries, or no column that matters.
    """
    W = np.asarray(W, dtype=float)
    if W.ndim != 2 or W.shape[1] != len(names):
        raise DatasetError(f"observation matrix: expected {len(names)} columns, got shape {W.shape}")
    bad = np.argwhere(~np.isfinite(W))
    if len(bad):
        raise DatasetError(f"observation matrix: row {bad[0][0]}, column '{names[bad[0][1]]}' is not a finite number")
    lengths = np.linalg.norm(W, axis=0)
    # between the tolerance and its square, which for the default one is rounding: their geometric mean
    shortest = np.sqrt(tolerance * tolerance**2) * lengths.max(initial=0.0)
    present = lengths > shortest
    if not present.any():
        raise DatasetError("observation matrix: every column is zero, nothing can be identified")
    scaled = np.divide(W, lengths, where=present, out=np.zeros_like(W))
    echelon: Array = np.array(np.linalg.qr(scaled, mode="r") if W.shape[0] > W.shape[1] else scaled)

    independent: list[int] = []
    margin = 1.0
    for j in (int(j) for j in np.flatnonzero(present)):
        r = len(independent)
        left = float(np.linalg.norm(echelon[r:, j]))
        if left <= tolerance:
            continue
        margin = min(margin, left)
        _reflect(echelon, r, j)
        independent.append(j)
    rank = len(independent)
    upper = echelon[:rank]
    K = np.linalg.solve(upper[:, independent], upper) * lengths / lengths[independent][:, None]
    K[:, independent] = np.eye(rank)
    K[:, ~present] = 0.0
    K = _tidy(K, scaled[:, independent] * lengths[independent], W, lengths)
    K.setflags(write=False)
    return BaseParameters(tuple(names), tuple(independent), K, margin)


def _reflect(A: Array, r: int, j: int) -> None:
    """Householder reflection that clears column j below row r, in place."""
    v = A[r:, j].copy()
    v[0] += np.copysign(np.linalg.norm(v), v[0])
    v /= np.linalg.norm(v)
    A[r:, j:] -= np.outer(2.0 * v, v @ A[r:, j:])
    A[r + 1 :, j] = 0.0


def _tidy(K: Array, W_b: Array, W: Array, lengths: Array) -> Array:
    """Short decimals in place of floating-point neighbours, column by column where the regrouping stays exact."""
    tidy = np.round(K, 10) + 0.0  # kept only if it is the same to rounding
    close = np.abs(tidy - K) <= ROUNDING * np.maximum(1.0, np.abs(K))
    tidy = np.where(close, tidy, K)
    scale = np.where(lengths > 0, lengths, 1.0)
    error = np.linalg.norm(W - W_b @ K, axis=0) / scale
    tidy_error = np.linalg.norm(W - W_b @ tidy, axis=0) / scale
    return np.where(tidy_error <= np.maximum(2 * error, ROUNDING), tidy, K)


def linear_form(coefficients: ArrayLike, names: Sequence[str]) -> str:
    """A linear form in words, equal neighbours in brackets: ``Lxx5 - Lzz5 + 0.3*(m5 + m6 + m7)``."""
    groups: list[tuple[float, list[str]]] = []
    for value, name in zip(np.asarray(coefficients, dtype=float), names, strict=True):
        if value == 0.0:
            continue
        same = next(
            (g for g in groups if abs(g[0]) not in (0.0, 1.0) and abs(g[0] - value) <= ALIKE * abs(value)), None
        )
        if same:
            same[1].append(name)
        else:
            groups.append((float(value), [name]))
    text = ""
    for value, members in groups:
        sign = "-" if value < 0 else "+"
        body = members[0] if len(members) == 1 else f"({' + '.join(members)})"
        if abs(value) != 1.0:
            body = f"{abs(value):.10g}*{body}"
        text += f" {sign} {body}" if text else (f"-{body}" if value < 0 else body)
    return text or "0"
