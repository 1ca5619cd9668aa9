"""Simulations: identified again, refused, from the command line and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.control import PD, Passive
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError, RobotError
from casid.motion import Fourier, Hold, Samples, Sine, Trajectory, trajectory_text
from casid.simulation import (
    ExactCoulomb,
    Plant,
    Sensor,
    SmoothCoulomb,
    record,
    simulate,
    simulate_many,
)
from casid.simulation._plant import Sampling
from casid.simulation.integrators import Cvodes, DormandPrince, Idas, RungeKutta4

POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


@pytest.mark.slow
def test_simulate_identify_validate_from_the_command_line(tmp_path: Path) -> None:
    a, b = 0.8 * np.random.default_rng(2).standard_normal((2, 7, 3))
    trajectory = Trajectory(Fourier(2 * np.pi / 4, 3), np.column_stack([a, b, POSTURE]))
    (tmp_path / "motion.toml").write_text(trajectory_text(trajectory))
    command = ["simulate", "panda", "--term-values", "viscous=0.5,coulomb=0.2,offset=0", "--control-rate", "250"]
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


def test_a_simulation_that_ends_early_says_so_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("casid.report._section.pictures", lambda make: {})
    monkeypatch.setattr("casid.report._simulation._animation", lambda simulation: b"")
    command = ["simulate", "panda", "--controller", "pd", "--kp", "1e5", "--kd", "1e4", "--no-limits"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "stopped at" in done.output
    assert (tmp_path / "out" / "simulation.json").is_file()
    wrong = CliRunner().invoke(app, ["simulate", "panda", "--term-values", "viscous=much"])
    assert wrong.exit_code == 2 and "NAME=NUMBER" in wrong.output


@pytest.mark.slow
def test_identification_finds_the_simulated_robot() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(
        robot,
        SmoothCoulomb(0.01),
        viscous=[0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.1],
        coulomb=[0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05],
        offset=0.0,
        rotor=0.0,
    )
    reference = Sine.within(robot, amplitude=1.5, frequency=0.3)
    data = record(plant, reference, sensor=Sensor(torque=0.02, seed=5), integrator=RungeKutta4(2e-4), duration=8.0)
    assert len(data) == 8001
    result = casid.identify(robot, data, processing=casid.Processing(cutoff=20.0, velocity="measured"))
    truth = plant.model.named(plant.parameters)
    own = Model(robot, ("rotor",))
    found, exact = (own.base.values([x[name] for name in own.parameter_names]) for x in (result.parameters, truth))
    assert np.abs(found - exact).max() < 0.02
    friction = [name for name in result.parameters if name.startswith(("fv", "fc", "fo"))]
    assert len(friction) == 21 and max(abs(result.parameters[name] - truth[name]) for name in friction) < 0.1
    assert result.feasible.relative_error < 1.0


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


@pytest.mark.slow
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
