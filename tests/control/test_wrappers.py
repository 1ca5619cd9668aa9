"""Torque limits, switches, exported C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.codegen._compiler import find_compiler
from casid.control import PD, OperationalSpace, Saturated, Switched, nominal
from casid.control._catalogue import controller_of
from casid.errors import DatasetError
from casid.export import export_controller, load
from casid.motion import Positions, Sine

PANDA = casid.load_robot("panda")


POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


def test_torques_stay_within_their_limits(run, settings) -> None:
    limit = np.array([5.0, 40.0, 5.0, np.inf, 1.0, 2.0, 1.0])
    controller = Saturated(controller_of("computed-torque", settings(bandwidth=20.0)), limit)
    done = run(controller, POSTURE + 0.3, 0.3)
    largest = np.abs(done.tau).max(axis=0)
    assert (largest <= limit).all()
    assert (largest[[0, 2, 4]] == limit[[0, 2, 4]]).all()  # they were asked for more
    with pytest.raises(DatasetError, match=r"limit of joint 2"):
        Saturated(controller, np.array([1.0, 0.0, 1, 1, 1, 1, 1]))


def test_switched_and_positions_only() -> None:
    first, second = (PD(np.full(7, kp), np.zeros(7)) for kp in (1.0, 3.0))
    law = Switched(first, second, 0.5).function
    state = [np.ones(7), np.ones(7), np.ones(7), np.zeros(7), np.zeros(7)]
    assert np.array(law(0.499, *state)).ravel().tolist() == [1.0] * 7
    assert np.array(law(0.5, *state)).ravel().tolist() == [3.0] * 7
    with pytest.raises(DatasetError, match="same joints"):
        Switched(first, OperationalSpace(*nominal(PANDA), 1.0, 1.0, "flange"), 1.0)  # type: ignore[arg-type]
    motion = Positions(Sine.within(PANDA)).at(np.linspace(0, 1, 5))
    assert np.abs(motion.q - motion.q[0]).max() > 0.1
    assert not motion.dq.any() and not motion.ddq.any()


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["computed-torque", "operational-space"])
def test_exported_control_is_the_simulated_one(settings, name: str, tmp_path: Path) -> None:
    controller = Saturated(controller_of(name, settings()), PANDA.limits.effort)
    export_controller(controller, tmp_path / "c", "panda")
    source = (tmp_path / "c" / "panda.c").read_text()
    assert "alloc" not in source and "static double" not in source
    header = " ".join((tmp_path / "c" / "panda.h").read_text().replace("*", " ").split())
    assert "Torques are cut off at the limits" in header
    exported = load(tmp_path / "c").control
    rng = np.random.default_rng(0)
    signals = controller.rows(Sine.within(PANDA).at([0.3]))[0]
    parts, start = [], 0
    for signal in controller.signals:
        parts.append(signals[start : start + signal.size].reshape((signal.rows, signal.columns), order="F"))
        start += signal.size
    for _ in range(5):
        q, dq = POSTURE + 0.1 * rng.standard_normal(7), rng.standard_normal(7)
        ours = np.array(controller.stacked(0.3, signals, q, dq)).ravel()
        assert np.abs(np.ravel(exported(0.3, *parts, q, dq)) - ours).max() < 1e-9 * (1 + np.abs(ours).max())
