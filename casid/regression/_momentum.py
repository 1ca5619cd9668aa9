"""Regression without accelerations: the momentum form of the dynamics against smooth test functions.

With the generalised momentum ``p = M(q) dq = Y_p(q, dq) pi`` and ``E = dK/dq - dV/dq - friction = Y_E(q, dq) pi``,
Newton's law is ``tau = dp/dt - E``, linear in the parameters. Against a smooth function h of compact support,
integration by parts moves the derivative from the data to h (the modulating functions of Shinbrot 1957; the filtered
form of Slotine and Li 1987)::

    int h tau dt = (- int h' Y_p dt - int h Y_E dt) pi

so that only positions and velocities enter, and h is the low pass of both sides alike: columns such as ``sign(dq)``
pass the same filter as the torques.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression._compress import SEGMENTS, CompressedData, Heading, assembled
from casid.regression._rows import SegmentedFactors

#: Samples whose columns are held at a time.
_BLOCK = 8192
#: Largest deviation of a time step from the median, as a share of it.
_JITTER = 0.01


def momentum_regressor(model: Model) -> Function:
    """``(q, dq) -> (Y_p, Y_E)``: columns of the base parameters, of momentum and of ``dK/dq - dV/dq - terms``.

    Raises
    ------
    DatasetError
        If a joint term depends on the acceleration otherwise than as an inertia, or on the measured torque.
    """
    n, count = model.n, len(model.parameter_names)
    q, dq, ddq, pi = ca.SX.sym("q", n), ca.SX.sym("dq", n), ca.SX.sym("ddq", n), ca.SX.sym("pi", count)
    columns = sorted(model.term_columns)
    links = np.setdiff1d(np.arange(count), columns)
    bare = ca.SX(count, 1)
    bare[links] = pi[list(links)]
    kinetic, potential = model.kinetic_energy(q, dq, bare), model.potential_energy(q, bare)
    # rotors count as terms below, not in the kinetic energy of the links
    Yp = ca.jacobian(ca.gradient(kinetic, dq), pi)
    YE = ca.jacobian(ca.gradient(kinetic - potential, q), pi)
    if columns:
        if model.regressor.n_in() != 3:
            raise DatasetError(
                f"the momentum form has no torque signal; leave out the terms that use "
                f"{', '.join(model.regressor.name_in()[3:])}"
            )
        terms = model.regressor(q, dq, ddq)[:, columns]
        inertial = ca.jacobian(ca.vec(terms), ddq)
        if any(ca.depends_on(inertial, symbol) for symbol in (q, dq, ddq)):
            raise DatasetError("a joint term depends on acceleration, and not as a constant inertia; leave it out")
        Yp[:, columns] = ca.reshape(ca.mtimes(inertial, dq), n, len(columns))
        YE[:, columns] = -ca.substitute(terms, ddq, ca.SX.zeros(n))
    independent = list(model.base.independent)
    outputs = [ca.densify(Yp[:, independent]), ca.densify(YE[:, independent])]
    made = ca.Function("momentum_regressor", [q, dq], outputs, ["q", "dq"], ["Yp", "YE"], {"cse": True})
    return Function(made, axes=2)


def modulating_function(half: int, period: float) -> tuple[Array, Array]:
    """``h`` and ``h'`` at ``-half ... half`` samples: a squared Hann window of unit integral, flat at its ends."""
    phase = np.pi * np.arange(-half, half + 1) / (half + 1)
    window, slope = np.cos(phase / 2) ** 4, -2 * np.cos(phase / 2) ** 3 * np.sin(phase / 2)
    total = window.sum()
    return window / total, slope / total * np.pi / ((half + 1) * period)


def overlap(h: Array, step: int) -> float:
    """Equations over those that count as independent, of test functions ``step`` samples apart and white noise.

    ``1 + 2 sum_k r_k`` with r_k the correlation of h with itself k steps further on.
    """
    squares = np.correlate(h, h, mode="full")[len(h) - 1 :: step] / float(h @ h)
    return float(1.0 + 2.0 * squares[1:].sum())


def _unmasked(data: Dataset, half: int) -> NDArray[np.bool_]:
    """Centres of test functions that meet no masked torque of the joint, shape (N - 2 half, n)."""
    if data.mask is None:
        return np.ones((len(data) - 2 * half, data.n), dtype=bool)
    masked = np.concatenate([np.zeros((1, data.n), dtype=np.int64), np.cumsum(~data.mask, axis=0)])
    return np.asarray(masked[2 * half + 1 :] == masked[: -2 * half - 1])


def compress_momentum(
    model: Model, datasets: Dataset | Iterable[Dataset], width: float = 0.2, every: int | None = None
) -> CompressedData:
    """Compress recordings in the momentum form, for the same fits as `compress`.

    Parameters
    ----------
    model
        Its base parameters are the columns.
    datasets
        With ``dq``, at a uniform rate; ``ddq`` is not used. Test functions that meet a masked torque are left out.
    width
        Duration of a test function [s]; it passes frequencies below about ``1 / width``.
    every
        Samples from one test function to the next; default: a quarter of its width.

    Raises
    ------
    DatasetError
        If a recording has no velocities, no uniform rate, is shorter than a test function, or fits not the model; if
        ``width`` or ``every`` is no such number.
    """
    from scipy.signal import oaconvolve  # slow to import

    datasets = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    if not isinstance(width, int | float) or not 0.0 < width < np.inf:
        raise DatasetError(f"width: expected a positive finite number of seconds, got {width!r}")
    if every is not None and (not isinstance(every, int | np.integer) or every < 1):
        raise DatasetError(f"every: expected a positive whole number of samples, got {every!r}")
    n, rank, function = model.n, model.base.rank, momentum_regressor(model)
    acts = [np.flatnonzero(row) for row in _pattern(function)]
    factors = SegmentedFactors([np.append(columns, [rank, rank + 1]) for columns in acts], rank + 2)
    read: list[Heading] = []
    correlated = np.zeros(n)
    for data in datasets:
        half, step, period = _grid(model, data, width, every)
        assert data.dq is not None
        h, slope = modulating_function(half, period)
        centres = np.arange(half, len(data) - half, step)
        kept = _unmasked(data, half)[::step]
        correlated += kept.sum(axis=0) * overlap(h, step)
        factors.begin(np.asarray(kept.any(axis=1)), SEGMENTS)
        raw = data.tau if data.tau_raw is None else data.tau_raw
        filtered = [oaconvolve(tau, h[:, None], mode="valid", axes=0)[::step] for tau in (data.tau, raw)]
        for first in range(0, len(centres), max(1, _BLOCK // step)):
            some = centres[first : first + max(1, _BLOCK // step)]
            part = slice(some[0] - half, some[-1] + half + 1)
            rows = _filtered(function(data.q[part], data.dq[part]), h, slope)[::step]
            for where, inside in factors.segments_of(first, len(some)):
                for k, columns in enumerate(acts):
                    keep = kept[where, k]
                    smooth, raw_smooth = (values[where, k][keep] for values in filtered)
                    factors.add(k, rows[inside, k][keep], columns, smooth, raw_smooth, None)
        step_made = f"{data.name}: momentum form, test functions of {width:g} s, {len(centres)} of them"
        read.append(Heading.of(data).after(step_made))
    result = assembled(model, factors.finish(), correlated, read)
    equations = int(result.counts.sum())
    if not read or equations <= rank:
        raise DatasetError(
            f"{equations} equations are too few for {rank} base parameters; record more, or use narrower test functions"
        )
    return result


def _filtered(columns: Any, h: Array, slope: Array) -> Array:
    """Columns ``-int h' Y_p dt - int h Y_E dt`` of the test functions at every sample that they fit around."""
    from scipy.signal import oaconvolve  # slow to import

    Yp, YE = (np.asarray(v) for v in columns)
    # convolution flips h: int h(s) f(t + s) ds is the convolution with h(-s), and h' is odd
    rows = oaconvolve(Yp, slope[:, None, None], mode="valid", axes=0)
    return np.asarray(rows - oaconvolve(YE, h[:, None, None], mode="valid", axes=0))


def _grid(model: Model, data: Dataset, width: float, every: int | None) -> tuple[int, int, float]:
    """Half width and distance of the test functions in samples, and the period."""
    if data.n != model.n:
        raise DatasetError(f"{data.name} has {data.n} joints, the model has {model.n}")
    if data.dq is None:
        raise DatasetError(f"{data.name} has no velocities; process it first (Processing().apply)")
    intervals = np.diff(data.t)
    period = data.period
    uneven = np.flatnonzero(np.abs(intervals - period) > _JITTER * period)
    if len(uneven):
        raise DatasetError(
            f"{data.name}: the rate is not uniform (step {intervals[uneven[0]]:.6g} s after sample {uneven[0]}, median "
            f"{period:.6g} s); resample it first (Processing(rate=...))"
        )
    half = round(width / period / 2)
    if half < 2:
        raise DatasetError(f"{data.name}: a test function of {width:g} s holds fewer than 5 samples; take a wider one")
    if len(data) < 2 * half + 1:
        raise DatasetError(f"{data.name}: {len(data)} samples are fewer than one test function of {width:g} s holds")
    return half, max(1, (half // 2) if every is None else int(every)), period


def _pattern(function: ca.Function) -> NDArray[np.bool_]:
    """Which base parameters act on which joint."""
    q, dq = function.sx_in()
    Yp, YE = function(q, dq)
    either = ca.sparsify(Yp) + ca.sparsify(YE)
    return np.array(ca.DM(either.sparsity(), 1.0).full() != 0.0)
