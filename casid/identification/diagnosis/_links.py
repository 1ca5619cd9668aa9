"""Findings about the links: masses that only a bound holds, bodies no arm has, steps that failed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from casid.description import Robot
from casid.errors import CasidError
from casid.identification._bounds import largest_torques
from casid.identification._feasible_fit import FeasibleFit, certified_intervals
from casid.identification._mass_intervals import mass_intervals
from casid.identification._prediction import HeldOut
from casid.identification.diagnosis._findings import Finding
from casid.measurement import Dataset
from casid.retrieval.plausible._bodies import heaviest

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
    found += _held(robot, feasible)
    if strongest > 0 and robot.reach and revolute.all() and np.linalg.norm(robot.gravity) > 0:
        limit = heaviest(robot.reach, max(strongest, _rated(robot) / 3.0))
        total = float(masses.sum())
        if total > limit:
            values = {"mass": total, "reach": robot.reach, "torque": strongest, "most": limit}
            found.append(Finding("more than any arm", values=values))
    found += _contradiction(feasible, held_out)
    whole = mass_intervals(robot, masses.tolist())[0]
    chosen = feasible.believable
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
        found.append(
            Finding("mass at a bound", joint=link.name, values={"most": mass, "low": max(low, 0.0), "high": high})
        )
    return found


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
