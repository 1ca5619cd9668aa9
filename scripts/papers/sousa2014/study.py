"""The simulated identification of the WAM over seeds: what Tables 4.6-4.11 and Figs. 4.6-4.9 are made from."""

from __future__ import annotations

from functools import cache

from papers.item import Setting
from papers.methods.wam import PERIODS, RIPPLE, TRAJECTORIES, WamData, wam_data

#: Seeds of the disturbance.
SEEDS = 10
STAND_IN = (
    "stand-in: the arm's logs are not public; simulated with the thesis's beta*e as the machine, its trajectories A "
    "and B (C and D are not printed: in their place motions whose odd joints move as in the one of A and B and whose "
    "even joints as in the other), its control and filter, and a torque disturbance of the size of Table 4.7, "
    "80 % of whose variance is assumed to be a ripple of the position (the tables and figures that depend on this "
    "share are shown over its range)"
)


@cache
def data(seed: int, periods: int = PERIODS, share: float = RIPPLE) -> WamData:
    """One seed."""
    return wam_data(seed, TRAJECTORIES, periods, share)


def of(setting: Setting, seed: int = 0, share: float = RIPPLE) -> WamData:
    """One seed, one period if quick; ``share`` of the ripple in the disturbance's variance."""
    return data(seed, 1 if setting.quick else PERIODS, share)


def seeds(setting: Setting) -> range:
    """Those to run."""
    return range(2 if setting.quick else SEEDS)
