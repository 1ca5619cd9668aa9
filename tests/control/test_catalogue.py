"""Controllers and their settings by name."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import OperationalSpace, controller_of, nominal
from casid.dynamics import Model
from casid.errors import ProblemError, RobotError
from casid.motion import Hold
from casid.simulation import Plant
from casid.simulation.integrators import DormandPrince, integrator_of
from problems.spatial_2r import true_parameters

NAMES = ["passive", "pd", "pd-gravity", "feed-forward", "computed-torque", "operational-space",
         "velocity-operational-space", "impedance"]  # fmt: skip
PANDA = casid.load_robot("panda")


POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


@pytest.mark.parametrize("name", NAMES)
def test_every_controller_keeps_its_contract(settings, name: str) -> None:
    controller = controller_of(name, settings())
    reference = Hold(POSTURE).at([0.0])
    rows = controller.rows(reference)
    stacked = np.array(controller.stacked(0.0, rows[0] if rows.size else 0.0, POSTURE, np.zeros(7))).ravel()
    parts, start = [], 0
    for signal in controller.signals:
        parts.append(rows[0][start : start + signal.size].reshape((signal.rows, signal.columns), order="F"))
        start += signal.size
    apart = np.array(controller.function(0.0, *parts, POSTURE, np.zeros(7))).ravel()
    assert np.array_equal(stacked, apart)
    gravity = np.array(Model(PANDA).gravity(POSTURE, PANDA.standard_parameters())).ravel()
    if name not in ("passive", "pd"):  # at rest on the reference, only gravity is left to carry
        assert np.abs(apart - gravity).max() < 1e-9
    else:
        assert np.abs(apart).max() < 1e-12


def test_unknown_names_are_refused_with_a_hint(settings) -> None:
    with pytest.raises(ProblemError, match=r"unknown controller 'computed'; .*computed-torque"):
        controller_of("computed", settings())
    with pytest.raises(ProblemError, match=r"did you mean 'cvodes'"):
        integrator_of("cvode")
    assert isinstance(integrator_of("dormand-prince", 1e-6), DormandPrince)
    with pytest.raises(RobotError, match="no joint 'joint9'"):
        Plant.of(PANDA, **{"viscous@joint9": 1.0})
    with pytest.raises(RobotError, match="no frame 'hand'"):
        OperationalSpace(*nominal(PANDA), 1.0, 1.0, "hand")  # type: ignore[arg-type]
    with pytest.raises(RobotError, match="needs six"):
        OperationalSpace(Model("spatial_2r"), true_parameters(), 1.0, 1.0, "link2")  # type: ignore[arg-type]
