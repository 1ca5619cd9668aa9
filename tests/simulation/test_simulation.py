"""Integrators, friction, sampled loops and rollouts against closed forms and each other."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.control import PD, ComputedTorque, Passive, nominal
from casid.description import Inertial, Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import CasidWarning, DatasetError, ProblemError, RobotError
from casid.motion import Hold, Samples, Sine
from casid.simulation import (
    ExactCoulomb,
    Plant,
    Reason,
    Sensor,
    Simulation,
    SmoothCoulomb,
    Stops,
    record,
    simulate,
    simulate_many,
)
from casid.simulation._sampling import Sampling
from casid.simulation.integrators import Cvodes, DormandPrince, Idas, RungeKutta4, SemiImplicitEuler
from casid.simulation.integrators._integrator import Integrator
from problems.spatial_2r import true_parameters

GRAVITY = 9.80665


def pendulum() -> Robot:
    """A point mass of 2 kg at 0.5 m, turning about the horizontal y axis; hanging down at q = 0."""
    link = Link("bob", Inertial(2.0, np.array([0.0, 0.0, -0.5]), np.zeros((3, 3))))
    return Robot("pendulum", (Joint("pivot", "revolute", -1, link, axis=np.array([0.0, 1.0, 0.0])),))


def sledge(angle: float = 0.0) -> Robot:
    """A mass of 2 kg that slides along x, gravity inclined by an angle."""
    link = Link("mass", Inertial(2.0, np.zeros(3), np.eye(3)))
    gravity = GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    return Robot("sledge", (Joint("slide", "prismatic", -1, link, axis=np.array([1.0, 0.0, 0.0])),), gravity=gravity)


def free(
    plant: Plant, duration: float, integrator: Integrator, q0: float, dq0: float = 0.0, **options: object
) -> Simulation:
    return simulate(
        plant, Passive(plant.n), Hold(np.zeros(plant.n)), duration, integrator=integrator, q0=[q0], dq0=[dq0], **options
    )  # type: ignore[arg-type]


def exact_swing(q0: float, t: np.ndarray) -> np.ndarray:
    """Angle of a pendulum let go at q0, by Jacobi's functions."""
    from scipy.special import ellipj, ellipk

    k, w = np.sin(q0 / 2), np.sqrt(GRAVITY / 0.5)
    sn = ellipj(ellipk(k**2) - w * t, k**2)[0]
    return np.asarray(2 * np.arcsin(k * sn))


@pytest.mark.parametrize(
    ("integrator", "error"),
    [(DormandPrince(1e-11), 1e-9), (Cvodes(1e-11), 1e-7), (Idas(1e-11), 1e-7), (RungeKutta4(5e-4), 1e-9)],
)
def test_pendulum_swings_as_the_elliptic_functions_say(integrator: Integrator, error: float) -> None:
    done = free(Plant.of(pendulum()), 2.0, integrator, 2.0, rate=100.0)
    assert np.abs(done.q[:, 0] - exact_swing(2.0, done.t)).max() < error
    assert done.energy.relative_imbalance < error
    assert done.energy.kinetic.max() > 10.0  # the book holds something


@pytest.mark.parametrize(("kind", "order"), [(RungeKutta4, 4), (SemiImplicitEuler, 1)])
def test_fixed_steps_converge_with_their_order(kind: type[RungeKutta4], order: int) -> None:
    errors = []
    for h in (0.02, 0.01):
        done = free(Plant.of(pendulum()), 1.0, kind(h), 1.5, rate=10.0)
        errors.append(abs(done.q[-1, 0] - exact_swing(1.5, np.array([1.0]))[0]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_exact_friction_stops_a_sledge_where_the_closed_form_says() -> None:
    plant = Plant.of(sledge(), ExactCoulomb(), coulomb=3.0)
    done = free(plant, 3.0, DormandPrince(), 0.0, dq0=2.0, rate=10.0)
    a, stop = 1.5, 2.0 / 1.5  # v0 / (F / m)
    t = np.minimum(done.t, stop)
    assert np.abs(done.q[:, 0] - (2.0 * t - a * t**2 / 2)).max() < 1e-12
    assert (done.dq[done.t > stop] == 0.0).all()
    assert done.dissipated[-1] == pytest.approx(4.0, rel=1e-12)  # m v0^2 / 2


@pytest.mark.parametrize(("angle", "moves"), [(0.15, False), (0.16, True)])
def test_exact_friction_holds_on_a_slope_until_it_is_too_steep(angle: float, moves: bool) -> None:
    """Friction 3 N holds 2 kg up to asin(3 / (2 g)) = 0.1536 rad."""
    plant = Plant.of(sledge(angle), ExactCoulomb(), coulomb=3.0)
    done = free(plant, 2.0, DormandPrince(), 0.0, rate=10.0)
    expected = (GRAVITY * np.sin(angle) - 1.5) * done.t**2 / 2 if moves else 0 * done.t
    assert np.abs(done.q[:, 0] - expected).max() < 1e-10
    creeping = free(Plant.of(sledge(angle), SmoothCoulomb(1e-3), coulomb=3.0), 2.0, DormandPrince(), 0.0, rate=10.0)
    assert creeping.q[-1, 0] > 1e-4 or not moves  # smooth friction cannot hold


def test_exact_friction_with_offset_and_viscosity_matches_smooth_friction_in_the_limit() -> None:
    robot = casid.load_robot("panda")
    coefficients = {"viscous": 0.5, "coulomb": [0.6, 0.5, 0.4, 0.5, 0.2, 0.2, 0.1], "offset": 0.05}
    q0 = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.5, 0.1])
    ends = []
    for friction in (ExactCoulomb(), SmoothCoulomb(1e-5)):
        plant = Plant.of(robot, friction, **coefficients)
        done = simulate(
            plant, Passive(7), Hold(q0), 0.8, integrator=Cvodes(1e-9) if ends else DormandPrince(), rate=100.0
        )
        assert done.energy.relative_imbalance < 1e-6
        ends.append(done.q[-1])
    assert np.abs(ends[0] - ends[1]).max() < 2e-3
    assert np.abs(ends[0] - q0).max() > 0.3


def test_motors_behind_a_transmission_stick_together_with_their_joints() -> None:
    """All of the WAM's wrist and shoulder are held: joints and motors stick redundantly, nothing moves."""
    model = Model(casid.load_robot("wam7"), ("coulomb", "motor_coulomb", "motor_rotor"))
    values = model.parameters(casid.load_robot("wam7").standard_parameters())
    for column, (term, _) in model.term_columns.items():
        values[column] = 0.01 if term.name == "motor_rotor" else 40.0
    plant = Plant(model, values, ExactCoulomb())
    done = simulate(plant, Passive(7), Hold(np.full(7, 0.5)), 1.0, integrator=DormandPrince(), rate=10.0)
    assert (done.q == 0.5).all()
    assert (done.dq == 0.0).all()


@pytest.fixture(scope="module")
def panda() -> tuple[Plant, ComputedTorque, Sine]:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(0.05), viscous=VISCOUS, coulomb=COULOMB)
    return plant, ComputedTorque(*nominal(robot), 100.0, 20.0), Sine.within(robot)  # type: ignore[arg-type]


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


def test_rollouts_that_end_early_say_so_alone(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    dq0 = np.zeros((9, 7))
    dq0[4, 3] = 50.0
    many = simulate_many(plant, controller, reference, 0.1, dq0=dq0, stops=Stops(speed=40.0))
    assert many.finished.tolist() == [True] * 4 + [False] + [True] * 4
    assert many.ends[4].reason is Reason.DIVERGED
    assert np.isfinite(many.q[:4]).all()
    assert np.isnan(many.q[4, -1]).all()


def test_computed_torque_makes_double_integrators(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    """With the right model, the error of every joint obeys e'' + 20 e' + 100 e = 0."""
    plant, controller, reference = panda
    exact = Plant(plant.links[0], plant.links[1])
    q0 = reference.at(0).q[0] + 0.1
    done = simulate(exact, controller, reference, 1.0, q0=q0, integrator=RungeKutta4(2e-4), rate=5000.0)
    expected = -0.1 * (1 + 10 * done.t) * np.exp(-10 * done.t)
    assert np.abs(done.tracking_error - expected[:, None]).max() < 2e-3  # torques are held for 0.2 ms


def test_unstable_gains_end_with_time_and_reason_and_keep_what_there_is() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot)
    done = simulate(plant, PD(np.full(7, 5e4), np.full(7, 500.0)), Sine.within(robot), 5.0)  # type: ignore[call-arg]
    assert not done.end.finished
    assert 0.0 < done.end.time < 5.0
    assert done.end.reason in (Reason.DIVERGED, Reason.NOT_FINITE)
    assert "stopped at" in str(done.end)
    assert len(done) >= 1
    assert np.isfinite(done.q).all()
    assert np.isfinite(done.tau).all()


@pytest.mark.parametrize("integrator", [RungeKutta4(), DormandPrince(), Cvodes(), Idas()])
def test_a_plant_without_a_positive_definite_mass_matrix_is_named(integrator: Integrator) -> None:
    """m0 + m1 cos(q) changes its sign on the way of a two-link arm with a negative inertia."""
    robot = casid.load_robot("spatial_2r")
    pi = true_parameters()
    pi[10:20] *= -0.02
    plant = Plant(Model(robot), pi)
    done = simulate(plant, Passive(2), Hold(np.zeros(2)), 1.0, integrator=integrator)
    assert done.end.reason is Reason.INDEFINITE
    assert "positive definite" in str(done.end)
    assert "pivot of joint 'joint" in str(done.end)
    assert done.end.time < 0.1


def test_recording_of_a_run_that_ended_at_once_is_refused() -> None:
    robot = casid.load_robot("spatial_2r")
    plant = Plant(Model(robot), -true_parameters())
    done = simulate(plant, Passive(2), Hold(np.zeros(2)), 1.0)
    with pytest.raises(DatasetError, match=r"no recording.*positive definiteness"):
        done.dataset()


VISCOUS, COULOMB = np.array([0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.1]), np.array([0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05])


@pytest.mark.slow
def test_identification_finds_the_simulated_robot() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(0.01), viscous=VISCOUS, coulomb=COULOMB, offset=0.0)
    reference = Sine.within(robot, amplitude=1.5, frequency=0.3)
    data = record(plant, reference, sensor=Sensor(torque=0.02, seed=5), integrator=RungeKutta4(2e-4), duration=8.0)
    assert len(data) == 8001
    result = casid.identify(robot, data, processing=casid.Processing(cutoff=20.0, velocity="measured"))
    truth = plant.model.base.values(plant.parameters)
    assert result.model.parameter_names == plant.model.parameter_names
    error = np.abs(result.feasible.beta - truth)
    friction = np.array([form.startswith("f") for form in plant.model.base.expressions])
    assert error[~friction].max() < 0.02
    assert error[friction].max() < 0.1  # the filters smear the jump of dry friction
    assert result.feasible.relative_error < 1.0


def test_steps_too_long_for_the_friction_are_warned_of() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(1e-3), coulomb=COULOMB)
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


def test_what_cannot_be_simulated_is_refused_with_the_reason() -> None:
    robot = casid.load_robot("panda")
    pi = Model(robot, ("coulomb",)).parameters(robot.standard_parameters(), np.full(7, -1.0))
    negative = Plant(Model(robot, ("coulomb",)), pi, ExactCoulomb())
    hold = Hold(np.zeros(7))
    with pytest.raises(ProblemError, match=r"dry friction of joint 1 is negative"):
        simulate(negative, Passive(7), hold, 0.1, integrator=DormandPrince())
    exact = Plant.of(robot, ExactCoulomb(), coulomb=0.1)
    for integrator in (RungeKutta4(), Cvodes(), Idas()):
        with pytest.raises(ProblemError, match=r"cannot locate the events"):
            simulate(exact, Passive(7), hold, 0.1, integrator=integrator)
    with pytest.raises(RobotError, match=r"load_friction.*acceleration"):
        Plant.of(robot, load_friction=0.1)
    plant = Plant.of(robot)
    with pytest.raises(ProblemError, match=r"whole multiple of the step"):
        simulate(plant, Passive(7), hold, 0.1, integrator=RungeKutta4(7e-4))
    with pytest.raises(ProblemError, match=r"delay"):
        simulate(plant, Passive(7), hold, 0.1, delay=3e-4, integrator=RungeKutta4(1e-3))
    with pytest.raises(ProblemError, match=r"duration"):
        Sampling(0.0)
    with pytest.raises(DatasetError, match=r"controller has 3 joints"):
        simulate(plant, Passive(3), hold, 0.1)
    with pytest.raises(DatasetError, match=r"initial positions"):
        simulate(plant, Passive(7), hold, 0.1, q0=[np.nan] * 7)
    with pytest.raises(DatasetError, match=r"kp of joint 2"):
        PD(np.array([1.0, -1.0]), np.ones(2))
    with pytest.raises(DatasetError, match=r"rising"):
        Samples(np.zeros(2), np.zeros((2, 7)), np.zeros((2, 7)), np.zeros((2, 7)))
    with pytest.raises(DatasetError, match=r"different numbers of rollouts"):
        simulate_many(plant, Passive(7), hold, 0.1, 3, q0=np.zeros((4, 7)))


def test_the_page_about_simulation_runs_as_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    assert "finished at 2 s" in capsys.readouterr().out
    assert (tmp_path / "panda_control" / "panda.h").is_file()
