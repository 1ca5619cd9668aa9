"""Closed loops: in Python and in C, many at once, sensors, early ends, recordings, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.control import PD, ComputedTorque, Passive
from casid.dynamics import Model
from casid.errors import CasidWarning, DatasetError, ProblemError
from casid.motion import Hold, Samples, Sine
from casid.simulation import ExactCoulomb, Plant, Sensor, SmoothCoulomb, Stops, simulate, simulate_many
from casid.simulation.integrators import Cvodes, DormandPrince, Integrator, RungeKutta4
from problems.spatial_2r import true_parameters
from tests.helpers import run


@pytest.mark.parametrize(("delay", "sensor"), [(0.0, None), (2e-3, Sensor(1e-4, 1e-3, 0.1, seed=3)), (5e-4, None)])
def test_compiled_loop_is_the_loop_in_python(
    panda: tuple[Plant, ComputedTorque, Sine], delay: float, sensor: Sensor | None
) -> None:
    options = {"integrator": RungeKutta4(5e-4), "rate": 500.0, "delay": delay, "sensor": sensor}
    one, other = (simulate(*panda, 0.2, compiled=compiled, **options) for compiled in (True, False))  # type: ignore[arg-type]
    for name in ("q", "dq", "tau", "command", "work", "dissipated"):
        assert np.abs(getattr(one, name) - getattr(other, name)).max() < 1e-10, name
    if delay == 2e-3:  # one period: the command of a sample acts at the next
        assert np.array_equal(one.tau[1:], one.command[:-1])
        assert (one.tau[0] == 0).all()


def test_steps_too_long_for_the_friction_are_warned_of() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(1e-3), coulomb=[0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05])
    with pytest.warns(CasidWarning, match=r"joint 3 is too steep for steps of 0.001 s"):
        simulate(plant, Passive(7), Hold(np.zeros(7)), 0.01, integrator=RungeKutta4())


def test_sensor_errors_reach_the_controller_and_repeat_with_the_seed(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    noisy, again, other = (
        simulate(plant, controller, reference, 0.1, sensor=Sensor(position=1e-3, seed=seed)) for seed in (1, 1, 2)
    )
    clean = simulate(plant, controller, reference, 0.1)
    assert np.array_equal(noisy.tau, again.tau)
    assert np.abs(noisy.tau - other.tau).max() > 0.1
    assert np.abs(noisy.command - clean.command).max() > 0.1
    assert np.array_equal(noisy.dataset().q, noisy.q + noisy.state_errors[:, :7])


@pytest.mark.slow
def test_rollouts_are_single_simulations(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    rng = np.random.default_rng(1)
    q0 = reference.at(0).q + 0.1 * rng.standard_normal((11, 7))  # neither one block nor two
    parameters = plant.parameters * rng.uniform(0.9, 1.1, (11, 1))
    many = simulate_many(
        plant, controller, reference, 0.1, q0=q0, parameters=parameters, every=10, threads=2, rate=1000.0
    )
    assert len(many) == 11
    assert many.finished.all()
    for i in (0, 7, 10):
        alone = simulate(replace(plant, parameters=parameters[i]), controller, reference, 0.1, q0=q0[i])
        assert np.abs(many.q[i] - alone.q[::10]).max() < 1e-12
        assert np.abs(many.tau[i] - alone.tau[::10]).max() < 1e-9


def test_rollouts_that_end_early_do_so_alone(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    dq0 = np.zeros((9, 7))
    dq0[4, 3] = 50.0
    many = simulate_many(plant, controller, reference, 0.1, dq0=dq0, stops=Stops(speed=40.0))
    assert many.finished.tolist() == [True] * 4 + [False] + [True] * 4
    assert "diverged" in str(many.ends[4])
    assert np.isfinite(many.q[:4]).all()
    assert np.isnan(many.q[4, -1]).all()


def test_recording_of_a_run_that_ended_at_once_is_refused() -> None:
    robot = casid.load_robot("spatial_2r")
    plant = Plant(Model(robot), -true_parameters())
    done = simulate(plant, Passive(2), Hold(np.zeros(2)), 1.0)
    with pytest.raises(DatasetError, match=r"no recording.*positive definiteness"):
        done.dataset()


def test_unstable_gains_end_with_time_and_reason_and_keep_what_there_is() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot)
    done = simulate(plant, PD(np.full(7, 5e4), np.full(7, 500.0)), Sine.within(robot), 5.0)  # type: ignore[call-arg]
    assert not done.end.finished
    assert 0.0 < done.end.time < 5.0
    assert "stopped at" in str(done.end) and ("diverged" in str(done.end) or "not finite" in str(done.end))
    assert len(done) >= 1
    assert np.isfinite(done.q).all()
    assert np.isfinite(done.tau).all()


@pytest.mark.parametrize("integrator", [RungeKutta4(), DormandPrince(), Cvodes()])
def test_a_plant_without_a_positive_definite_mass_matrix_is_named(integrator: Integrator) -> None:
    """m0 + m1 cos(q) changes its sign on the way of a two-link arm with a negative inertia."""
    robot = casid.load_robot("spatial_2r")
    pi = true_parameters()
    pi[10:20] *= -0.02
    plant = Plant(Model(robot), pi)
    done = simulate(plant, Passive(2), Hold(np.zeros(2)), 1.0, integrator=integrator)
    assert "lost positive definiteness" in str(done.end)
    assert "pivot of joint 'joint" in str(done.end)
    assert done.end.time < 0.1


def test_a_simulation_that_ends_early_says_so_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("casid.report._section.pictures", lambda make: {})
    monkeypatch.setattr("casid.report._simulation._animation", lambda simulation: b"")
    command = ["simulate", "panda", "--controller", "pd", "--kp", "1e5", "--kd", "1e4", "--no-limits"]
    assert "stopped at" in run(*command, "--out", tmp_path / "out", code=2)
    assert (tmp_path / "out" / "simulation.json").is_file()
    assert "NAME=NUMBER" in run("simulate", "panda", "--term-values", "viscous=much", code=2)


def test_what_cannot_be_simulated_is_refused_with_the_reason() -> None:
    robot = casid.load_robot("panda")
    pi = Model(robot, ("coulomb",)).parameters(robot.standard_parameters(), np.full(7, -1.0))
    negative = Plant(Model(robot, ("coulomb",)), pi, ExactCoulomb())
    exact, plant, hold = Plant.of(robot, ExactCoulomb(), coulomb=0.1), Plant.of(robot), Hold(np.zeros(7))
    for error, words, machine, options in (
        (ProblemError, "dry friction of joint 1 is negative", negative, {"integrator": DormandPrince()}),
        (ProblemError, "cannot locate the events", exact, {"integrator": RungeKutta4()}),
        (ProblemError, "cannot locate the events", exact, {"integrator": Cvodes()}),
        (ProblemError, "whole multiple of the step", plant, {"integrator": RungeKutta4(7e-4)}),
        (ProblemError, "delay", plant, {"delay": 3e-4, "integrator": RungeKutta4(1e-3)}),
        (ProblemError, "duration", plant, {"duration": 0.0}),
        (DatasetError, "controller has 3 joints", plant, {"controller": Passive(3)}),
        (DatasetError, "initial positions", plant, {"q0": [np.nan] * 7}),
    ):
        with pytest.raises(error, match=words):
            simulate(machine, **{"controller": Passive(7), "reference": hold, "duration": 0.1, **options})  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match=r"kp of joint 2"):
        PD(np.array([1.0, -1.0]), np.ones(2))
    with pytest.raises(DatasetError, match=r"rising"):
        Samples(np.zeros(2), np.zeros((2, 7)), np.zeros((2, 7)), np.zeros((2, 7)))
    with pytest.raises(DatasetError, match=r"different numbers of rollouts"):
        simulate_many(plant, Passive(7), hold, 0.1, 3, q0=np.zeros((4, 7)))
