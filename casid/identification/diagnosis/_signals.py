"""Findings from the signals alone (clocks, dead channels, rest, outliers) and about the links (bodies no arm has)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.errors import CasidError
from casid.identification._bounds import largest_torques, prior_ranges
from casid.identification._feasible_fit import FeasibleFit, certified_intervals
from casid.identification._prediction import HeldOut
from casid.identification.diagnosis._findings import Finding
from casid.measurement import Dataset, Defect
from casid.regression import Fit
from casid.retrieval.plausible import heaviest

#: A motion in which no joint is faster [rad/s] belongs to another clock.
SLOWEST = 0.02
#: Factor by which a joint may exceed its limit of speed.
SLIGHTLY = 1.1
#: Share of samples in one direction from which a joint counts as moving one way.
ONE_WAY = 0.995
#: Relative error of a joint from which its torque counts as noise [%]; below this share of the largest it is nothing.
NOISE, NOTHING = 80.0, 1e-3

#: Kind of a defect -> cause of the finding that words it.
_CAUSES: Mapping[str, str] = {
    "velocity": "measured velocities", "standstill": "standstill", "gap": "gaps", "repeats": "repeats",
    "saturation": "saturation", "dead": "dead channel", "spike": "spikes",
}  # fmt: skip
_DONE = {
    "left out": "left out with the filter's reach on both sides", "bridged": "bridged by interpolation",
    "kept": "kept as they are",
}  # fmt: skip


def signal_findings(raw: Dataset, processed: Dataset, robot: Robot, fit: Fit) -> list[Finding]:
    """Findings about one recording: its defects in words, its speeds, torques that do not follow the motion.

    Parameters
    ----------
    raw, processed
        The recording as read, and as fitted.
    robot
    fit
        Unconstrained, of all recordings.
    """
    mask = np.ones((1, raw.n), dtype=bool) if processed.mask is None else np.asarray(processed.mask)
    counted: NDArray[np.bool_] = np.asarray(mask.any(axis=0))
    found = [
        _worded(defect, raw.name, robot)
        for kind in _CAUSES for defect in processed.defects
        if defect.kind == kind and _told(defect, counted)
    ]  # fmt: skip
    velocities = [one for one in found if one.cause == "measured velocities"]
    dead = [one.joint for one in found if one.cause == "dead channel"]
    return [*found, *([] if velocities else _speeds(raw, processed, robot)), *_noise(processed, robot, fit, dead)]


def _told(defect: Defect, counted: NDArray[np.bool_]) -> bool:
    """Whether it concerns torques that count: standstill of all joints at once, a dead channel that is not left out."""
    if defect.kind == "standstill":
        return defect.joint is None
    return defect.joint is None or defect.kind != "dead" or bool(counted[defect.joint])


def _worded(defect: Defect, recording: str, robot: Robot) -> Finding:
    """A defect as a finding."""
    names = [joint.name for joint in robot.coordinates]
    joint = "" if defect.joint is None else names[defect.joint]
    values: dict[str, float | str] = {
        "share": 100 * defect.share, "count": float(defect.samples), "longest": defect.longest, **defect.values,
        "done": _DONE[defect.treatment], "of": f" of joint '{joint}'" if joint else "",
    }  # fmt: skip
    if defect.kind == "dead":
        values |= {"others": ",".join(name for name in names if name != joint), "index": float(names.index(joint))}
    return Finding(_CAUSES[defect.kind], recording, joint, values)


def _speeds(raw: Dataset, processed: Dataset, robot: Robot) -> list[Finding]:
    """Speeds of no motion, or beyond the joint limits."""
    assert processed.dq is not None
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    fastest = np.abs(processed.dq).max(axis=0)
    found: list[Finding] = []
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


def _noise(data: Dataset, robot: Robot, fit: Fit, dead: Sequence[str]) -> list[Finding]:
    """Torques that the fit does not explain at all."""
    counted = np.ones(data.n, dtype=bool) if data.mask is None else np.asarray(data.mask).any(axis=0)
    sizes = np.sqrt((data.tau**2).mean(axis=0))
    names = [joint.name for joint in robot.coordinates]
    loud = counted & (fit.relative_errors > NOISE) & (sizes > NOTHING * sizes.max())
    return [
        Finding("noisy channel", data.name, name, {
            "others": ",".join(other for other in names if other != name), "error": float(fit.relative_errors[k]),
            "index": float(k),
        })
        for k, name in enumerate(names) if loud[k] and name not in dead
    ]  # fmt: skip


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
