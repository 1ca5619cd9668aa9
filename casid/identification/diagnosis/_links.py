"""Findings about the links: masses that only a bound holds, bodies no arm has, steps that failed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from casid.description import Robot
from casid.identification._bounds import largest_mass, largest_torques
from casid.identification._feasible_fit import FeasibleFit
from casid.identification._prediction import HeldOut
from casid.identification.diagnosis._findings import Finding
from casid.measurement import Dataset
from casid.retrieval.plausible._described_arms import heaviest

#: Share of the default bound from which a mass lies on it.
AT_BOUND = 0.999
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
    most = largest_mass(robot, torques)
    for link, mass in zip(robot.links, masses, strict=True):
        if most > 0 and mass >= AT_BOUND * most and not np.isfinite(link.bounds.mass[1]):
            found.append(Finding("mass at a bound", joint=link.name, values={"most": most}))
    if strongest > 0 and robot.reach and revolute.all() and np.linalg.norm(robot.gravity) > 0:
        limit = heaviest(robot.reach, max(strongest, _rated(robot) / 3.0))
        total = float(masses.sum())
        if total > limit:
            values = {"mass": total, "reach": robot.reach, "torque": strongest, "most": limit}
            found.append(Finding("more than any arm", values=values))
    found += _contradiction(feasible, held_out)
    if choosing and feasible.believable is None:
        found.append(Finding("not the most plausible"))
    if not feasible.certified:
        chosen = feasible.believable
        gap = feasible.gap if chosen is None or not feasible.solution.certified else chosen.gap
        found.append(Finding("not certified", values={"gap": gap}))
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
