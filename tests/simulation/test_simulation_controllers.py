"""Controllers: closed-loop behaviour against closed forms, saturation, exported C, the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.codegen import find_compiler
from casid.control import (
    PD,
    ComputedTorque,
    Controller,
    ControllerSettings,
    FeedForward,
    OperationalSpace,
    PDGravity,
    Saturated,
    Switched,
    VelocityOperationalSpace,
    controller_of,
    nominal,
)
from casid.control._catalogue import CONTROLLERS
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError, RobotError
from casid.export import export_controller, load
from casid.motion import Follow, Fourier, Hold, Positions, Sine, Trajectory, trajectory_text
from casid.simulation import Plant, Simulation, SmoothCoulomb, simulate
from casid.simulation._plant import with_terms
from casid.simulation.integrators import DormandPrince
from casid.simulation.integrators._catalogue import INTEGRATORS, integrator_of
from problems.spatial_2r import true_parameters

PANDA = casid.load_robot("panda")
POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


def settings(**changes: object) -> ControllerSettings:
    return replace(ControllerSettings(*nominal(PANDA), POSTURE, 10.0, "flange"), **changes)  # type: ignore[arg-type]


def flange(q: np.ndarray) -> np.ndarray:
    place = Model(PANDA).frame_placement("flange")
    return np.array([np.array(place(row)) for row in q])


def run(controller: Controller, q0: np.ndarray = POSTURE, duration: float = 1.0, **options: object) -> Simulation:
    options = {"rate": 2000.0, **options}
    return simulate(Plant.of(PANDA), controller, Hold(POSTURE), duration, q0=q0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [OperationalSpace, VelocityOperationalSpace])
def test_the_frame_s_error_obeys_its_equation(kind: type[OperationalSpace]) -> None:
    """Second order and critically damped, or first order after the velocity has caught up."""
    slow = kind is VelocityOperationalSpace
    controller = kind(*nominal(PANDA), 4.0 if slow else 100.0, 60.0 if slow else 20.0, "flange")  # type: ignore[arg-type]
    q0 = POSTURE + 0.03 * np.array([1, -1, 1, -1, 1, -1, 1])
    done = run(controller, q0)
    positions = flange(done.q)[:, :3, 3]
    error = flange(POSTURE[None])[0, :3, 3] - positions
    if slow:  # e'' + (Kp + Kd) e' + Kp Kd e = 0 from rest
        expected = (60 * np.exp(-4 * done.t) - 4 * np.exp(-60 * done.t)) / 56
    else:
        expected = (1 + 10 * done.t) * np.exp(-10 * done.t)
    assert np.abs(error - expected[:, None] * error[0]).max() < 0.02 * np.abs(error[0]).max()
    assert np.abs(error[0]).max() > 0.01


def test_the_frame_stays_while_the_posture_is_drawn_in() -> None:
    controller = OperationalSpace(*nominal(PANDA), 400.0, 40.0, "flange")  # type: ignore[arg-type]
    null = np.linalg.svd(np.array(Model(PANDA).frame_jacobian("flange")(POSTURE)))[2][-1]
    done = run(controller, POSTURE + 0.2 * null, 3.0)
    inside = np.abs((done.q - POSTURE) @ null)
    assert inside[-1] < 0.3 * inside[0]
    late = done.t > 1.0  # the first error, of second order in the displacement, has gone
    assert np.abs(flange(done.q[late])[:, :3, 3] - flange(POSTURE[None])[0, :3, 3]).max() < 1e-3


def test_gravity_compensation_leaves_no_error_at_rest_and_pd_alone_does() -> None:
    kp, kd = settings(bandwidth=15.0).gains(settings().inertia)
    alone = run(PD(kp, kd), duration=3.0)
    with_gravity = run(PDGravity(*nominal(PANDA), kp, kd), POSTURE + 0.05, 3.0)
    assert np.abs(alone.tracking_error[-1]).max() > 0.05
    assert np.abs(with_gravity.tracking_error[-1]).max() < 0.05 * np.abs(alone.tracking_error[-1]).max()
    expected = np.array(Model(PANDA).gravity(alone.q[-1], PANDA.standard_parameters())).ravel() / kp
    assert np.abs(alone.tracking_error[-1] - expected).max() < 0.02 * np.abs(expected).max()  # Kp e = g(q)


def test_feed_forward_needs_no_error_to_follow() -> None:
    reference = Sine.within(PANDA, amplitude=0.6, frequency=0.5, duration=2.0)
    kp, kd = settings().gains(settings().inertia)
    plant = Plant.of(PANDA)
    errors = {
        name: np.abs(simulate(plant, law, reference, 2.0, rate=2000.0).tracking_error).max()
        for name, law in {
            "feed": FeedForward(*nominal(PANDA), kp, kd),
            "pd": PDGravity(*nominal(PANDA), kp, kd),
        }.items()
    }
    assert errors["feed"] < 2e-3
    assert errors["feed"] < 0.1 * errors["pd"]


def test_feed_forward_compensates_the_friction_of_its_model() -> None:
    plant = Plant.of(PANDA, SmoothCoulomb(0.05), viscous=2.0)
    reference = Sine.within(PANDA, amplitude=0.6, frequency=0.5, duration=2.0)
    errors = []
    for model in (plant.links, (plant.model, plant.parameters)):
        law = ComputedTorque(*model, 100.0, 20.0)  # type: ignore[arg-type]
        errors.append(np.abs(simulate(plant, law, reference, 2.0, rate=2000.0).tracking_error).max())
    assert errors[1] < 0.05 * errors[0]


def test_torques_stay_within_their_limits() -> None:
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


def test_references_hold_before_and_after() -> None:
    trajectory = Trajectory(Fourier(2 * np.pi, 1), np.array([[1.0, 0.5, 0.2]]))
    motion = Follow(trajectory, start=2.0).at([0.0, 1.9, 2.25, 5.0])
    assert np.array_equal(motion.q[0], motion.q[1])
    assert motion.q[0] == pytest.approx(trajectory.motion([0.0]).q[0])
    assert motion.q[2] == pytest.approx(trajectory.motion([0.25]).q[0])
    assert motion.q[3] == pytest.approx(trajectory.motion([1.0]).q[0])
    assert not motion.dq[[0, 1, 3]].any()


@pytest.mark.parametrize("name", sorted(CONTROLLERS))
def test_every_controller_holds_what_its_contract_says(name: str) -> None:
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


def test_unknown_names_are_refused_with_a_hint() -> None:
    with pytest.raises(ProblemError, match=r"unknown controller 'computed'; .*computed-torque"):
        controller_of("computed", settings())
    with pytest.raises(ProblemError, match=r"did you mean 'cvodes'"):
        integrator_of("cvode")
    assert isinstance(integrator_of("dormand-prince", 1e-6), DormandPrince)
    assert set(INTEGRATORS) == {"runge-kutta", "euler", "dormand-prince", "cvodes", "idas"}
    with pytest.raises(DatasetError, match=r"no joint term 'rotor'"):
        with_terms(Model(PANDA, ("viscous",)), np.zeros(77), {"rotor": 1.0})
    with pytest.raises(RobotError, match="no frame 'hand'"):
        OperationalSpace(*nominal(PANDA), 1.0, 1.0, "hand")  # type: ignore[arg-type]
    with pytest.raises(RobotError, match="needs six"):
        OperationalSpace(Model("spatial_2r"), true_parameters(), 1.0, 1.0, "link2")  # type: ignore[arg-type]


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["computed-torque", "operational-space"])
def test_exported_control_is_the_simulated_one(name: str, tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_simulate_identify_validate_from_the_command_line(tmp_path: Path) -> None:
    a, b = 0.8 * np.random.default_rng(2).standard_normal((2, 7, 3))
    trajectory = Trajectory(Fourier(2 * np.pi / 4, 3), np.column_stack([a, b, POSTURE]))
    (tmp_path / "motion.toml").write_text(trajectory_text(trajectory))
    command = ["simulate", "panda", "--friction", "viscous=0.5,coulomb=0.2,offset=0", "--rate", "250"]
    for name, extra in {"one": ["--trajectory", str(tmp_path / "motion.toml")], "two": ["--duration", "2"]}.items():
        done = CliRunner().invoke(app, [*command, *extra, "--noise", "1e-5,1e-3,0.02", "--out", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "one").iterdir()}
    assert written == {"recording.npz", "simulation.json", "motion.png", "energy.png", "animation.gif"}
    data = casid.read_dataset(tmp_path / "one" / "recording.npz")
    assert data.n == 7 and len(data) == 1001
    record = json.loads((tmp_path / "one" / "simulation.json").read_text())
    assert record["end"]["reason"] == "finished"
    done = CliRunner().invoke(
        app, ["identify", "panda", str(tmp_path / "one" / "recording.npz"), "--velocity", "measured", "--trim", "0.1",
              "--every", "2", "--cutoff", "20", "--out", str(tmp_path / "result")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(
        app, ["validate", "panda", str(tmp_path / "result" / "identification.json"),
              str(tmp_path / "two" / "recording.npz"), "--velocity", "measured", "--cutoff", "20"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output


def test_a_simulation_that_ends_early_says_so_on_the_command_line(tmp_path: Path) -> None:
    command = ["simulate", "panda", "--controller", "pd", "--kp", "1e5", "--kd", "1e4", "--no-limits"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "stopped at" in done.output
    assert (tmp_path / "out" / "simulation.json").is_file()
    wrong = CliRunner().invoke(app, ["simulate", "panda", "--friction", "viscous=much"])
    assert wrong.exit_code == 2 and "NAME=NUMBER" in wrong.output
