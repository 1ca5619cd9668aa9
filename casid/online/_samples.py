"""Samples of the on-line estimators: their checks before anything changes, their equations, all they tell so far.

`Information` is a square-root information filter: all information of samples about parameters, in one triangular
matrix.

``||rho - R p||^2 + rest`` is the weighted sum of squares of all samples, so that an estimate after N samples equals the
batch estimate of the same N samples (Bierman 1977, ch. V). Forgetting is directional: only information along the newest
rows fades (Cao and Schwartz 2000),

    A <- A - (1 - lambda) A Y' (Y A Y')^+ Y A + Y'Y,      A = R'R,

so that directions without excitation keep their information for any length of time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import RANK, ROUNDING, Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import finite_number, numeric_array, shown
from casid.loads import Resting
from casid.online._known_robot import StateNoise, torque_rate

#: Largest number in measurements and weighted equations: beyond it, sums of squares of squares are not finite.
LARGEST = 1e60
#: The parameters with which residuals are computed are estimated anew when the information has grown by this share:
#: their deviation has then fallen by a twentieth, and the estimates of N samples cost a number that grows as log N.
REFRESH = 0.1
#: Of samples that are refused.
UNCHANGED = "; the estimator is as it was before this call"
#: Inputs of a regressor, and the arrays of samples that hold them.
SIGNALS = {"q": "q", "dq": "dq", "ddq": "ddq", "signal": "tau"}


def checked_samples(n: int, **arrays: ArrayLike) -> dict[str, Array]:
    """Arrays of shape (N, n) from one sample (n,) or many (N, n).

    Raises
    ------
    DatasetError
        Naming the array, sample and joint of a wrong shape or a number that is not finite; for no samples at all.
    """
    checked: dict[str, Array] = {}
    for name, given in arrays.items():
        plain = numeric_array(given, name, DatasetError)
        value = np.atleast_2d(plain)
        if value.ndim != 2 or value.shape[1] != n:
            raise DatasetError(f"{name} has shape {plain.shape}; expected ({n},) or (N, {n})")
        if not len(value):
            raise DatasetError(f"{name}: expected at least one sample, got none")
        bad = np.argwhere(~(np.abs(value) <= LARGEST))  # NaN is bad too
        if len(bad):
            sample, joint = bad[0]
            fault = "is too large to be measured" if np.isfinite(value[sample, joint]) else "is not a finite number"
            raise DatasetError(f"{name} of joint {joint + 1}, sample {sample} {fault}{UNCHANGED}")
        checked[name] = value
    lengths = {name: len(value) for name, value in checked.items()}
    if len(set(lengths.values())) > 1:
        raise DatasetError("different numbers of samples: " + ", ".join(f"{k} {v}" for k, v in lengths.items()))
    return checked


def checked_times(t: ArrayLike | None, count: int, last: float) -> Array | None:
    """Times of the samples, shape (count,) [s], if they are given; DatasetError where time goes back."""
    if t is None:
        return None
    times = np.atleast_1d(numeric_array(t, "t", DatasetError))
    if times.shape != (count,):
        raise DatasetError(f"t: expected {count} times, got shape {times.shape}")
    if not np.isfinite(times).all():
        raise DatasetError(f"t of sample {int(np.argmin(np.isfinite(times)))} is not a finite number{UNCHANGED}")
    steps = np.diff(times, prepend=last if np.isfinite(last) else times[0])
    if (steps < 0).any():
        k = int(np.argmin(steps))
        where = f"at sample {k} (t = {times[k]:.6g})"
        raise DatasetError(
            f"time goes back by {-steps[k]:.6g} s {where}{UNCHANGED}: drop the sample, or start a new estimator"
        )
    return times


def regressor_rows(function: Function, samples: dict[str, Array]) -> Array:
    """The regressor at the samples, shape (N, n, columns).

    Terms that use the measured torque get ``samples["tau"]``.
    """
    inputs = [samples[SIGNALS[name]] for name in function.name_in()]
    return np.asarray(function(*inputs))


def weighted(weights: Array, Y: Array, torque: Array) -> tuple[Array, Array]:
    """Equations of unit variance, ``w_j Y_j`` and ``w_j tau_j``, shapes (N, n, columns) and (N, n).

    The weights have shape (n,), or (N, n) where they differ from sample to sample.

    Raises
    ------
    DatasetError
        Naming the sample and joint whose equation is not finite or too large to be measured.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows, targets = Y * weights[..., None], torque * weights
    largest = np.maximum(np.abs(rows).max(axis=2), np.abs(targets))
    bad = np.argwhere(~(largest <= LARGEST))  # NaN is bad too
    if len(bad):
        raise DatasetError(
            f"the equation of joint {bad[0][1] + 1}, sample {bad[0][0]} is too large to be measured (positions, "
            f"velocities, accelerations or torques in wrong units?){UNCHANGED}"
        )
    return rows, targets


def checked_shares(name: str, n: int, given: ArrayLike, below: float = np.inf) -> Array:
    """One number for all joints, or n of them, in [0, below)."""
    value = numeric_array(given, name, DatasetError)
    if value.shape not in ((), (1,), (n,)) or not ((value >= 0.0) & (value < below)).all():
        kind = "finite non-negative numbers" if np.isinf(below) else f"numbers in [0, {below:g})"
        raise DatasetError(f"{name}: expected one or {n} {kind}, got {shown(given)}")
    return np.array(np.broadcast_to(value, (n,)))


def checked_iterations(iterations: int) -> int:
    """Largest number of Newton steps: a whole number, not negative."""
    value = finite_number(iterations, "iterations", DatasetError)
    if value < 0 or value != int(value):
        raise DatasetError(f"iterations: expected a whole number that is not negative, got {shown(iterations)}")
    return int(value)


class Estimator:
    """What estimators on line are given, checked, and how they take samples.

    Parameters
    ----------
    model, weights, forgetting, mu
        As in `Online`.
    regressor
        The model's, of the parameters that samples are compared with.
    """

    def __init__(self, model: Model, regressor: Function, weights: ArrayLike, forgetting: float, mu: float) -> None:
        unknown = [name for name in regressor.name_in() if name not in SIGNALS]
        if unknown:
            raise DatasetError(
                f"the model's regressor has the input '{unknown[0]}', which samples do not hold; make it constant"
            )
        self.model, self.regressor, self.time = model, regressor, -np.inf
        self.weights = w = numeric_array(weights, "weights", DatasetError, finite=True, shape=(model.n,))
        if (w < 0).any() or not w.any():
            raise DatasetError(f"weights: expected {model.n} non-negative numbers, not all zero, got {shown(weights)}")
        self.forgetting, self.mu = (
            finite_number(value, name, DatasetError) for name, value in (("forgetting", forgetting), ("mu", mu))
        )
        if not 0.0 < self.forgetting <= 1.0:
            raise DatasetError(f"forgetting: expected a number in (0, 1], got {self.forgetting}")
        if self.mu <= 0.0:
            raise DatasetError(f"mu: expected a positive finite number, got {self.mu}")

    def taken(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, t: ArrayLike | None
    ) -> tuple[dict[str, Array], Array | None, Array]:
        """Samples, their times, and their regressor, shape (N, n, columns); DatasetError for what cannot be one."""
        s = checked_samples(self.model.n, q=q, dq=dq, ddq=ddq, tau=tau)
        return s, checked_times(t, len(s["q"]), self.time), regressor_rows(self.regressor, s)


@dataclass
class StateWeights:
    """Weights of the samples' equations where the residual's deviation depends on the state (`StateNoise`).

    The friction of a resting joint is one unknown of standard deviation b for the whole rest. The m-th sample of a rest
    has the variance ``s^2 + b^2 max(m, L) / f``, of an autoregression of inflation ``f = (1 + a) / (1 - a)``: any L
    samples of a rest, and a rest of fewer, tell no more than one equation of deviation b does, and a long one little
    more.
    """

    model: Model
    parameters: Array
    noise: StateNoise
    last: tuple[Array, Array, float] | None = None

    def at(
        self, s: dict[str, Array], times: Array | None, weights: Array, correlation: Array, longest: float
    ) -> tuple[tuple[Array, Array, float], Array, NDArray[np.bool_], Array]:
        """What is kept for the next samples, weights, moving joints and the shift of the friction, each (N, n)."""
        count, n = s["q"].shape
        before = (np.zeros(n), s["tau"][0], np.nan) if self.last is None else self.last
        resting = Resting.of(lambda dq: self._friction({**s, "dq": dq}), s["dq"], self.noise.speed)
        rate = np.zeros((count, n))
        if times is not None:
            t = np.concatenate([[before[2] if np.isfinite(before[2]) else times[0]], times])
            rate = torque_rate(np.vstack([before[1], s["tau"]]), t)[1:]
        rested, lengths = before[0], np.zeros((count, n))
        for k, still in enumerate(resting.mask):
            rested = np.where(still, rested + 1.0, 0.0)
            lengths[k] = rested
        independent = np.maximum(lengths, longest) * (1.0 - correlation) / (1.0 + correlation)
        added = (self.noise.timing * rate) ** 2 + resting.band**2 * np.maximum(independent, 1.0)
        kept = rested, s["tau"][-1], np.nan if times is None else float(times[-1])
        return kept, weights / np.sqrt(1.0 + weights**2 * added), ~resting.mask, resting.shift

    def _friction(self, s: dict[str, Array]) -> Array:
        terms = sorted(self.model.term_columns)
        return regressor_rows(self.model.regressor, s)[:, :, terms] @ self.parameters[terms]


@dataclass(frozen=True, eq=False)
class Information:
    """Information about parameters p.

    Attributes
    ----------
    R : ndarray, shape (r, r)
        Upper triangular, up to an orthogonal factor.
    rho : ndarray, shape (r,)
        Or (r, c), of c right-hand sides of the same rows.
    rest : float
        Residual sum of squares at the best p.
    count : float
        Number of scalar equations, less the forgotten ones.
    freedom : float
        Degrees of freedom of the noise: the equations beyond those that first determine the parameters.
    determined : int
        Parameters that follow from those before them and the equations so far.
    """

    R: Array
    rho: Array
    rest: float = 0.0
    count: float = 0.0
    freedom: float = 0.0
    determined: int = 0

    @classmethod
    def nothing(cls, size: int) -> Information:
        """No information: before the first sample."""
        return cls(np.zeros((size, size)), np.zeros(size))

    def updated(self, rows: Array, targets: Array, counted: float | None = None) -> Information:
        """With more equations ``rows p = targets`` of unit variance, shapes (k, r) and (k,), or (k, c).

        ``counted`` of them (default: all) tell about the noise.
        """
        r = len(self.rho)
        above = np.column_stack([self.R, self.rho])
        triangle = np.asarray(np.linalg.qr(np.vstack([above, np.column_stack([rows, targets])]), mode="r"))
        left = triangle[r:, r:].ravel()
        R = triangle[:r, :r].copy()
        determined = int(np.sum(np.abs(np.diagonal(R)) > RANK * np.linalg.norm(R, axis=0)))
        more = len(rows) if counted is None else counted
        freedom = max(self.freedom + more - (determined - self.determined), 0.0)
        rest, count = self.rest + float(left @ left), self.count + more
        return Information(R, triangle[:r, r:].reshape(self.rho.shape), rest, count, freedom, determined)

    def forgotten(self, rows: Array, share: float) -> Information:
        """With the information along ``rows``, shape (k, r), times ``share`` (lambda), and all other unchanged.

        With an orthonormal basis D of the columns of R Y', ``R <- R - (1 - sqrt(lambda)) D D' R``, rho likewise.
        """
        if share >= 1.0:
            return self
        negligible = ROUNDING * np.abs(rows) @ np.linalg.norm(self.R, axis=0)
        D: Array = np.zeros((0, len(self.rho)))
        for direction, least in zip(rows @ self.R.T, negligible, strict=True):
            for _ in range(2):  # orthogonalised twice is orthogonal
                direction = direction - (D @ direction) @ D
            length = float(np.linalg.norm(direction))
            if length > least:
                D = np.vstack([D, direction / length])
        fade = 1.0 - np.sqrt(share)
        R, rho = self.R - fade * D.T @ (D @ self.R), self.rho - fade * D.T @ (D @ self.rho)
        rest, count, freedom = self.rest * share, self.count * share, self.freedom * share
        return replace(self, R=R, rho=rho, rest=rest, count=count, freedom=freedom)

    @property
    def estimate(self) -> Array:
        """Least-squares p; the one of minimum norm where it is not fully determined."""
        return np.asarray(np.linalg.lstsq(self.R, self.rho, rcond=RANK)[0])

    def error(self, p: Array) -> float:
        """``||rho - R p||^2 + rest``."""
        return float(np.sum((self.rho - self.R @ p) ** 2)) + self.rest

    @property
    def variance(self) -> float:
        """Mean square of the residual at the estimate; infinite without degrees of freedom."""
        return self.error(self.estimate) / self.freedom if self.freedom >= 1.0 else np.inf

    def covariance(self, scale: float = 1.0) -> Array:
        """``scale (R'R)^+``; infinite variances where there is no information."""
        _, s, Vt = np.linalg.svd(self.R)
        known = s > RANK * s[0]
        V = Vt.T[:, known] / s[known]
        covariance = scale * V @ V.T
        unknown = np.linalg.norm(Vt[~known], axis=0) > np.sqrt(RANK)
        covariance[unknown, unknown] = np.inf
        return np.asarray(covariance)
