"""Checks of samples and options of the on-line estimators, before anything changes, and equations of samples."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import evaluate_batch
from casid.errors import DatasetError
from casid.files._arrays import numeric_array

Array = NDArray[np.float64]
#: Largest number in measurements and weighted equations: beyond it, sums of squares of squares are not finite.
LARGEST = 1e60
#: Number of samples up to which compiled code costs more to find than it saves.
FEW = 500
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
        plain = numbers(name, given)
        value = np.atleast_2d(plain)
        if value.ndim != 2 or value.shape[1] != n:
            raise DatasetError(f"{name} has shape {plain.shape}; expected ({n},) or (N, {n})")
        if not len(value):
            raise DatasetError(f"{name}: expected at least one sample, got none")
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            raise DatasetError(
                f"{name} of joint {bad[0][1] + 1}, sample {bad[0][0]} is not a finite number; the estimator is as it "
                "was before this call"
            )
        beyond = np.argwhere(np.abs(value) > LARGEST)
        if len(beyond):
            raise DatasetError(
                f"{name} of joint {beyond[0][1] + 1}, sample {beyond[0][0]} is too large to be measured; the estimator "
                "is as it was before this call"
            )
        checked[name] = value
    lengths = {name: len(value) for name, value in checked.items()}
    if len(set(lengths.values())) > 1:
        raise DatasetError("different numbers of samples: " + ", ".join(f"{k} {v}" for k, v in lengths.items()))
    return checked


def checked_times(t: ArrayLike | None, count: int, last: float) -> Array | None:
    """Times of the samples, shape (count,) [s], if they are given; DatasetError where time goes back."""
    if t is None:
        return None
    times = np.atleast_1d(numbers("t", t))
    if times.shape != (count,):
        raise DatasetError(f"t: expected {count} times, got shape {times.shape}")
    if not np.isfinite(times).all():
        raise DatasetError(
            f"t of sample {int(np.argmin(np.isfinite(times)))} is not a finite number; the estimator is as it was "
            "before this call"
        )
    steps = np.diff(times, prepend=last if np.isfinite(last) else times[0])
    if (steps < 0).any():
        k = int(np.argmin(steps))
        raise DatasetError(
            f"time goes back by {-steps[k]:.6g} s at sample {k} (t = {times[k]:.6g}); the estimator is as it was "
            "before this call: drop the sample, or start a new estimator"
        )
    return times


def regressor_rows(function: ca.Function, samples: dict[str, Array]) -> Array:
    """The regressor at the samples, shape (N, n, columns); a few samples go through CasADi's own evaluation.

    Terms that use the measured torque get ``samples["tau"]``.
    """
    inputs = [samples[SIGNALS[name]] for name in function.name_in()]
    if len(samples["q"]) == 1:
        return np.asarray(function(*(value[0] for value in inputs)).full())[None]
    return np.asarray(evaluate_batch(function, *inputs, compiled=None if len(samples["q"]) > FEW else False))


def weighted(weights: Array, Y: Array, torque: Array) -> tuple[Array, Array]:
    """Equations of unit variance, ``w_j Y_j`` and ``w_j tau_j``, shapes (N, n, columns) and (N, n).

    Raises
    ------
    DatasetError
        Naming the sample and joint whose equation is not finite or too large to be measured.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows, targets = Y * weights[:, None], torque * weights
    largest = np.maximum(np.abs(rows).max(axis=2), np.abs(targets))
    bad = np.argwhere(~(largest <= LARGEST))  # NaN is bad too
    if len(bad):
        raise DatasetError(
            f"the equation of joint {bad[0][1] + 1}, sample {bad[0][0]} is too large to be measured (positions, "
            "velocities, accelerations or torques in wrong units?); the estimator is as it was before this call"
        )
    return rows, targets


def check_inputs(function: ca.Function) -> None:
    """Raise `DatasetError` where a regressor has inputs that samples do not hold."""
    unknown = [name for name in function.name_in() if name not in SIGNALS]
    if unknown:
        raise DatasetError(
            f"the model's regressor has the input '{unknown[0]}', which samples do not hold; make it constant"
        )


def numbers(name: str, given: object) -> Array:
    """Real numbers as a new array of floats; DatasetError naming the argument where it holds anything else."""
    return numeric_array(given, name, DatasetError)


def number(name: str, given: object) -> float:
    """One finite number; DatasetError otherwise."""
    value = numbers(name, given)
    if value.ndim or not np.isfinite(value):
        raise DatasetError(f"{name}: expected one finite number, got {_shown(given)}")
    return float(value)


def checked_weights(n: int, weights: ArrayLike) -> Array:
    """Weights of n joints: finite, not negative, not all zero."""
    w = numbers("weights", weights)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise DatasetError(f"weights: expected {n} finite non-negative numbers, not all zero, got {_shown(weights)}")
    return w


def checked_forgetting(forgetting: float) -> float:
    """Forgetting factor, in (0, 1]."""
    value = number("forgetting", forgetting)
    if not 0.0 < value <= 1.0:
        raise DatasetError(f"forgetting: expected a number in (0, 1], got {value}")
    return value


def checked_mu(mu: float) -> float:
    """Weight of the divergence, positive."""
    value = number("mu", mu)
    if value <= 0.0:
        raise DatasetError(f"mu: expected a positive finite number, got {value}")
    return value


def checked_shares(name: str, n: int, given: ArrayLike, below: float = np.inf) -> Array:
    """One number for all joints, or n of them, in [0, below)."""
    value = numbers(name, given)
    if value.shape not in ((), (1,), (n,)) or not ((value >= 0.0) & (value < below)).all():
        kind = "finite non-negative numbers" if np.isinf(below) else f"numbers in [0, {below:g})"
        raise DatasetError(f"{name}: expected one or {n} {kind}, got {_shown(given)}")
    return np.array(np.broadcast_to(value, (n,)))


def checked_iterations(iterations: int) -> int:
    """Largest number of Newton steps: a whole number, not negative."""
    value = number("iterations", iterations)
    if value < 0 or value != int(value):
        raise DatasetError(f"iterations: expected a whole number that is not negative, got {_shown(iterations)}")
    return int(value)


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
