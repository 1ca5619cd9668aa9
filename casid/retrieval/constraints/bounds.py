"""All bounds of a robot description at once, and generous ones where it is silent."""

from __future__ import annotations

import numpy as np

from casid.retrieval.constraints.com_box import com_box
from casid.retrieval.constraints.constraint import Constraint
from casid.retrieval.constraints.gyration import gyration_bound
from casid.retrieval.constraints.inertia_bounds import inertia_bounds
from casid.retrieval.constraints.mass import mass_bounds, total_mass
from casid.retrieval.variables import LinkVariables

#: What `sensible_bounds` assumes where a description is silent: kg a link, times the nominal mass, smallest radius [m].
LARGEST_MASS, NOMINAL_TIMES, SMALLEST_RADIUS = 100.0, 4.0, 1.0


def robot_bounds(variables: LinkVariables) -> tuple[Constraint, ...]:
    """All bounds that the robot description gives: masses, centres of mass, inertias, total mass."""
    return (*_link_bounds(variables), *_total(variables))


def sensible_bounds(variables: LinkVariables) -> tuple[Constraint, ...]:
    """`robot_bounds`, and generous limits of mass and extent for links that it leaves unbounded.

    A link without bounds on its mass weighs at most four times its nominal mass, or 100 kg where none is known; its
    radius of gyration about the link frame's origin is at most 1 m, or twice the length of the robot's longest
    placement.
    """
    joints = variables.robot.joints
    lengths = [np.linalg.norm(p[:3, 3]) for joint in joints for p in (joint.placement, joint.link_placement)]
    radius = max(SMALLEST_RADIUS, 2.0 * float(max(lengths)))
    total_is_bounded = bool(np.isfinite(variables.robot.total_mass[1]))
    most = {}
    for view, link in zip(variables.links, variables.robot.links, strict=True):
        if not total_is_bounded and not np.isfinite(view.bounds.mass[1]):
            most[view.index] = LARGEST_MASS if link.inertial is None else max(NOMINAL_TIMES * link.inertial.mass, 1.0)
    extent = [gyration_bound(view, radius) for view in variables.links]
    return (*_link_bounds(variables, most), *_total(variables), *extent)


def _link_bounds(variables: LinkVariables, most: dict[int, float] | None = None) -> list[Constraint]:
    """Bounds of each link; ``most`` limits the mass of links that have no limit."""
    heaviest = most or {}
    constraints: list[Constraint] = []
    for link in variables.links:
        if link.index in heaviest:
            constraints.append(mass_bounds(link, max(float(link.bounds.mass[0]), 0.0), heaviest[link.index]))
        elif np.isfinite(link.bounds.mass).any():
            constraints.append(mass_bounds(link))
        if np.isfinite(link.bounds.com).any():
            constraints.append(com_box(link))
        if np.isfinite(link.bounds.inertia_com).any():
            constraints.append(inertia_bounds(link))
    return constraints


def _total(variables: LinkVariables) -> list[Constraint]:
    lower, upper = variables.robot.total_mass
    return [total_mass(variables, lower, upper)] if lower > 0 or np.isfinite(upper) else []
