"""Findings from the signals alone (clocks, dead channels, rest, outliers) and about the links (bodies no arm has)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.errors import CasidError
from casid.identification._bounds import largest_torques, prior_ranges
from casid.identification._feasible_fit import FeasibleFit, certified_intervals
from casid.identification._prediction import HeldOut
from casid.identification.diagnosis._findings import Finding
from casid.measurement import Dataset
from casid.measurement._defects import DefectKind
from casid.regression import Fit
from casid.retrieval.plausible._bodies import heaviest

Array = NDArray[np.float64]

#: A motion in which no joint is faster [rad/s] belongs to another clock.
SLOWEST = 0.02
#: Factor by which a joint may exceed its limit of speed.
SLIGHTLY = 1.1
#: A recording rests where within this time [s] no joint moves by more than this share of its stroke; tolerated share.
WINDOW, STILL, MOST_REST = 0.25, 2e-4, 0.15
#: Time stamps further apart than so many periods are a gap.
GAP = 3.5
#: Torques within this share of their range of an extreme are near it; share of samples at it and their longest run.
NEAR, MOST_SATURATED, RUN = 0.01, 0.003, 4
#: Share of samples in one direction from which a joint counts as moving one way.
ONE_WAY = 0.995
#: Relative error of a joint from which its torque counts as noise [%]; below this share of the largest it is nothing.
NOISE, NOTHING = 80.0, 1e-3
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
    found = [
        *_clock(raw, processed, robot),
        *_rest(raw),
        *_gaps(raw),
        *_repeats(raw, processed),
        *_saturation(raw, robot),
        *_channels(processed, robot, fit),
        *_spikes(raw, robot),
    ]
    return [_treated(finding, processed, robot) for finding in found]


#: Causes whose samples the processing treats, and what those are called as `casid.measurement.Defect`.
_DEFECTS: Mapping[str, DefectKind] = {
    "gaps": "gap", "repeats": "repeats", "saturation": "saturation", "spikes": "spike",
}  # fmt: skip


def _treated(finding: Finding, processed: Dataset, robot: Robot) -> Finding:
    """The finding with what the processing did to its samples."""
    if finding.cause not in _DEFECTS:
        return finding
    joint = next((k for k, joint in enumerate(robot.coordinates) if joint.name == finding.joint), None)
    kind = _DEFECTS[finding.cause]
    own = [d for d in processed.defects if d.kind == kind and (joint is None or d.covers(joint))]
    if any(defect.masked for defect in own):
        done = "left out with the filter's reach on both sides"
    else:
        as_measured = kind == "saturation" or processed.full is None
        done = "kept as they are" if as_measured else "bridged by interpolation"
    return replace(finding, values={**finding.values, "done": done})


def _clock(raw: Dataset, processed: Dataset, robot: Robot) -> list[Finding]:
    """Speeds beyond the joint limits, and measured velocities that differ from the differences of positions."""
    assert processed.dq is not None
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    fastest = np.abs(processed.dq).max(axis=0)
    found: list[Finding] = []
    if raw.dq is not None and len(raw) > 20:
        steps = np.diff(raw.t)[:, None]
        middle = (raw.dq[1:] + raw.dq[:-1]) / 2 * steps
        ratio = float((middle * np.diff(raw.q, axis=0)).sum() / max((middle**2).sum(), 1e-300))
        if not 0.8 < ratio < 1.25:
            return [Finding("measured velocities", raw.name, values={"factor": ratio})]
    if revolute.any() and float(fastest[revolute].max()) < SLOWEST:
        values = {"speed": float(fastest.max()), "period": float(raw.period)}
        found.append(Finding("slow motion", raw.name, values=values))
    limits = robot.limits.velocity
    beyond = np.isfinite(limits) & (limits > 0) & (fastest > 2.0 * limits)
    if beyond.any():
        k = int(np.argmax(np.where(beyond, fastest / limits, 0.0)))
        name = robot.coordinates[k].name
        for i in range(robot.n):
            order = np.arange(robot.n)
            order[[i, k]] = order[[k, i]]
            if i != k and (fastest[order] <= SLIGHTLY * limits).all():
                exchanged = {"other": robot.coordinates[i].name}
                return [Finding("faster than its limit, another joint is not", raw.name, name, exchanged)]
        speeds = {"speed": float(fastest[k]), "limit": float(limits[k])}
        found.append(Finding("faster than its limit", raw.name, name, speeds))
    return found


def _rest(raw: Dataset) -> list[Finding]:
    """Time in which no joint leaves its place: slow motion is motion."""
    if not raw.period:
        return []
    window = max(2, round(WINDOW / raw.period))
    stroke = np.maximum(np.ptp(raw.q, axis=0), 1e-9)
    moving = stroke > 1e-3
    if len(raw) <= 2 * window or not moving.any():
        return []
    away = np.abs(raw.q[window:] - raw.q[:-window]) / stroke
    middle = np.abs(raw.q[window // 2 : -(window - window // 2)] - raw.q[:-window]) / stroke
    share = float((np.maximum(away, middle)[:, moving] <= STILL).all(axis=1).mean())
    if share <= MOST_REST:
        return []
    return [Finding("standstill", raw.name, values={"share": 100 * share})]


def _gaps(raw: Dataset) -> list[Finding]:
    """Time stamps far apart."""
    steps, period = np.diff(raw.t), raw.period
    wide = steps > GAP * max(period, 1e-12)
    if not period or not wide.any() or wide.mean() > 0.05:
        return []
    lost = float(steps[wide].sum()) / period
    values: dict[str, float | str] = {
        "count": float(wide.sum()), "longest": float(steps.max()), "share": 100 * lost / (len(raw) + lost),
    }  # fmt: skip
    return [Finding("gaps", raw.name, values=values)]


def _repeats(raw: Dataset, processed: Dataset) -> list[Finding]:
    """Samples that repeat the one before for longer than interpolation bridges."""
    own = [defect for defect in processed.defects if defect.kind == "repeats"]
    if not own:
        return []
    count = float(sum(defect.samples for defect in own))
    values: dict[str, float | str] = {
        "count": count, "longest": max(d.end - d.start for d in own), "share": 100 * count / len(raw),
    }  # fmt: skip
    return [Finding("repeats", raw.name, values=values)]


def _saturation(raw: Dataset, robot: Robot) -> list[Finding]:
    """Torques that stay at exactly their extreme while the joint moves."""
    found = []
    for k, joint in enumerate(robot.coordinates):
        tau, moved = raw.tau[:, k], np.abs(np.diff(raw.q[:, k], prepend=raw.q[:1, k])) > 0
        size = float(np.ptp(tau))
        for level in (float(tau.max()), float(tau.min())):
            at = (np.abs(tau - level) <= 1e-9 * size) & moved
            near = (np.abs(tau - level) <= NEAR * size) & ~at
            share = float(at.mean())
            if size > 0 and share > MOST_SATURATED and at.sum() > near.sum() and _longest(at) >= RUN:
                found.append(Finding("saturation", raw.name, joint.name, {"level": level, "share": 100 * share}))
                break
    return found


def _longest(flags: NDArray[np.bool_]) -> int:
    """Length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _channels(data: Dataset, robot: Robot, fit: Fit) -> list[Finding]:
    found = []
    counted = np.ones(data.n, dtype=bool) if data.mask is None else np.asarray(data.mask).max(axis=0)
    sizes = np.sqrt((data.tau**2).mean(axis=0))
    for k, joint in enumerate(robot.coordinates):
        if not counted[k]:
            continue
        others = ",".join(j.name for i, j in enumerate(robot.coordinates) if i != k)
        if np.ptp(data.tau[:, k]) <= 1e-9 * max(float(np.abs(data.tau).max()), 1e-300):
            found.append(Finding("dead channel", data.name, joint.name, {"others": others, "index": float(k)}))
        elif fit.relative_errors[k] > NOISE and sizes[k] > NOTHING * sizes.max():
            values: dict[str, float | str] = {
                "others": others, "error": float(fit.relative_errors[k]), "index": float(k),
            }  # fmt: skip
            found.append(Finding("noisy channel", data.name, joint.name, values))
    return found


def one_way(datasets: Sequence[Dataset], robot: Robot) -> list[Finding]:
    """Joints that move in one direction only, in all recordings together, as they are fitted together."""
    speeds = np.concatenate([data.dq for data in datasets if data.dq is not None])
    travel = np.max([np.ptp(data.q, axis=0) for data in datasets], axis=0)
    names = []
    for k, joint in enumerate(robot.coordinates):
        speed = speeds[:, k]
        moving = np.abs(speed) > 1e-3 * max(float(np.abs(speed).max()), 1e-9)
        if travel[k] < 1e-3 or moving.mean() < 0.05:
            continue
        ahead = float((speed[moving] > 0).mean())
        if max(ahead, 1 - ahead) >= ONE_WAY:
            names.append(joint.name)
    return [Finding("one way", joint=", ".join(names))] if names else []


def _spikes(raw: Dataset, robot: Robot) -> list[Finding]:
    """Single samples far from both neighbours: over the usual change, of torques in steps that of a step."""
    found = []
    for k, joint in enumerate(robot.coordinates):
        column = raw.tau[:, k]
        middle = column[1:-1] - np.median(np.stack([column[:-2], column[1:-1], column[2:]]), axis=0)
        changes = np.abs(np.diff(column))
        usual = float(np.median(changes[changes > 0])) if changes.any() else 0.0
        size = 1.4826 * usual + 1e-3 * float(np.std(column))
        share = float((np.abs(middle) > SPIKE * max(size, 1e-12)).mean())
        if share > MOST_SPIKES:
            found.append(Finding("spikes", raw.name, joint.name, {"share": 100 * share}))
    return found


#: Residual of the best consistent fit over the unconstrained one from which bodies contradict the torques.
CONTRADICTION = 1.05


def link_findings(
    robot: Robot, datasets: Sequence[Dataset], feasible: FeasibleFit, held_out: HeldOut | None, choosing: bool
) -> list[Finding]:
    """Findings about the links of a consistent fit.

    Parameters
    ----------
    robot
    datasets
        Processed.
    feasible
    held_out
        Where bodies predict what was held out as well as the unconstrained fit, that fit explained noise.
    choosing
        Whether the most plausible links were asked for.
    """
    masses = feasible.standard_parameters[9::10]
    found = []
    torques, _ = largest_torques(datasets)
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    strongest = float(np.where(revolute, torques, 0.0).max(initial=0.0))
    found += [*_held(robot, feasible), *_given_bounds(robot, feasible)]
    if strongest > 0 and robot.reach and revolute.all() and np.linalg.norm(robot.gravity) > 0:
        limit = heaviest(robot.reach, max(strongest, _rated(robot) / 3.0))
        total = float(masses.sum())
        if total > limit:
            values = {"mass": total, "reach": robot.reach, "torque": strongest, "most": limit}
            found.append(Finding("more than any arm", values=values))
    found += _contradiction(feasible, held_out)
    chosen = feasible.believable
    whole = prior_ranges(robot, masses.tolist(), bodies=None if chosen is None else chosen.bodies)[0]
    if whole.open and chosen is not None and chosen.bodies.boxes.any():
        values = {"mass": whole.value, "low": whole.low, "high": whole.high}
        found.append(Finding("open masses", values=values))
    if choosing and feasible.believable is None:
        found.append(Finding("not the most plausible"))
    if not feasible.certified:
        gap = feasible.gap if chosen is None or not feasible.solution.certified else chosen.gap
        found.append(Finding("not certified", values={"gap": gap}))
    return found


def _held(robot: Robot, feasible: FeasibleFit) -> list[Finding]:
    """Masses that lie on a default bound, with their proven ranges where that bound does not count."""
    reached = {bound.quantity for bound in feasible.active if bound.kind == "constraint"}
    found = []
    for k, link in enumerate(robot.links):
        labels = [f"{link.name} mass", f"{link.name} extent"]
        if not reached & set(labels) or np.isfinite(link.bounds.mass[1]):
            continue
        mass = float(feasible.link_parameters[k].mass)
        try:
            entry = certified_intervals(feasible, without=labels).entries[0]
            low, high = entry.low, entry.high
        except CasidError:
            low, high = 0.0, float("inf")
        end = f"{high:.3g} kg" if np.isfinite(high) else "any"
        values: dict[str, float | str] = {"most": mass, "low": max(low, 0.0), "high": high, "end": end}
        found.append(Finding("mass at a bound", joint=link.name, values=values))
    return found


def _given_bounds(robot: Robot, feasible: FeasibleFit) -> list[Finding]:
    """Bounds of the description or the caller that the links lie on."""
    assumed = {f"{link.name} extent" for link in robot.links}
    assumed |= {f"{link.name} mass" for link in robot.links if not np.isfinite(link.bounds.mass[1])}
    reached = [b.text for b in feasible.active if b.kind == "constraint" and b.quantity not in assumed]
    return [Finding("given bounds", values={"what": "; ".join(reached)})] if reached else []


def _contradiction(feasible: FeasibleFit, held_out: HeldOut | None) -> list[Finding]:
    """Consistent bodies that cannot follow the torques."""
    if not feasible.fit.objective > 0:
        return []
    ratio = float(np.sqrt(feasible.solution.total / feasible.fit.objective))
    if ratio <= CONTRADICTION:
        return []
    if held_out is None:
        return [Finding("bodies cost residual", values={"ratio": ratio})]
    held, free = (held_out.tested[kind].total for kind in ("consistent", "unconstrained"))
    if held <= CONTRADICTION * free:
        return []
    return [Finding("torques against bodies", values={"ratio": ratio, "held": held, "free": free})]


def _rated(robot: Robot) -> float:
    """Largest torque that a joint is rated for [N.m]; 0 where the description gives none."""
    effort = np.asarray(robot.limits.effort, dtype=float)
    return float(effort[np.isfinite(effort)].max(initial=0.0))
