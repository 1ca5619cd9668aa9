"""Plausible bodies that follow the shapes of the links in the robot's file.

A kinematic skeleton tells where a link's joints are, a drawing tells how large it is: of six described robots (iiwa,
UR5, UR10, Z1, xArm7, Talos' arm) the masses scatter about the skeleton's proportions by 61 % (standard deviation of the
logarithm within a robot), about those of their convex hulls' volumes to the power 3/4 by 36 %: motors and gears are
denser than the shells around them. Nothing else was looked at for this number. Centre of mass and moments of inertia
are those of the hull of uniform density.
"""

from __future__ import annotations

import numpy as np

from casid.description import Robot, link_hulls
from casid.inertia import to_standard
from casid.retrieval.plausible import PlausibleBodies, plausible_bodies

#: Power of the volume with which masses grow.
GROWTH = 0.75
#: Share of the links that must have a shape.
LEAST_SHAPED = 2.0 / 3.0
#: Origin of such a body.
SHAPE = "shape"


def suggested_bodies(robot: Robot) -> PlausibleBodies:
    """The plausible bodies that a robot's file suggests: its inertial values, its links' shapes, or its kinematics."""
    return shaped_bodies(robot, plausible_bodies(robot))


def shaped_bodies(robot: Robot, bodies: PlausibleBodies) -> PlausibleBodies:
    """The bodies of a skeleton with the proportions of the links' shapes, where most links have one.

    Links without a shape keep their body, with the factor of the others' masses (median). Bodies whose masses are
    known, as some or all are described, are kept.

    Parameters
    ----------
    robot
    bodies
        `casid.retrieval.plausible._bodies.plausible_bodies` of it.
    """
    if not bodies.boxes.all() or bodies.weighed:
        return bodies
    hulls = [h if origin == "skeleton" else None for h, origin in zip(link_hulls(robot), bodies.origins, strict=True)]
    shaped = np.array([one is not None for one in hulls])
    if shaped.mean() < LEAST_SHAPED:
        return bodies
    tens = bodies.parameters.reshape(-1, 10).copy()
    masses = np.array([0.0 if one is None else one.volume**GROWTH for one in hulls])
    tens[~shaped] *= np.exp(np.median(np.log(masses[shaped] / tens[shaped, 9])))
    for k, one in enumerate(hulls):
        if one is not None:
            second = masses[k] / one.volume * one.second
            tens[k] = to_standard(float(masses[k]), one.centre, np.trace(second) * np.eye(3) - second)
    origins = tuple(SHAPE if own else origin for own, origin in zip(shaped, bodies.origins, strict=True))
    return PlausibleBodies(tens.ravel(), origins)
