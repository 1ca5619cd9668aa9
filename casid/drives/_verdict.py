"""Findings about recordings of commands and encoders, each with its evidence and the remedy that was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casid.drives._recording import CommandRecording
from casid.drives._runs import FreeRuns, Point
from casid.errors import DatasetError

Array = NDArray[np.float64]

#: A joint that moves less than so many steps of its encoder does not move.
_STEPS = 8.0
#: Share of the error below which another reading is better.
_BETTER = 0.8
#: Command offset beyond which the zero is in doubt [rad].
_ZERO = 0.1


@dataclass(frozen=True)
class CommandFinding:
    """One thing that is wrong, or to be checked.

    Attributes
    ----------
    kind : str
        ``sign``, ``joint order``, ``standstill``, ``zero``, ``delay``, ``saturation``, ``stall``, ``bound``.
    joint : str
        Joint or joints; empty: all.
    text : str
        Evidence.
    remedy : str
        What corrects it, with the error before and after where it was tried; empty: nothing.
    wrong : bool
        Whether the result is wrong because of it.
    """

    kind: str
    joint: str
    text: str
    remedy: str = ""
    wrong: bool = True


def check_recordings(recordings: Sequence[CommandRecording], names: Sequence[str]) -> tuple[CommandFinding, ...]:
    """Findings before any model: joints that do not move, signs, order.

    Raises
    ------
    DatasetError
        If no joint moves, or commands are the measured positions.
    """
    q = np.concatenate([data.q for data in recordings])
    u = np.concatenate([data.q_des for data in recordings])
    driven = any(data.torque is not None for data in recordings)
    steps = np.array([np.min(s[s > 1e-9], initial=np.inf) for s in np.abs(np.diff(q, axis=0)).T])
    quantum = np.where(np.isfinite(steps), steps, 1e-6)
    moves = np.ptp(q, axis=0) > _STEPS * quantum
    if not moves.any():
        raise DatasetError("no joint moves: there is nothing to identify; record motions of every joint")
    if not driven and np.array_equal(q, u):
        raise DatasetError(
            "commands and encoders are the same numbers: the logger wrote one of them twice; record the goal positions "
            "that were sent"
        )
    found = [
        CommandFinding("standstill", names[k], f"moves by {1e3 * np.ptp(q[:, k]):.2g} mrad in all recordings",
                       "record a motion of this joint; its values are assumed, not measured", False)
        for k in np.flatnonzero(~moves).tolist()
    ]  # fmt: skip
    if driven:
        return tuple(found)
    rho = _correlations(recordings, moves)
    taken: set[int] = set()
    for k in np.flatnonzero(moves).tolist():
        other = int(np.nanargmax(np.abs(rho[k])))
        partner = int(np.nanargmax(np.abs(rho[other])))
        if other != k and partner == k and abs(rho[k, other]) > abs(rho[k, k]) + 0.3 and k not in taken:
            taken |= {k, other}
            text = (f"the encoder of '{names[k]}' follows the command of '{names[other]}' (correlation "
                    f"{rho[k, other]:.2f}, of its own {rho[k, k]:.2f}), and the other way round")  # fmt: skip
            found.append(
                CommandFinding("joint order", f"{names[k]}, {names[other]}", text, "columns in the robot's order")
            )
        elif rho[k, k] < -0.5:
            text = f"encoder and command move against each other (correlation {rho[k, k]:.2f})"
            found.append(CommandFinding("sign", names[k], text, "reverse the command or the encoder of this joint"))
    return tuple(found)


def _correlations(recordings: Sequence[CommandRecording], moves: NDArray[np.bool_]) -> Array:
    """Correlation of encoders (rows) with commands (columns), of their changes over a quarter of a second."""
    a, b = [], []
    for data in recordings:
        lag = max(1, round(0.25 / data.period))
        a.append(data.q[lag:] - data.q[:-lag])
        b.append(data.q_des[lag:] - data.q_des[:-lag])
    x, y = np.concatenate(a), np.concatenate(b)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    size = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
    rho = np.where(size > 0, x.T @ y / np.maximum(size, 1e-300), 0.0)
    rho[~moves] = 0.0
    return np.asarray(rho)


def judge(runs: FreeRuns, point: Point, names: Sequence[str]) -> tuple[CommandFinding, ...]:
    """Findings about the fit: zeros, delays, saturation, stalls, bounds."""
    theta, found = point.theta, []
    simulated = runs.simulate(point)
    errors = [piece.measured - q for piece, q in zip(runs.pieces, simulated, strict=True)]
    spread = 1.4826 * np.median(np.abs(np.concatenate(errors)), axis=0)
    for i, p in enumerate(runs.parameters):
        joint = "" if p.joint < 0 else names[p.joint]
        if p.attribute == "bias" and abs(theta[i]) > _ZERO:
            text = (f"the command is offset by {theta[i]:.3f} rad: encoder and model have different zeros, or a load "
                    "is missing")  # fmt: skip
            found.append(
                CommandFinding("zero", joint, text, "position_offset of this joint, or links = 'scaled'", True)
            )
        elif p.attribute == "delay" and theta[i] > 2.5 * runs.period:
            cycles = theta[i] / runs.period
            text = f"commands act {1e3 * theta[i]:.0f} ms late, {cycles:.1f} cycles"
            found.append(
                CommandFinding(
                    "delay", joint, text, "taken into account; check the logger's order of writing and reading", False
                )
            )
        elif p.attribute == "kp" and (theta[i] <= p.lower * 1.001 or theta[i] >= p.upper * 0.999):
            text = f"kp is at its bound, {theta[i]:.3g} N.m/rad"
            found.append(CommandFinding("bound", joint, text, "", False))
    found += _stalls(runs, errors, spread, names)
    return tuple(found)


def _stalls(runs: FreeRuns, errors: Sequence[Array], spread: Array, names: Sequence[str]) -> list[CommandFinding]:
    """Stretches in which a joint stands while its command and the model move on: a stop, an obstacle, an overload."""
    made: dict[tuple[str, str], tuple[float, float]] = {}
    for piece, e in zip(runs.pieces, errors, strict=True):
        t = piece.recording.t[piece.rows]
        width = max(3, round(0.5 / piece.recording.period))
        if len(t) <= width:
            continue
        q, u = piece.measured, piece.recording.q_des[piece.rows]
        still = np.array([np.ptp(q[i : i + width], axis=0) for i in range(0, len(t) - width, width)])
        asked = np.array([np.ptp(u[i : i + width], axis=0) for i in range(0, len(t) - width, width)])
        off = np.array([np.abs(e[i : i + width]).max(axis=0) for i in range(0, len(t) - width, width)])
        stuck = (still < 0.1 * asked) & (off > 12 * spread) & (asked > 12 * spread)
        for k in np.flatnonzero(stuck.sum(axis=0) >= 2).tolist():
            key = names[k], piece.name
            seconds, largest = made.get(key, (0.0, 0.0))
            made[key] = seconds + 0.5 * float(stuck[:, k].sum()), max(largest, float(off[stuck[:, k], k].max()))
    return [
        CommandFinding("stall", joint, f"{recording}: stands for {seconds:.1f} s while the command moves on, "
                       f"{largest:.2g} rad from the model: a stop, an obstacle or an overload",
                       "robust loss: these samples count little; leave the stretch out (between)", False)
        for (joint, recording), (seconds, largest) in made.items()
    ]  # fmt: skip


def tried(finding: CommandFinding, before: float, after: float) -> CommandFinding:
    """The finding with what its remedy did to the free-run error [rad]."""
    return replace(finding, remedy=f"{finding.remedy}; tried: {1e3 * before:.3g} -> {1e3 * after:.3g} mrad",
                   wrong=after < _BETTER * before)  # fmt: skip
