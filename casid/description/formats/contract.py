"""What a file format is: read, write, edit in place, and say what it cannot hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from casid.description.document import Description
from casid.description.link import Inertial
from casid.description.placement import ANGLE_TOLERANCE
from casid.description.raw import JointLimits


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
        What the format can express, of `casid.description.sidecar.FEATURES`; everything else that a description has
        goes to a sidecar file.
    terms : frozenset of str
        Symbols of the joint terms it can express.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    holds: ClassVar[frozenset[str]]
    terms: ClassVar[frozenset[str]]

    @abstractmethod
    def read(self, content: bytes, reading: Reading) -> Description:
        """The machine that a file describes; RobotError naming file, element and what to do."""

    @abstractmethod
    def write(self, description: Description) -> bytes:
        """A new file; what the format cannot hold is left out. RobotError where a name cannot be written."""

    @abstractmethod
    def edit(self, content: bytes, changes: Changes, where: str) -> bytes:
        """The same file, byte for byte, but for the changes. RobotError where it cannot be edited."""

    def recognises(self, content: bytes) -> bool:
        """Whether a file of an ambiguous suffix (``.xml``) is of this format."""
        return False

    def prepared(self, description: Description) -> tuple[Description, tuple[str, ...]]:
        """The description as the format would have it, and in words what had to change (frames moved, ...)."""
        return description, ()

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
