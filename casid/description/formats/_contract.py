"""The contract of file formats: read, write, edit in place, name what cannot be held."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from casid.arrays import Array
from casid.description._document import Description, JointLimits, RawJoint
from casid.description._placement import ANGLE_TOLERANCE
from casid.description._robot import Inertial, Link, LinkBounds, carried
from casid.description.joint_parameters import LOAD_BODY, load_body

#: Parts of a description that some format may lack.
FEATURES = frozenset(
    {
        "gravity", "total_mass", "source", "bounds", "transmission", "capsules", "velocity", "acceleration", "jerk",
        "effort", "order", "fixed joints", "base",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """Where a description comes from, and how angles are read.

    Attributes
    ----------
    where : str
        Name of the file, for messages.
    folder : Path, optional
        Folder of the file, for files that it includes.
    angle_tolerance : float
        Angles this close to a multiple of pi/2 count as that multiple [rad].
    """

    where: str
    folder: Path | None = None
    angle_tolerance: float = ANGLE_TOLERANCE


@dataclass(frozen=True, eq=False)
class Changes:
    """What is to be changed in a file, everything else being kept.

    Attributes
    ----------
    inertials : mapping
        Link -> new body; ``None``: the link has none any more (its mass was merged into another).
    terms : mapping
        Joint -> all its term parameters that are to be in the file.
    """

    inertials: Mapping[str, Inertial | None] = field(default_factory=dict)
    terms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class Format(ABC):
    """A file format of robots. A new one is one new file with a subclass, listed in `casid.description.formats`.

    Attributes
    ----------
    name : str
        As printed.
    suffixes : tuple of str
        Of file names, lower case.
    holds : frozenset of str
        What the format can express, of `FEATURES`; everything else that a description has goes to a sidecar file.
    terms : frozenset of str
        Symbols of the joint terms it can express.
    mark : bytes
        What a file of an ambiguous suffix (``.xml``) is recognised by; empty: nothing.
    shaped : tuple of str
        Elements of an XML format that give a link a shape: a mesh, a box, ...
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    holds: ClassVar[frozenset[str]]
    terms: ClassVar[frozenset[str]]
    mark: ClassVar[bytes] = b""
    shaped: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def read(self, content: bytes, reading: Reading) -> Description:
        """The machine that a file describes; RobotError naming file, element and what to do."""

    @abstractmethod
    def write(self, description: Description) -> bytes:
        """A new file; what the format cannot hold is left out. RobotError where a name cannot be written."""

    @abstractmethod
    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """The same file, byte for byte but for the elements that change. RobotError where it cannot be edited."""

    def prepared(self, description: Description) -> tuple[Description, tuple[str, ...]]:
        """The description as the format would have it, and in words what had to change (frames moved, ...)."""
        return description, ()

    def doubts(self, description: Description) -> tuple[str, ...]:
        """In words, why the programs that read this format will refuse the file; empty: they will not."""
        return ()

    def holds_term(self, symbol: str) -> bool:
        """Whether the format can express the joint term of a symbol."""
        return symbol in self.terms

    def lacks(self, limits: JointLimits) -> tuple[str, ...]:
        """Which of a joint's limits the format cannot express although it knows such limits."""
        return ()

    def joint_names(self, description: Description) -> Mapping[str, str]:
        """Joints that must have another name in a written file: name -> written name."""
        return {}

    def order(self, description: Description) -> tuple[str, ...] | None:
        """Joints in the order in which a written file has them, where the format imposes one."""
        return None

    def renamed(self, description: Description) -> Mapping[str, str]:
        """Links that the format merges into another one: name -> name of the other."""
        return {}


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with as many ``_`` behind it as make it one that is not taken."""
    while name in taken:
        name += "_"
    return name


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
            body = Inertial.of(carried(body.standard_parameters(), T))
        return Link(link.name, body, replace(free, mass=link.bounds.mass))

    def terms(joint: RawJoint) -> Mapping[str, float]:
        T, load = shift.get(joint.link.name), load_body(joint.terms)
        if T is None or load is None:
            return joint.terms
        return {**joint.terms, **dict(zip(LOAD_BODY, carried(load, T).tolist(), strict=True))}

    def on(link: str, placement: Array) -> Array:
        return shift[link] @ placement + 0.0 if link in shift else placement

    joints = tuple(
        replace(
            joint,
            link=moved(joint.link),
            placement=on(joint.parent, joint.placement),
            link_placement=np.eye(4),
            terms=terms(joint),
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
        name = free_name(f"{frame.name}_fixed", taken)
        taken.add(name)
        added.append(RawJoint(name, "fixed", frame.link, Link(frame.name), placement=frame.placement))
    return replace(description, joints=(*description.joints, *added), frames=())


#: The body of a link without mass.
NO_BODY = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def weightless_where_fixed(description: Description) -> Description:
    """What does not move on its own and has no body gets one of zero mass.

    PyBullet takes 1 kg for a link of a URDF without an inertial; Pinocchio refuses such a body of an MJCF file.
    """

    def weightless(link: Link, still: bool) -> Link:
        return replace(link, inertial=NO_BODY) if still and link.inertial is None else link

    return replace(description.with_links(weightless), base=description.base)


def bodiless_where_weightless(description: Description) -> Description:
    """What does not move on its own has no body where it is said to have neither mass nor inertia: files say either."""

    def bodiless(link: Link, still: bool) -> Link:
        return replace(link, inertial=None) if still and link.weightless else link

    return description.with_links(bodiless)


def links_beside_world(description: Description) -> tuple[Description, tuple[str, ...]]:
    """A link that is called ``world``, the name some formats keep for the world itself, gets another.

    A base without a body is the world.
    """
    old = description.base
    if all(link.name != "world" or (link is old and old.inertial is None) for link in description.links):
        return description, ()
    name = free_name("world_link", {link.name for link in description.links})

    def own(link: Link) -> Link:
        return replace(link, name=name) if link.name == "world" else link

    result = replace(
        description,
        base=own(old),
        joints=tuple(
            replace(j, parent=name if j.parent == "world" else j.parent, link=own(j.link)) for j in description.joints
        ),
        frames=tuple(replace(f, link=name) if f.link == "world" else f for f in description.frames),
        capsules=tuple(replace(c, link=name) if c.link == "world" else c for c in description.capsules),
    )
    return result, (f"link 'world' is now called '{name}': in this format 'world' is the world itself",)
