"""The same machine with link frames elsewhere, or with named frames as links: for formats that want it so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from casid.description.document import Description
from casid.description.link import Inertial, Link, LinkBounds
from casid.description.placement import Array
from casid.description.raw import RawJoint
from casid.inertia import express_in, from_standard


def links_at_joints(description: Description) -> tuple[Description, tuple[str, ...]]:
    """Every link frame moved into its joint's frame; the machine moves as before.

    Returns
    -------
    description : Description
        Bounds of centres of mass that no longer apply are dropped.
    words : tuple of str
        Which link frames have moved.
    """
    shift = {
        joint.link.name: joint.link_placement
        for joint in description.joints
        if not np.array_equal(joint.link_placement, np.eye(4))
    }
    if not shift:
        return description, ()
    free = LinkBounds()

    def moved(link: Link) -> Link:
        T = shift.get(link.name)
        if T is None:
            return link
        body = link.inertial
        if body is not None:
            body = Inertial(*from_standard(express_in(body.standard_parameters(), T[:3, :3], T[:3, 3])))
        return Link(link.name, body, replace(free, mass=link.bounds.mass))

    def on(link: str, placement: Array) -> Array:
        return shift[link] @ placement + 0.0 if link in shift else placement

    joints = tuple(
        replace(
            joint,
            link=moved(joint.link),
            placement=on(joint.parent, joint.placement),
            link_placement=np.eye(4),
        )
        for joint in description.joints
    )
    capsules = []
    for capsule in description.capsules:
        T = shift.get(capsule.link, np.eye(4))
        ends = [T[:3, :3] @ end + T[:3, 3] for end in (capsule.start, capsule.end)]
        capsules.append(replace(capsule, start=ends[0], end=ends[1]))
    result = replace(
        description,
        joints=joints,
        frames=tuple(replace(frame, placement=on(frame.link, frame.placement)) for frame in description.frames),
        capsules=tuple(capsules),
        content=b"",
        format="",
    )
    names = ", ".join(shift)
    return result, (f"the frames of links {names} now stand in their joints' frames (this format has no others)",)


def frames_as_links(description: Description) -> Description:
    """Every named frame as a link without mass behind a fixed joint."""
    if not description.frames:
        return description
    taken = {joint.name for joint in description.joints}
    added = []
    for frame in description.frames:
        name = f"{frame.name}_fixed"
        while name in taken:
            name += "_"
        taken.add(name)
        added.append(RawJoint(name, "fixed", frame.link, Link(frame.name), placement=frame.placement))
    return replace(description, joints=(*description.joints, *added), frames=())


def base_beside_world(description: Description) -> tuple[Description, tuple[str, ...]]:
    """A base with a body that is called ``world``, the name some formats keep for the world itself, gets another."""
    old = description.base
    if old.name != "world" or old.inertial is None:
        return description, ()
    name, taken = "world_link", {link.name for link in description.links}
    while name in taken:
        name += "_"
    result = replace(
        description,
        base=replace(old, name=name),
        joints=tuple(replace(j, parent=name) if j.parent == "world" else j for j in description.joints),
        frames=tuple(replace(f, link=name) if f.link == "world" else f for f in description.frames),
        capsules=tuple(replace(c, link=name) if c.link == "world" else c for c in description.capsules),
    )
    return result, (f"the base link 'world' is now called '{name}': in this format 'world' is the world itself",)
