"""What making an entry of the library gives."""

from __future__ import annotations

from collections.abc import Mapping
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
