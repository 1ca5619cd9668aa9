"""An entry of the library, and what making it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from casid.description import Robot


@dataclass(frozen=True)
class Found:
    """An identified robot.

    Attributes
    ----------
    robot : Robot
        With bodies and joint terms.
    verdict : str
    error, held_out : float or None
        On the recording it comes from, and on motion that was not used; in ``unit``.
    unit : str
    intervals : mapping of str to (float, float, float)
        Value and 95 % interval of base parameters, joint terms or servo parameters, SI units.
    masses : mapping of str to (float, float)
        Proven range of each link's mass over all consistent sets that explain the data [kg].
    files : tuple of str
        Files of the data folder that it was made from, whose hashes are kept.
    """

    robot: Robot
    verdict: str
    error: float | None = None
    held_out: float | None = None
    unit: str = "%"
    intervals: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    masses: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """Where an entry's numbers come from, and how it is made.

    Attributes
    ----------
    robot : str
        The machine and the motion, in a few words.
    kind : str
        ``torques``, ``commands``, ``coefficients`` or ``bodies``.
    source, licence, kinematics : str
        Citations; the licence of the recording (SPDX), or of the entry where its numbers are printed in a publication.
    make : callable
    """

    robot: str
    kind: str
    source: str
    licence: str
    kinematics: str
    make: Callable[[], Found]
