"""What in a description looks like a slip of units or of printing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from casid.description.document import Description
from casid.errors import RobotWarning

#: Lengths between frames above this look like millimetres [m].
LONG = 30.0
#: Position limits of revolute joints above this look like degrees [rad].
MANY_TURNS = 8 * math.pi
#: An angle this close to a multiple of pi/2, but not close enough to count as one, looks like a printed one [rad].
PRINTED = 2e-4


def angle_notes(angles: Sequence[float], what: str, tolerance: float) -> list[str]:
    """A note for each angle [rad] that looks like a multiple of pi/2 printed with few digits."""
    notes = []
    for angle in angles:
        off = abs(angle - round(angle / (math.pi / 2)) * (math.pi / 2))
        if tolerance < off < PRINTED and abs(angle) > 1.0:
            notes.append(
                f"{what}: {angle!r} is {off:.1e} rad from a multiple of pi/2; if it is meant to be that, read the file "
                f"with an angle tolerance of {10.0 ** math.ceil(math.log10(off)):.0e}"
            )
    return notes


def degrees_slip(value: float) -> bool:
    """Whether an angle given in degrees looks like radians: +-pi/2, +-pi, +-2 pi to four digits."""
    return any(abs(abs(value) - k * math.pi / 2) < 5e-4 for k in (1, 2, 3, 4))


def warn_of_units(description: Description) -> None:
    """Warn of limits that look like degrees and of lengths that look like millimetres.

    Warns
    -----
    RobotWarning
        One for each joint.
    """
    for joint in description.joints:
        what = f"{description.where}: joint '{joint.name}'"
        if joint.type == "revolute":
            largest = max((abs(x) for x in (joint.limits.lower, joint.limits.upper) if math.isfinite(x)), default=0.0)
            if largest > MANY_TURNS:
                _warn(
                    f"{what}: a position limit of {largest:g} rad looks like degrees; write {math.radians(largest):.6g}"
                )
        reach = float(np.abs([joint.placement[:3, 3], joint.link_placement[:3, 3]]).max())
        if reach > LONG:
            _warn(f"{what}: it stands {reach:g} m from its parent, which looks like millimetres; lengths are in metres")


def _warn(text: str) -> None:
    warnings.warn(text, RobotWarning, stacklevel=4)
