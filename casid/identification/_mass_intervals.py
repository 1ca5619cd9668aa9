"""Where the masses lie that torques leave open, with 95 %: by how far the choice misses those of described robots.

Torques determine the links' gravity and inertia about the joints, not their masses: a kilogram on the axis of the first
joint makes none. What is chosen follows the bodies that the kinematics suggest, so that its error is that of the
suggestion. With ``r_i = log(true / chosen)`` of N described robots, their mean b and standard deviation s, the next
robot's mass lies with 95 % in

    chosen * exp(b -+ t_(N-1, 0.975) s sqrt(1 + 1/N)),

Student's interval of one further value; of single links with the quantiles of all of them. Within the bounds of the
description, and within the proven ranges where they were asked for.

Of fourteen simulated robots b is 0.08 and s 0.26; of sixteen others, which these numbers were not set on, the interval
of the total mass held the truth of fifteen (not of a humanoid's arm, 0.21, whose description gives every link
the unit matrix as moments of inertia). `scripts/acceptance.py real` measures how often the intervals hold the truth, on
robots that these numbers were not set on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casid.description import Robot
from casid.retrieval.insight._intervals import Intervals

#: Ends of the 95 % interval over the chosen mass, of all links and of a single one, of the fourteen simulated robots
#: that `scripts/benchmarks/real/simulated_robots.py` names.
TOTAL, SINGLE = (0.6, 2.0), (0.35, 2.6)
#: Ends of an interval over each other from which the mass is called open.
OPEN = 1.5


@dataclass(frozen=True)
class MassInterval:
    """Where a mass lies with 95 %.

    Attributes
    ----------
    name : str
        Of the link; ``all links``.
    value, low, high : float
        The chosen mass and the ends [kg].
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def open(self) -> bool:
        """Whether the ends are so far apart that the value is a choice, not a measurement."""
        return self.high > OPEN * self.low


def mass_intervals(robot: Robot, masses: Sequence[float], proven: Intervals | None = None) -> tuple[MassInterval, ...]:
    """The interval of the mass of all moving links, then that of each.

    Parameters
    ----------
    robot
    masses
        Chosen mass of each link [kg].
    proven
        Proven ranges of the links' masses.
    """
    ranges = {} if proven is None else {entry.name: (entry.low, entry.high) for entry in proven.entries}
    total = float(np.sum(masses))
    made = [_interval("all links", total, TOTAL, robot.total_mass)]
    for link, mass in zip(robot.links, masses, strict=True):
        bounds = (float(link.bounds.mass[0]), float(link.bounds.mass[1]))
        made.append(_interval(link.name, float(mass), SINGLE, bounds, ranges.get(f"{link.name} mass")))
    return tuple(made)


def _interval(name: str, value: float, ends: tuple[float, float], *within: tuple[float, float] | None) -> MassInterval:
    """The interval of one mass, within bounds; an end that contradicts the value is the value."""
    low, high = ends[0] * value, ends[1] * value
    for bounds in within:
        if bounds is not None:
            low, high = max(low, bounds[0]), min(high, bounds[1])
    return MassInterval(name, value, min(low, value), max(high, value))
