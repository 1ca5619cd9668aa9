"""Control in contact with a wall: impedance and force against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import casid
from casid.control import ForceControl, Impedance, Saturated, nominal
from casid.errors import DatasetError
from casid.export import export_controller, load
from casid.motion import Hold
from casid.simulation import Plant, Simulation, Wall, simulate
from casid.simulation.integrators import RungeKutta4
from tests.helpers import needs_compiler

PANDA = casid.load_robot("panda")
POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])
MODEL, LINKS = nominal(PANDA)
STIFFNESS = 5000.0
_FRAME = MODEL.frame_placement("flange")
PLACE = np.array(_FRAME(POSTURE))[:3, 3]
#: Out of the wall.
NORMAL = np.array([0.6, 0.0, 0.8])


def against(
    controller: Impedance | ForceControl | Saturated, depth: float, duration: float, damping: float = 0.0,
    parameters: np.ndarray | None = None,
) -> Simulation:  # fmt: skip
    """From rest at the reference, which lies in the wall."""
    wall = Wall("flange", PLACE + depth * NORMAL, NORMAL, STIFFNESS, damping)
    plant = Plant(MODEL, LINKS if parameters is None else parameters, forces=(wall,))
    return simulate(plant, controller, Hold(POSTURE), duration, integrator=RungeKutta4(1e-3), compiled=False)


def pressing(done: Simulation) -> np.ndarray:
    return np.asarray(done.wrench("flange")[:, :3] @ NORMAL)


def displaced(done: Simulation, direction: np.ndarray = NORMAL) -> np.ndarray:
    """From the reference, along a direction."""
    return np.array([np.array(_FRAME(q))[:3, 3] - PLACE for q in done.q]) @ direction


def test_the_wall_feels_the_impedance_that_was_asked_for() -> None:
    """``A x'' + (D + c) x' + K x = k (s - x)`` along the normal, and the deflection ``k s / (K + k)`` at rest."""
    A, D, K, c, s = 5.0, 200.0, 1000.0, 50.0, 0.002
    done = against(Impedance(MODEL, LINKS, K, D, "flange", inertia=A), s, 0.4, c)  # type: ignore[arg-type]
    system = np.array([[0.0, 1.0], [-(K + STIFFNESS) / A, -(D + c) / A]])
    rest = np.array([STIFFNESS * s / (K + STIFFNESS), 0.0])
    expected = np.array([(rest - expm(system * t) @ rest)[0] for t in done.t])
    assert np.abs(displaced(done) - expected).max() < 0.01 * rest[0]  # the controller is sampled
    assert pressing(done)[-1] == pytest.approx(K * STIFFNESS / (K + STIFFNESS) * s, rel=1e-3)
    # passive: the energy of the chosen inertia and springs never grows
    v = np.gradient(displaced(done), done.t)
    energy = A * v**2 / 2 + K * displaced(done) ** 2 / 2 + STIFFNESS * (s - displaced(done)) ** 2 / 2
    assert (np.diff(energy[1:-1]) < 1e-3 * energy[0]).all() and energy[-2] < 0.5 * energy[0]
    assert done.energy.relative_imbalance < 1e-6


def test_a_force_is_critically_damped_and_exact() -> None:
    """From the first compression to f*, ``(1 + w t) exp(-w t)`` of the way, where the stiffness is known."""
    law = ForceControl(
        MODEL, LINKS, 400.0, 40.0, "flange", direction=-NORMAL, force=20.0, stiffness=STIFFNESS, adapt=False
    )  # type: ignore[arg-type]
    done = against(law, 0.001, 0.4)
    expected = 20.0 - 15.0 * (1 + 20 * done.t) * np.exp(-20 * done.t)
    assert np.abs(pressing(done) - expected).max() < 0.02 * 15.0
    assert pressing(done)[-1] == pytest.approx(20.0, abs=0.1)
    across = [1.0, 0.0, 0.0] - 0.6 * NORMAL
    assert np.abs(displaced(done, across)).max() < 1e-5  # what is not pressed is held


@pytest.mark.slow
def test_what_the_model_leaves_out_does_not_change_the_force() -> None:
    """Links 10 % too heavy in the controller: the active state takes it up; an impedance does not."""
    options = {"direction": -NORMAL, "force": 20.0, "stiffness": STIFFNESS}
    wrong = ForceControl(MODEL, 1.1 * LINKS, 400.0, 40.0, "flange", **options)  # type: ignore[arg-type]
    done = against(wrong, 0.001, 0.6)
    assert pressing(done)[-1] == pytest.approx(20.0, abs=0.05)
    stiff = against(Impedance(MODEL, 1.1 * LINKS, 1000.0, 200.0, "flange", inertia=5.0), 0.002, 0.6)  # type: ignore[arg-type]
    assert abs(pressing(stiff)[-1] - 1000 * STIFFNESS / (1000 + STIFFNESS) * 0.002) > 0.5


@pytest.mark.slow
def test_the_estimated_stiffness_calms_a_wall_stiffer_than_was_thought() -> None:
    """With a first estimate five times too low the frame bounces for ever unless the stiffness is estimated."""
    options = {"direction": -NORMAL, "force": 20.0, "stiffness": STIFFNESS / 5}
    late = {}
    for adapt in (True, False):
        law = ForceControl(MODEL, LINKS, 400.0, 40.0, "flange", adapt=adapt, **options)  # type: ignore[arg-type]
        f = pressing(against(law, 0.001, 0.4))
        late[adapt] = np.abs(f[300:] - 20.0).max()
    assert late[True] < 0.5 < 10.0 < late[False]


def test_coupled_force_is_a_spring_in_series_with_the_wall() -> None:
    options = {"direction": -NORMAL, "coupling": 2000.0, "stiffness": STIFFNESS}
    law = ForceControl(MODEL, LINKS, 400.0, 40.0, "flange", **options)  # type: ignore[arg-type]
    done = against(law, 0.002, 0.5, 10.0)
    assert pressing(done)[-1] == pytest.approx(2000 * STIFFNESS / (2000 + STIFFNESS) * 0.002, rel=0.005)


def test_it_approaches_touches_and_presses() -> None:
    options = {"direction": -NORMAL, "force": 10.0, "stiffness": 4 * STIFFNESS}
    law = ForceControl(MODEL, LINKS, 400.0, 40.0, "flange", **options)  # type: ignore[arg-type]
    done = against(law, -0.002, 1.0, 30.0)
    f = pressing(done)
    assert not f[done.t < 0.2].any()
    speed = -np.gradient(displaced(done), done.t)[(done.t > 0.25) & (f == 0)].max()
    assert speed == pytest.approx(20 * 10 / (2 * 4 * STIFFNESS), rel=0.02)
    assert f[-1] == pytest.approx(10.0, abs=0.1) and f.max() < 11.0


@needs_compiler
@pytest.mark.slow
def test_in_c_memory_and_measured_force_are_the_simulated_ones(tmp_path: Path) -> None:
    options = {"direction": -NORMAL, "force": 20.0, "stiffness": STIFFNESS}
    law = Saturated(ForceControl(MODEL, LINKS, 400.0, 40.0, "flange", **options), PANDA.limits.effort)  # type: ignore[arg-type]
    slow = against(law, 0.001, 0.1)
    quick = simulate(slow.plant, law, Hold(POSTURE), 0.1, integrator=RungeKutta4(1e-3), compiled=True)
    assert np.abs(quick.q - slow.q).max() < 1e-9 and np.abs(pressing(quick) - pressing(slow)).max() < 1e-4
    export_controller(law, tmp_path / "c", "panda")
    exported = load(tmp_path / "c").control
    assert "measured external force" in (tmp_path / "c" / "panda.h").read_text()
    signals = law.rows(Hold(POSTURE).at([0.0]))[0]
    parts = [signals[:16].reshape(4, 4, order="F"), signals[16:22], signals[22:28], signals[28:35]]
    tau, kept = exported(0.0, *parts, np.append(5 * NORMAL, np.zeros(3)), POSTURE, np.zeros(7), np.zeros(14))
    assert np.abs(np.ravel(tau) - slow.tau[0]).max() < 1e-9
    assert np.ravel(kept)[0] == pytest.approx(5 / STIFFNESS)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(DatasetError, match=r"apparent inertia: expected one positive number or 6"):
        Impedance(MODEL, LINKS, 1.0, 1.0, "flange", inertia=[1.0, 2.0])  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="direction must be three"):
        ForceControl(MODEL, LINKS, 1.0, 1.0, "flange", direction=(0, 0, 0))  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="force control: stiffness"):
        ForceControl(MODEL, LINKS, 1.0, 1.0, "flange", stiffness=0.0)  # type: ignore[arg-type]
