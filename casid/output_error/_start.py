"""The convex start: a regression without simulation, linear in the compliance 1/kp and what it multiplies.

With the measured motion the law of joint j, divided by its gain, is linear in the unknowns (e: gain setting)::

    e (q_des(t - delay) - q) = (1/kp) (ID(q, dq, ddq) - d) + (Ia/kp) ddq + (fv/kp) dq + (kd/kp) e dq + (fc/kp) sign(dq)
                               + (fo/kp) - e bias

Multiplied by kp where that is known. All terms go through one zero-phase filter, so the equation still holds; a joint at
rest tells nothing of its friction, and such samples are left out. The delay, which is not linear, is tried on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.signal import butter, sosfiltfilt

from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.measurement._commands import CommandRecording, held_commands
from casid.output_error._rollout import ALL, KINDS
from casid.output_error._runs import FreeRuns

Array = NDArray[np.float64]
#: Unknowns of a joint in the order of the regression's columns.
_LINEAR = ("kp", "Ia", "fv", "kd", "fc", "fo", "bias")
#: Slower than so many deviations of the filtered speed counts as rest.
_REST = 6.0
#: Largest share of the limit that counts as not saturated.
_SATURATED = 0.95
#: Cells of the grid of delays.
_GRID = 13


@dataclass(frozen=True)
class ConvexStart:
    """Result of the regression of all joints.

    Attributes
    ----------
    theta : ndarray
        Values of the unknown parameters, within their bounds.
    gap : float
        Proven relative distance of the regression's cost from its minimum, the worst of all joints.
    error : float
        Root mean square of the equation's error [rad], over all joints.
    cutoff : float
        Of the filter [Hz].
    """

    theta: Array
    gap: float
    error: float
    cutoff: float


@dataclass(frozen=True, eq=False)
class _Motion:
    """A recording's filtered motion, one row a sample."""

    data: CommandRecording
    rows: slice
    q: Array
    dq: Array
    ddq: Array
    torque: Array
    signs: Array
    rest: NDArray[np.bool_]
    sos: Array

    def command(self, k: int, delay: float, linear: bool) -> Array:
        """Filtered command of a joint as it acts, the mean around each sample."""
        t, half = self.data.t[self.rows], self.data.period / 2
        _, late = held_commands(self.data.t, self.data.q_des[:, k], t - delay + half, linear)
        _, early = held_commands(self.data.t, self.data.q_des[:, k], t - delay - half, linear)
        return np.asarray(sosfiltfilt(self.sos, (late - early) / (2 * half)))


def convex_start(runs: FreeRuns, cutoff: float) -> ConvexStart:
    """Start from a regression at one cut-off frequency.

    Parameters
    ----------
    runs
        Recordings and unknowns.
    cutoff
        Of the zero-phase Butterworth filter of order 2 [Hz].
    """
    motions = [m for data in runs.recordings for m in _motions(runs, data, cutoff)]
    n = runs.robot.n
    known = runs.known
    unknown = {(p.kind, j): i for i, p in enumerate(runs.parameters) for j in ([p.joint] if p.joint != ALL else range(n))}
    shared = ("delay", 0) in unknown and runs.servo.shared_delay()
    lower, upper = (np.array([getattr(p, side) for p in runs.parameters]) for side in ("lower", "upper"))
    period = np.median([data.period for data in runs.recordings])
    fits: list[list[tuple[float, Array, float, int]]] = []
    if ("delay", 0) in unknown:
        i = unknown["delay", 0]
        delays = np.linspace(max(lower[i], -period), min(upper[i], max(5 * period, 0.08)), _GRID)
    else:
        delays = np.array([0.0])
    for k in range(n):
        own = delays if ("delay", k) in unknown else np.array([known[k, KINDS.index("delay")]])
        fits.append([_joint(runs, motions, k, delay, unknown) for delay in own])
    theta = np.array([p.unknown.value if p.unknown.value is not None else _middle(p.kind, p.lower, p.upper) for p in runs.parameters])
    if shared:  # costs in units of each joint's own least
        least = np.array([[fit[0] for fit in joint] for joint in fits])
        best = np.full(n, int(np.argmin((least / least.min(axis=1, keepdims=True)).sum(axis=0))))
    else:
        best = np.array([int(np.argmin([fit[0] for fit in joint])) for joint in fits])
    costs, counts, gaps = 0.0, 0, [0.0]
    for k in range(n):
        cost, values, gap, count = fits[k][best[k]]
        costs, counts = costs + cost, counts + count
        gaps.append(gap)
        for kind, value in zip(_LINEAR, values, strict=True):
            if (kind, k) in unknown:
                theta[unknown[kind, k]] = value
        if ("delay", k) in unknown:
            theta[unknown["delay", k]] = delays[best[k]]
    return ConvexStart(np.clip(theta, lower, upper), max(gaps), float(np.sqrt(costs / max(counts, 1))), cutoff)


def _middle(kind: str, lower: float, upper: float) -> float:
    return float(np.clip({"kp": 10.0, "scale": 1.0, "limit": 1e3}.get(kind, 0.0), lower, upper))


def _motions(runs: FreeRuns, data: CommandRecording, cutoff: float) -> Sequence[_Motion]:
    """Filtered stretches of a recording."""
    model = Model(runs.robot)
    pi = runs.robot.standard_parameters()
    made = []
    for rows in data.pieces():
        t, q = data.t[rows], np.asarray(data.q[rows])
        if len(t) < 60:
            continue
        sos = butter(2, min(cutoff * 2 * data.period, 0.9), output="sos")
        smooth = sosfiltfilt(sos, q, axis=0)
        dq = np.gradient(smooth, t, axis=0)
        ddq = np.gradient(dq, t, axis=0)
        raw = sosfiltfilt(butter(2, min(2.0 * cutoff * 2 * data.period, 0.9), output="sos"), q, axis=0)
        speed = np.gradient(raw, t, axis=0)
        slow = _REST * runs.noise * np.sqrt(2.0 * cutoff * data.period) * 2.0 * cutoff + 1e-4
        signs = sosfiltfilt(sos, np.tanh(speed / slow), axis=0)
        rest = np.abs(signs) < 0.9
        tau = np.asarray(evaluate_batch(model.inverse_dynamics, smooth, dq, ddq, pi))[:, :, 0]
        if data.torque is not None:
            tau = tau - sosfiltfilt(sos, np.asarray(data.torque[rows]), axis=0)
        made.append(_Motion(data, rows, smooth, dq, ddq, tau, signs, rest, sos))
    return made


def _joint(
    runs: FreeRuns, motions: Sequence[_Motion], k: int, delay: float, unknown: dict[tuple[str, int], int]
) -> tuple[float, Array, float, int]:
    """Cost, values of the linear unknowns, relative gap and number of samples of one joint at one delay."""
    known = {kind: float(runs.known[k, KINDS.index(kind)]) for kind in KINDS}
    free = [kind for kind in _LINEAR if (kind, k) in unknown]
    stiff = "kp" not in free
    rows, right = [], []
    for m in motions:
        on = m.data.on()[m.rows][:, k]
        error = on * (m.command(k, delay, runs.servo.hold == "linear") - m.q[:, k])
        columns = {
            "kp": m.torque[:, k], "Ia": m.ddq[:, k], "fv": m.dq[:, k], "kd": on * m.dq[:, k], "fc": m.signs[:, k],
            "fo": np.ones(len(on)), "bias": -on,
        }  # fmt: skip
        edge = int(2.0 / (m.data.period * 2 * np.pi)) if len(on) > 200 else 3
        use = ~m.rest[:, k]
        use[:edge] = use[-edge:] = False
        if stiff:
            factor = known["kp"]
            y = factor * error - columns["kp"] - sum(known[c] * columns[c] for c in _LINEAR[1:-1] if c not in free)
            columns["bias"] = factor * columns["bias"]
            y -= 0.0 if "bias" in free else known["bias"] * columns["bias"]
        else:
            y = error
        rows.append(np.column_stack([columns[c] for c in free])[use] if free else np.zeros((int(use.sum()), 0)))
        right.append(y[use])
    A, b = np.concatenate(rows), np.concatenate(right)
    values = np.array([known.get(kind, 0.0) for kind in _LINEAR])
    if len(b) < 5 * max(len(free), 1) or not free:
        return float(b @ b), _defaults(values, free), 0.0, len(b)
    x, cost, gap = _bounded(A, b, free, {i: runs.parameters[unknown[c, k]] for i, c in enumerate(free)}, stiff)
    compliance = 1.0 if stiff else x[free.index("kp")]
    for c, value in zip(free, x, strict=True):
        values[_LINEAR.index(c)] = 1.0 / compliance if c == "kp" else value if c == "bias" else value / compliance
    return cost, values, gap, len(b)


def _defaults(values: Array, free: Sequence[str]) -> Array:
    """Values where a joint does not move."""
    typical = {"kp": 10.0, "Ia": 0.01, "fv": 0.1, "fc": 0.1}
    return np.array([typical.get(kind, 0.0) if kind in free else v for kind, v in zip(_LINEAR, values, strict=True)])


def _bounded(A: Array, b: Array, free: Sequence[str], of: dict, stiff: bool) -> tuple[Array, float, float]:
    """Least squares with the signs of physics; the gap is that of Frank and Wolfe over a box that holds the minimum."""
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
    low, high = np.zeros(len(free)), np.full(len(free), np.inf)
    for i, kind in enumerate(free):
        if kind == "kp":
            low[i], high[i] = 1.0 / of[i].upper, 1.0 / of[i].lower
        elif kind == "bias":
            low[i], high[i] = of[i].lower, of[i].upper
        elif kind == "fo":
            low[i] = -np.inf
    ridge = 1e-4 * np.linalg.norm(b)
    B, y = np.vstack([A / scale, np.diag(np.where([c == "bias" for c in free], 0.0, 1e-3))]), np.append(b, np.zeros(len(free)))
    z = lsq_linear(B, y, (low * scale, np.maximum(high, low + 1e-12) * scale), method="bvls").x
    reach = np.linalg.norm(z) + 10 * np.linalg.norm(b) + ridge
    r = B @ z - y
    slope = B.T @ r
    lowest, highest = np.maximum(low * scale, -reach), np.minimum(high * scale, reach)
    gap = float((np.maximum(slope, 0) * (z - lowest)).sum() + (np.maximum(-slope, 0) * (highest - z)).sum())
    cost = float(r[: len(b)] @ r[: len(b)])
    return z / scale, cost, gap / max(float(r @ r) / 2, 1e-300)
