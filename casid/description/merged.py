"""Which fixed links each moving link carries, and where: what `assemble` merges and a writer restores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from casid.description.document import Description
from casid.description.link import Link
from casid.description.placement import Array
from casid.description.raw import lock_joints
from casid.description.tree import parents_first
from casid.inertia import express_in


@dataclass(frozen=True, eq=False)
class Part:
    """A link with a body that is fixed to a moving one; ``placement``: its frame in the moving link's."""

    link: Link
    placement: Array

    def parameters(self) -> Array:
        """Standard parameters in the moving link's frame, shape (10,)."""
        assert self.link.inertial is not None
        T = self.placement
        return np.asarray(express_in(self.link.inertial.standard_parameters(), T[:3, :3], T[:3, 3]))


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A moving link and all links with bodies that are fixed to it."""

    link: Link
    parts: tuple[Part, ...]

    def of_parts(self) -> Array:
        """Standard parameters of the fixed links together, shape (10,)."""
        return np.sum([part.parameters() for part in self.parts], axis=0) if self.parts else np.zeros(10)

    def total(self) -> Array | None:
        """Standard parameters of the lumped body, as `Robot` has them; ``None``: no link gives any."""
        own = [] if self.link.inertial is None else [self.link.inertial.standard_parameters()]
        tens = [*own, *(part.parameters() for part in self.parts)]
        if not tens:
            return None
        if len(tens) == 1 and own:
            return own[0]
        return np.asarray(np.sum(tens, axis=0))


def moving_bodies(description: Description, locked: Mapping[str, float]) -> dict[str, MovingBody]:
    """Moving links by name, with what is fixed to each, some joints being locked at positions [rad or m]."""
    joints = lock_joints(description.joints, dict(locked), description.where)
    carrier: dict[str, tuple[str, Array]] = {}
    own: dict[str, Link] = {}
    parts: dict[str, list[Part]] = {}
    for joint in parents_first(joints, description.base.name, description.where):
        name = joint.link.name
        if joint.type != "fixed":
            carrier[name] = (name, np.eye(4))
            own[name], parts[name] = joint.link, []
        elif joint.parent in carrier:
            moving, placement = carrier[joint.parent]
            carrier[name] = (moving, placement @ joint.rest + 0.0)
            if joint.link.inertial is not None:
                parts[moving].append(Part(joint.link, carrier[name][1]))
    return {name: MovingBody(link, tuple(parts[name])) for name, link in own.items()}
