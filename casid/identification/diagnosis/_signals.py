"""What the signals of a recording alone tell: clocks, dead channels, rest, one-way motion, outliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.identification.diagnosis._findings import Finding
from casid.measurement import Dataset
from casid.regression import Fit

Array = NDArray[np.float64]

#: A motion in which no joint is faster [rad/s] belongs to another clock.
SLOWEST = 0.02
#: Factor by which a joint may exceed its limit of speed.
SLIGHTLY = 1.1
#: A joint rests while slower than this share of its largest speed; a recording rests while all joints do.
REST, MOST_REST = 0.01, 0.3
#: Share of samples in one direction from which a joint counts as moving one way.
ONE_WAY = 0.995
#: Relative error of a joint from which its torque counts as noise [%].
NOISE = 80.0
#: Spikes: this many robust deviations from the median of neighbours, and the share of samples that is tolerated.
SPIKE, MOST_SPIKES = 30.0, 2e-4


def signal_findings(raw: Dataset, processed: Dataset, robot: Robot, fit: Fit) -> list[Finding]:
    """Findings about one recording.

    Parameters
    ----------
    raw, processed
        The recording as read, and as fitted.
    robot
    fit
        Unconstrained, of all recordings.
    """
    return [
        *_clock(raw, processed, robot),
        *_rest(processed),
        *_channels(processed, robot, fit),
        *_one_way(processed, robot),
        *_spikes(raw, robot),
    ]


def _clock(raw: Dataset, processed: Dataset, robot: Robot) -> list[Finding]:
    """Speeds that no robot has, and measured velocities that do not fit the positions."""
    assert processed.dq is not None
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    fastest = np.abs(processed.dq).max(axis=0)
    found = []
    if raw.dq is not None and len(raw) > 20:
        steps = np.diff(raw.t)[:, None]
        middle = (raw.dq[1:] + raw.dq[:-1]) / 2 * steps
        ratio = float((middle * np.diff(raw.q, axis=0)).sum() / max((middle**2).sum(), 1e-300))
        if not 0.8 < ratio < 1.25:
            found.append(
                Finding(
                    "clock",
                    f"{raw.name}: positions change {ratio:.3g} times as fast as the measured velocities say: the time "
                    "stamps or the sampling rate are wrong by that factor, or the velocities' unit",
                    f"time_scale = {ratio:.3g} in the recording's TOML",
                )
            )
            return found
    if revolute.any() and float(fastest[revolute].max()) < SLOWEST:
        found.append(
            Finding(
                "clock",
                f"{raw.name}: no joint is faster than {fastest.max():.2g} rad/s and samples are {raw.period:.3g} s "
                "apart: time stamps in milliseconds?",
                "time_scale = 0.001 in the recording's TOML",
            )
        )
    limits = robot.limits.velocity
    beyond = np.isfinite(limits) & (limits > 0) & (fastest > 2.0 * limits)
    if beyond.any():
        k = int(np.argmax(np.where(beyond, fastest / limits, 0.0)))
        name = robot.coordinates[k].name
        for i in range(robot.n):
            order = np.arange(robot.n)
            order[[i, k]] = order[[k, i]]
            if i != k and (fastest[order] <= SLIGHTLY * limits).all():
                other = robot.coordinates[i].name
                text = f"{raw.name}: '{name}' is faster than it can be, '{other}' could be: exchanged?"
                return [Finding("joint order", text, "columns in the recording's TOML, in the robot's order")]
        found.append(
            Finding(
                "clock",
                f"{raw.name}: joint '{name}' reaches {fastest[k]:.3g} rad/s, its limit is {limits[k]:.3g}: "
                "wrong sampling rate, time stamps or unit of position",
                "rate or time_scale in the recording's TOML",
            )
        )
    return found


def _rest(data: Dataset) -> list[Finding]:
    assert data.dq is not None
    largest = np.abs(data.dq).max(axis=0)
    share = float((np.abs(data.dq) <= REST * np.maximum(largest, 1e-12)).all(axis=1).mean())
    if share <= MOST_REST:
        return []
    return [
        Finding(
            "standstill",
            f"{data.name}: the robot stands still for {100 * share:.0f} % of the time: friction at rest is not what "
            "the velocity says",
            "rows or between in the recording's TOML, or Processing(slowest=...)",
        )
    ]


def _channels(data: Dataset, robot: Robot, fit: Fit) -> list[Finding]:
    found = []
    counted = np.ones(data.n, dtype=bool) if data.mask is None else np.asarray(data.mask).max(axis=0)
    for k, joint in enumerate(robot.coordinates):
        if not counted[k]:
            continue
        if np.ptp(data.tau[:, k]) <= 1e-9 * max(float(np.abs(data.tau).max()), 1e-300):
            text = f"{data.name}: the torque of joint '{joint.name}' never changes: a dead channel"
        elif fit.relative_errors[k] > NOISE:
            text = (
                f"{data.name}: the torque of joint '{joint.name}' does not follow the motion (error "
                f"{fit.relative_errors[k]:.0f} % of it): noise, or the torque of another joint"
            )
        else:
            continue
        others = ",".join(j.name for i, j in enumerate(robot.coordinates) if i != k)
        found.append(Finding("channel", text, f"--only {others}"))
    return found


def _one_way(data: Dataset, robot: Robot) -> list[Finding]:
    assert data.dq is not None
    found = []
    for k, joint in enumerate(robot.coordinates):
        speed = data.dq[:, k]
        moving = np.abs(speed) > 1e-3 * max(float(np.abs(speed).max()), 1e-9)
        if np.ptp(data.q[:, k]) < 1e-3 or moving.mean() < 0.05:
            continue
        ahead = float((speed[moving] > 0).mean())
        if max(ahead, 1 - ahead) >= ONE_WAY:
            found.append(
                Finding(
                    "one way",
                    f"{data.name}: joint '{joint.name}' moves one way only: its Coulomb friction cannot be told from "
                    "an offset; the smaller sizes were chosen",
                    "record it moving both ways",
                    wrong=False,
                )
            )
    return found


def _spikes(raw: Dataset, robot: Robot) -> list[Finding]:
    """Single samples far from both neighbours."""
    found = []
    for k, joint in enumerate(robot.coordinates):
        column = raw.tau[:, k]
        middle = column[1:-1] - np.median(np.stack([column[:-2], column[1:-1], column[2:]]), axis=0)
        size = 1.4826 * float(np.median(np.abs(np.diff(column)))) + 1e-3 * float(np.std(column))
        share = float((np.abs(middle) > SPIKE * max(size, 1e-12)).mean())
        if share > MOST_SPIKES:
            found.append(
                Finding(
                    "outliers",
                    f"{raw.name}: {100 * share:.2g} % of the torques of joint '{joint.name}' are single spikes",
                    "--method IRLS",
                    wrong=False,
                )
            )
    return found
