"""The convex start: a regression without simulation, linear in the compliance 1/kp and what it multiplies.

With the measured motion the law of joint j, divided by its gain, is linear in the unknowns (e: gain setting)::

    e (q_des(t - delay) - q) = (1/kp) (ID(q, dq, ddq) - d) + (Ia/kp) ddq + (fv/kp) dq + (kd/kp) e dq + (fc/kp) sign(dq)
                               + (fl/kp) |ID(q, dq, 0)| sign(dq) + (fva/kp) |dq| + (fo/kp) + (fod/kp) t - e bias

Multiplied by kp where that is known. All terms go through one zero-phase filter, so the equation still holds; friction
of a joint at rest is not given by its motion, and such samples are left out. The delay, which is not linear, is tried
on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.signal import butter, sosfiltfilt

from casid.arrays import Array
from casid.description.joint_parameters import COULOMB, LOAD, OFFSET, ROTOR, VISCOUS
from casid.drives._recording import CommandRecording, held_commands
from casid.drives._runs import FreeRuns
from casid.drives._servo import KINDS, QUANTITIES, Unknown
from casid.evidence import CONFIDENCE, REPEATED
from casid.measurement import STILL_SD

#: Unknowns of a joint in the order of the regression's columns.
LINEAR = ("kp", ROTOR.symbol, VISCOUS.symbol, "kd", "ki", "emf", COULOMB.symbol, LOAD.symbol, OFFSET.symbol, "fva",
           "fod", "bias")  # fmt: skip
#: Those of them that may be negative.
_SIGNED = (OFFSET.symbol, "fva", "fod", "bias")
#: Delays of the grid: 7 ms apart, or less than half a cycle; the free runs find what is between.
_GRID = 13
#: A compliance that is so many deviations from zero is determined: chance does not reach them (6e-7) at any joint.
_DETERMINED = 5.0
#: A torque limit is looked for from this share of the torque of the largest error: one without effect has no
#: derivative.
REACHED = 0.7
#: Cut-off frequencies of the convex starts [Hz], an octave apart: the free runs choose between them.
CUTOFFS = (1.5, 3.0, 6.0)
#: Values where nothing is known, by kind.
_TYPICAL = {quantity.kind: quantity.typical for quantity in QUANTITIES.values()}


@dataclass(frozen=True, eq=False)
class ConvexStart:
    """Result of the regression of all joints.

    Attributes
    ----------
    theta : ndarray
        Values of the unknown parameters, within their bounds.
    gap : float
        Proven relative distance of the regression's cost from its minimum, the worst of all joints.
    cutoff : float
        Of the filter [Hz].
    ratios : tuple of int
        Joints whose gain no known torque (gravity, inertia of the links) fixes: their gain is assumed, and what is
        found of the drive is found up to that factor.
    """

    theta: Array
    gap: float
    cutoff: float
    ratios: tuple[int, ...]


class _Stretch(NamedTuple):
    """Filtered motion of all joints in a stretch of a recording; commands: one column a delay for each joint."""

    columns: dict[str, Array]
    errors: Array
    use: NDArray[np.bool_]
    on: Array


@dataclass(frozen=True, eq=False)
class _Joint:
    """Triangular factors of one joint's regression: ``[columns | right sides]``, one right side a delay."""

    free: tuple[str, ...]
    R: Array
    count: int


def convex_start(runs: FreeRuns, cutoff: float) -> ConvexStart:
    """Start from a regression at one cut-off frequency.

    Parameters
    ----------
    runs
        Recordings and unknowns.
    cutoff
        Of the zero-phase Butterworth filter of order 2 [Hz].
    """
    n, p = runs.robot.n, runs.parameters
    place = {(x.kind, j): i for i, x in enumerate(p) for j in x.joints}
    lower, upper = runs.bounds
    delays = np.zeros((n, 1)) + runs.known[:, [KINDS.index("delay")]]
    if ("delay", 0) in place:
        i = place["delay", 0]
        grid = np.linspace(lower[i], min(upper[i], max(5 * runs.period, 0.08)), _GRID)
        delays = np.broadcast_to(grid, (n, _GRID))
    stretches = [s for data in runs.recordings for s in _stretches(runs, data, cutoff, delays)]
    theta = np.array([x.unknown.value if x.unknown.value is not None else _TYPICAL[x.kind] for x in p])
    joints = [_factors(runs, stretches, k, place) for k in range(n)]
    bounds = {key: (lower[i], upper[i]) for key, i in place.items()}
    for k in range(n):
        if ("kp", k) in place:
            joints[k] = _with_prior(joints[k], p[place["kp", k]].unknown)
    costs = np.array([[_solve(j, d, k, bounds)[1] for d in range(delays.shape[1])] for k, j in enumerate(joints)])
    chosen = costs.argmin(axis=1)
    if runs.servo.whole("delay"):
        chosen[:] = (costs / np.maximum(costs.min(axis=1, keepdims=True), 1e-300)).sum(axis=0).argmin()
    solved = [_solve(j, int(chosen[k]), k, bounds) for k, j in enumerate(joints)]
    gains = {k: 1.0 / solved[k][0][0] for k, j in enumerate(joints) if "kp" in j.free and solved[k][3]}
    loose = []
    for k, joint in enumerate(joints):
        if "kp" not in joint.free or (len(p[place["kp", k]].joints) == 1 and k in gains):
            continue
        alike = [gain for j, gain in gains.items() if j in p[place["kp", k]].joints]
        common = float(np.exp(np.mean(np.log(alike or list(gains.values()) or [_TYPICAL["kp"]]))))
        bounds["kp", k] = (common * (1 - 1e-9), common)
        solved[k] = _solve(joint, int(chosen[k]), k, bounds)
        loose += [k] * (not alike)
    found: dict[int, list[float]] = {}
    for k, (joint, (x, _, _, _)) in enumerate(zip(joints, solved, strict=True)):
        compliance = x[joint.free.index("kp")] if "kp" in joint.free else 1.0
        for kind, value in zip(joint.free, x, strict=True):
            one = 1 / value if kind == "kp" else value if kind == "bias" else value / compliance
            found.setdefault(place[kind, k], []).append(float(one))
    for i, values in found.items():
        theta[i] = np.mean(values)
    for k in range(n):
        if ("delay", k) in place:
            theta[place["delay", k]] = delays[k, chosen[k]]
        if ("limit", k) in place and p[place["limit", k]].unknown.value is None:
            gain = theta[place["kp", k]] if ("kp", k) in place else runs.known[k, KINDS.index("kp")]
            alike = list(p[place["limit", k]].joints)  # the torque that is asked of any of them
            away = max(np.abs(data.on() * (data.q_des - data.q))[:, alike].max() for data in runs.recordings)
            theta[place["limit", k]] = REACHED * gain * away
    gap = max((gap for _, _, gap, _ in solved), default=0.0)
    return ConvexStart(np.clip(theta, lower, upper), gap, cutoff, tuple(loose))


def _stretches(runs: FreeRuns, data: CommandRecording, cutoff: float, delays: Array) -> Sequence[_Stretch]:
    """Filtered stretches of a recording without gaps."""
    model, pi, made = runs.model, runs.robot.standard_parameters(), []
    width = min(cutoff * 2 * data.period, 0.9)
    clear = 2.0 * CONFIDENCE - 1.0  # mean sign of a joint that moves in one direction for that share of the time
    sos, wide = butter(2, width, output="sos"), butter(2, min(2 * width, 0.95), output="sos")
    for rows in data.pieces():
        t, q = data.t[rows], np.asarray(data.q[rows])
        if len(t) < 60:
            continue
        smooth = sosfiltfilt(sos, q, axis=0)
        dq = np.gradient(smooth, t, axis=0)
        ddq = np.gradient(dq, t, axis=0)
        speed = np.gradient(sosfiltfilt(wide, q, axis=0), t, axis=0)
        slow = STILL_SD * runs.noise * np.sqrt(width) * 2.0 * cutoff + 1e-4
        sides = np.tanh(speed / slow)
        signs = sosfiltfilt(sos, sides, axis=0)
        load = np.abs(np.asarray(model.inverse_dynamics(smooth, dq, 0.0 * ddq, pi, compiled=True)))
        tau = np.asarray(model.inverse_dynamics(smooth, dq, ddq, pi, compiled=True))
        if data.torque is not None:
            tau = tau - sosfiltfilt(sos, np.asarray(data.torque[rows]), axis=0)
        on = data.on()[rows]
        errors = np.empty((*q.shape, delays.shape[1]))
        half, linear = data.period / 2, runs.servo.hold == "linear"
        for k in range(q.shape[1]):
            before, after = (held_commands(data.t, data.q_des[:, k], t + s * half, linear)[1] for s in (-1, 1))
            filtered = sosfiltfilt(sos, (after - before) / (2 * half))
            errors[:, k] = on[:, [k]] * (np.interp(t[:, None] - delays[k], t, filtered) - smooth[:, [k]])
        edge = min(int(1 / (np.pi * width)), len(t) // 4)
        use = (np.abs(signs) >= clear) & (np.abs(errors[:, :, 0]) < runs.known[:, KINDS.index("duty")])
        use[:edge] = use[-edge:] = False
        columns = {
            "kp": tau,
            ROTOR.symbol: ddq,
            VISCOUS.symbol: dq,
            "kd": on * dq,
            "ki": -_wound(t, errors[:, :, 0]),
            "emf": (on > 0) * dq,
            COULOMB.symbol: signs,
            LOAD.symbol: sosfiltfilt(sos, sides * load, axis=0),
            OFFSET.symbol: np.ones_like(q),
            "fva": sosfiltfilt(sos, np.abs(speed), axis=0),
            "fod": np.broadcast_to(t[:, None], q.shape),
            "bias": -on,
        }
        made.append(_Stretch(columns, errors, use, on))
    return made


def _wound(t: Array, errors: Array) -> Array:
    """Integral of the errors less its mean, which the first value of the servo's integral holds."""
    whole = np.cumsum(errors * np.gradient(t)[:, None], axis=0)
    return np.asarray(whole - whole.mean(axis=0))


def _factors(runs: FreeRuns, stretches: Sequence[_Stretch], k: int, place: dict[tuple[str, int], int]) -> _Joint:
    """Regression of one joint in triangular form."""
    known = {kind: float(runs.known[k, KINDS.index(kind)]) for kind in LINEAR}
    free = tuple(kind for kind in LINEAR if (kind, k) in place)
    factor = 1.0 if "kp" in free else known["kp"]
    rows = [np.zeros((1, len(free) + (stretches[0].errors.shape[2] if stretches else 1)))]
    for s in stretches:
        column = {kind: value[:, k] for kind, value in s.columns.items()}
        column["bias"] = factor * column["bias"]
        right = factor * s.errors[:, k]
        rigid = column["kp"] + sum(known[c] * column[c] for c in LINEAR[1:-1] if c not in free)
        if "kp" in free:
            column["kp"] = rigid
        else:
            right = right - np.asarray(rigid)[:, None]
        if "bias" not in free:
            right = right - known["bias"] * column["bias"][:, None]
        left = np.column_stack([column[kind] for kind in free]) if free else np.zeros((len(right), 0))
        rows.append(np.column_stack([left, right])[s.use[:, k]])
    stacked = np.concatenate(rows)
    width = stacked.shape[1]
    R = np.asarray(np.linalg.qr(np.vstack([stacked, np.zeros((width, width))]), mode="r"))
    return _Joint(free, R, len(stacked))


def _with_prior(joint: _Joint, prior: Unknown) -> _Joint:
    """The regression with the user's prior of kp as one more equation, weighed by what the residual leaves."""
    if prior.value is None or not np.isfinite(prior.sd):
        return joint
    m, i = len(joint.free), joint.free.index("kp")
    A, right = joint.R[:, :m], joint.R[:, m:]
    left = right - A @ np.linalg.lstsq(A, right, rcond=None)[0]
    spread = np.sqrt((left**2).sum(axis=0).min() * REPEATED / max(joint.count, 1))
    row = np.zeros(joint.R.shape[1])
    row[i] = row[m:] = spread * prior.value**2 / prior.sd
    row[m:] /= prior.value
    return _Joint(joint.free, np.vstack([joint.R, row]), joint.count)


def _solve(
    joint: _Joint, delay: int, k: int, bounds: dict[tuple[str, int], tuple[float, float]]
) -> tuple[Array, float, float, bool]:
    """Values, cost, relative gap, and whether the compliance is determined, with the signs of physics.

    The gap is that of Frank and Wolfe (1956) over a box that holds the minimum: ``f(x) - f* <= max_z f'(x)'(x - z)``.
    """
    m = len(joint.free)
    A, b = joint.R[:, :m], joint.R[:, m + delay]
    if joint.count < 8 * max(m, 1) or not m:
        gain = 1.0 / _TYPICAL["kp"] if "kp" in joint.free else 1.0
        still = [gain * (1.0 if c == "kp" else _TYPICAL[c]) for c in joint.free]
        return np.array(still), float(b @ b), 0.0, False
    low, high = np.zeros(m), np.full(m, np.inf)
    for i, kind in enumerate(joint.free):
        below, above = bounds[kind, k]
        if kind == "kp":
            low[i], high[i] = 1 / above, 1 / below
        elif kind in _SIGNED:
            low[i], high[i] = (below, above) if kind == "bias" else (-np.inf, np.inf)
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
    B, y = np.vstack([A / scale, 1e-4 * np.eye(m)]), np.append(b, np.zeros(m))
    z = lsq_linear(B, y, (low * scale, np.maximum(high, low * (1 + 1e-12) + 1e-300) * scale), method="bvls").x
    r = B @ z - y
    slope, reach = B.T @ r, np.linalg.norm(z) + 10 * np.linalg.norm(b)
    lowest, highest = np.maximum(low * scale, -reach), np.minimum(high * scale, reach)
    gap = float((np.maximum(slope, 0) * (z - lowest)).sum() + (np.maximum(-slope, 0) * (highest - z)).sum())
    cost = float(r @ r)
    sure = True
    if "kp" in joint.free:
        i = joint.free.index("kp")
        spread = np.sqrt(np.linalg.inv(B.T @ B)[i, i] * cost / max(joint.count / REPEATED, 1.0))
        sure = bool(z[i] > _DETERMINED * spread and z[i] > low[i] * scale[i])
    return z / scale, cost, gap / max(cost / 2, 1e-300), sure
