"""Plausible bodies of a robot's links: bodies derived from the robot description alone, before any data.

The source of each link's body is the first of these that is available:

* the inertial values of the description, where all of them can be those of real bodies: one impossible density, one
  needle longer than the arm, or placeholders (spheres, repeated numbers) make all of them unusable;
* a uniform box half as wide again as the bounds of its centre of mass: a body reaches beyond them;
* a uniform box around the kinematic skeleton: from where the link's own joint sits to where those of its children sit.

Where along its axis a joint sits is not a matter of kinematics: an offset along the axis of a joint is a tube that the
two links share, half of it each; an offset across it belongs to the parent. The thickness is a share of the robot's
reach. Arms are hollow and every joint has a motor, so that mass grows less than volume: with its cube root. And arms
taper: a link that carries less of the reach has lighter motors. These four numbers were set once, on five arms whose
inertial values are known (`scripts/acceptance.py real` measures them), and checked on four others; the errors hardly
depend on them.

The common factor of the boxes' masses is estimated from the data (`casid.retrieval.plausible.believable`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.inertia import consistency, from_standard, to_standard

Array = NDArray[np.float64]

#: Mass of a cubic box of 0.1 m before the common factor [kg], and the power of the volume that masses grow with.
TYPICAL_MASS, GROWTH = 1.0, 1.0 / 3.0
#: Densities, as ellipsoids of uniform density, that real links have [kg/m^3]: foam and tungsten lie outside.
REAL_DENSITY = (30.0, 20000.0)
#: Thickness of the boxes around the skeleton as a share of the reach.
THICKNESS = 0.08
#: Power of the share of the reach that lies beyond a joint with which its link's mass falls, and the least such share.
LIGHTER, LEAST = 0.4, 0.1
#: Largest extent of a given body from the centre of its box, in half diagonals of the box.
REACH = 3.0
#: Smallest edge of a box [m].
SMALLEST_EDGE = 0.01


@dataclass(frozen=True, eq=False)
class PlausibleBodies:
    """One plausible body for every link.

    Attributes
    ----------
    parameters : ndarray, shape (10 n,)
        Standard parameters, all fully consistent.
    origins : tuple of str
        Source of each: ``description``, ``box of its centre of mass`` or ``skeleton``.
    """

    parameters: Array
    origins: tuple[str, ...]

    @property
    def scaled(self) -> NDArray[np.bool_]:
        """Links whose masses are known up to a common factor only, shape (n,)."""
        return np.array([origin != "description" for origin in self.origins])


def plausible_bodies(robot: Robot, nominal: bool = True) -> PlausibleBodies:
    """Plausible bodies of all links.

    Parameters
    ----------
    robot
    nominal
        Use the inertial values of the description, where they are trustworthy.
    """
    boxes, carried = _skeleton(robot)
    trusted = nominal and trustworthy(robot, boxes)
    bodies, origins = [], []
    for link, box, share in zip(robot.links, boxes, carried, strict=True):
        if trusted and link.inertial is not None:
            bodies.append(link.inertial.standard_parameters())
            origins.append("description")
            continue
        com = link.bounds.com
        fills = bool(np.isfinite(com).all())  # the body reaches beyond the box of its centre
        corners = com + np.array([-1.0, 1.0]) * (com[:, 1:] - com[:, :1]) / 4 if fills else box
        bodies.append(_uniform_box(corners, 1.0 if fills else share**LIGHTER))  # given bounds taper already
        origins.append("box of its centre of mass" if fills else "skeleton")
    return PlausibleBodies(np.concatenate(bodies), tuple(origins))


def skeleton_boxes(robot: Robot) -> Array:
    """Box of each link in its link frame, lower and upper corner [m], shape (links, 3, 2)."""
    return _skeleton(robot)[0]


def _skeleton(robot: Robot) -> tuple[Array, Array]:
    """Boxes, and the share of the reach that each link carries, shape (links,), at least `LEAST`."""
    n = len(robot.links)
    points: list[list[Array]] = [[] for _ in range(n)]
    lengths, beyond_it = np.zeros(n), np.zeros(n)  # of each joint's placements; from each joint to the farthest tip
    for k, joint in enumerate(robot.joints):
        origin, axis = joint.placement[:3, 3], joint.placement[:3, :3] @ joint.axis
        # Standard DH: the link frame sits beyond the joint; the tube along the axis may lie on either side of it.
        beyond = joint.placement[:3, :3] @ joint.link_placement[:3, 3]
        along = float(axis @ origin)
        start = origin - along * axis  # foot of the perpendicular from the parent's origin on the joint's axis
        seat = start + along / 2 * axis
        lengths[k] = float(np.linalg.norm(origin)) + float(np.linalg.norm(beyond))
        if joint.parent >= 0:
            points[joint.parent] += [np.zeros(3), start, seat]
        into = np.linalg.inv(joint.placement @ joint.link_placement)
        for point in (seat, origin, origin + beyond):
            points[k].append(into[:3, :3] @ point + into[:3, 3])
    parents = {joint.parent for joint in robot.joints}
    for frame in robot.frames:
        if frame.joint >= 0:
            points[frame.joint].append(frame.placement[:3, 3])
            if frame.joint not in parents:
                beyond_it[frame.joint] = max(beyond_it[frame.joint], float(np.linalg.norm(frame.placement[:3, 3])))
    reach = 0.0
    for k in reversed(range(n)):
        parent, whole = robot.joints[k].parent, beyond_it[k] + lengths[k]
        if parent >= 0:
            beyond_it[parent] = max(beyond_it[parent], whole)
        reach = max(reach, float(whole))
    reach = reach or 1.0
    carried = np.maximum(beyond_it / reach, LEAST)
    boxes = np.empty((n, 3, 2))
    for k in range(n):
        cloud = np.array(points[k])
        thickness = THICKNESS * reach
        boxes[k, :, 0], boxes[k, :, 1] = cloud.min(axis=0) - thickness / 2, cloud.max(axis=0) + thickness / 2
    return boxes, carried


def _uniform_box(corners: Array, lighter: float) -> Array:
    """Body of uniform density that fills a box, shape (3, 2); ``lighter`` is a factor of its mass."""
    edges = np.maximum(corners[:, 1] - corners[:, 0], SMALLEST_EDGE)
    mass = lighter * TYPICAL_MASS * (float(np.prod(edges)) / 0.1**3) ** GROWTH
    second = mass * edges**2 / 12
    return to_standard(mass, corners.mean(axis=1), np.diag(second.sum() - second))


def nominal_bodies(robot: Robot) -> Array | None:
    """Standard parameters of the description, (10 links,), zero where it has none; None where few are trustworthy."""
    boxes = skeleton_boxes(robot)
    known = [k for k, link in enumerate(robot.links) if link.inertial is not None]
    if 3 * len(known) < 2 * len(robot.links) or not _trusted(robot, boxes, known):
        return None
    found = np.zeros((len(robot.links), 10))
    for k, link in enumerate(robot.links):
        if link.inertial is not None:
            found[k] = link.inertial.standard_parameters()
    return found.ravel()


def trustworthy(robot: Robot, boxes: Array | None = None) -> bool:
    """Whether all inertial values of the description can be those of real links.

    They cannot where a link has none, where most are spheres or share the same numbers (placeholders), or where a body
    of uniform density with these values is lighter than foam, heavier than tungsten, or far larger than its box of the
    skeleton.
    """
    if any(link.inertial is None for link in robot.links):
        return False
    return _trusted(robot, skeleton_boxes(robot) if boxes is None else boxes, range(len(robot.links)))


def _trusted(robot: Robot, boxes: Array, known: Sequence[int]) -> bool:
    """Whether the inertial values of some links can be those of real links."""
    tens = [
        link.inertial.standard_parameters() for link in (robot.links[k] for k in known) if link.inertial is not None
    ]
    moments = [np.linalg.eigvalsh(from_standard(ten)[2]) for ten in tens]
    spheres = sum(bool(np.ptp(values) <= 1e-6 * abs(values).max()) for values in moments)
    copies = sum(any(np.allclose(ten, other, rtol=1e-9, atol=0) for other in tens[:k]) for k, ten in enumerate(tens))
    if max(spheres, copies) > len(tens) / 2:
        return False
    return all(_real(ten, boxes[k]) for k, ten in zip(known, tens, strict=True))


def _real(ten: Array, box: Array) -> bool:
    """Whether a body of uniform density with these parameters could be a link: its density, size and place."""
    if not consistency(ten).full:
        return False
    mass, com, inertia = from_standard(ten)
    second = np.linalg.eigvalsh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    if mass <= 0 or second[0] <= 0:
        return False
    semi = np.sqrt(5.0 * second / mass)
    density = mass / (4.0 / 3.0 * np.pi * float(np.prod(semi)))
    diagonal = float(np.linalg.norm(box[:, 1] - box[:, 0])) / 2
    near = float(np.linalg.norm(com - box.mean(axis=1))) <= REACH * diagonal
    return REAL_DENSITY[0] <= density <= REAL_DENSITY[1] and float(semi[-1]) <= REACH * diagonal and near
