"""What arms weigh, by their makers' numbers."""

from __future__ import annotations

import math

import pytest

from casid.retrieval.plausible import heaviest
from casid.retrieval.plausible._bodies import DESCRIBED_ARMS, MARGIN


@pytest.mark.parametrize("arm", DESCRIBED_ARMS, ids=lambda arm: arm.name)
def test_no_described_arm_exceeds_the_limit_of_its_reach(arm):
    held = arm.torque / 3.0 if math.isfinite(arm.torque) else math.inf
    assert arm.mass <= heaviest(arm.reach, held) / MARGIN * (1 + 1e-12)


def test_both_numbers_limit_the_mass():
    assert heaviest(1.0, 1e9) == pytest.approx(4.0 * heaviest(0.5, 1e9))  # areal mass
    assert heaviest(1.0, 1.0) == pytest.approx(0.5 * heaviest(0.5, 1.0))  # m g reach / tau
    assert heaviest(1.0, 2.0) == pytest.approx(2.0 * heaviest(1.0, 1.0))
