"""What serial arms weigh: published arms by reach, total mass and largest joint torque, and the range that follows.

Two numbers without a robot's size in them hardly differ from a desktop arm to a foundry robot:

- the areal mass ``m / reach^2`` [kg/m^2];
- ``m g reach / tau``, with tau the largest torque of a joint: an arm's strongest joint holds the arm and its payload.
"""

from __future__ import annotations

from typing import NamedTuple

from casid.description._robot import STANDARD_G


class DescribedArm(NamedTuple):
    """Published numbers of an arm.

    Attributes
    ----------
    name : str
    reach, mass : float
        [m], and with base and without controller [kg].
    torque : float
        Largest torque that a joint is rated for [N.m]; NaN where the maker gives none.
    source : str
    """

    name: str
    reach: float
    mass: float
    torque: float
    source: str


_NONE = float("nan")
#: Arms whose makers publish reach and mass; torques of the makers' robot descriptions (URDF ``effort``).
DESCRIBED_ARMS = (
    DescribedArm("UR3e", 0.50, 11.2, 54.0, "Universal Robots data sheet; ur_description"),
    DescribedArm("UR5e", 0.85, 20.6, 150.0, "Universal Robots data sheet; ur_description"),
    DescribedArm("UR10e", 1.30, 33.5, 330.0, "Universal Robots data sheet; ur_description"),
    DescribedArm("Panda", 0.855, 18.0, 87.0, "Franka Emika data sheet; franka_description"),
    DescribedArm("LBR iiwa 7 R800", 0.80, 23.9, 176.0, "KUKA data sheet"),
    DescribedArm("LBR iiwa 14 R820", 0.82, 29.9, 320.0, "KUKA data sheet"),
    DescribedArm("xArm 7", 0.70, 13.7, 50.0, "UFACTORY data sheet; xarm_description"),
    DescribedArm("KR 6 R900", 0.901, 52.0, _NONE, "KUKA data sheet"),
    DescribedArm("IRB 120", 0.58, 25.0, _NONE, "ABB data sheet"),
    DescribedArm("IRB 6700-200/2.60", 2.60, 1250.0, _NONE, "ABB data sheet"),
)
#: Beyond the lightest and the heaviest of these by this factor no arm of its reach is expected.
MARGIN = 2.0
#: Largest share of a joint's rated torque that a recording is expected to leave unused, as a factor.
UNUSED = 3.0


def heaviest(reach: float, torque: float) -> float:
    """Mass that no arm of this reach exceeds whose recorded torques are this large [kg]; the smaller of two limits.

    Parameters
    ----------
    reach
        Of the longest chain [m].
    torque
        Largest recorded torque of a revolute joint [N.m]; a motion uses a third of the rated one at least.
    """
    areal = max(arm.mass / arm.reach**2 for arm in DESCRIBED_ARMS)
    held = max(STANDARD_G * arm.mass * arm.reach / arm.torque for arm in DESCRIBED_ARMS if arm.torque == arm.torque)
    return MARGIN * min(areal * reach**2, UNUSED * held * torque / (STANDARD_G * reach))
