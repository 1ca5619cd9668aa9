"""The command ``simulate``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer

import casid
from casid.cli._simulation import Integration, Reference, Simulated, _by_joint
from casid.description import write_robot
from tests.helpers import run


def test_the_integrator_is_chosen_by_friction_unless_it_is_given() -> None:
    assert Integration().chosen(exact=False) is None
    exact, fixed = Integration().chosen(exact=True), Integration(step=1e-3).chosen(exact=False)
    assert type(exact).__name__ == "DormandPrince" and type(fixed).__name__ == "RungeKutta4"


def test_the_reference_is_sines_unless_a_trajectory_is_given() -> None:
    robot = casid.load_robot("spatial_2r")
    assert Reference(duration=3.0).followed(robot).span[1] == pytest.approx(3.0)
    plant = Simulated(term_values="viscous=0.5").plant(
        robot.with_parameters([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0, 1.0] * 2)
    )
    assert plant.parameters[-1] == 0.5


def test_a_wall_stands_before_the_flange_or_the_frame_that_is_named() -> None:
    robot = casid.load_robot("panda")
    (wall,) = Simulated(wall="0.3,0,0.4,0,0,2,1e4,50").plant(robot).forces
    assert wall.frame == "flange" and (wall.stiffness, wall.damping) == (1e4, 50.0) and wall.normal[2] == 1.0
    assert Simulated(wall="0.3,0,0.4,0,0,2,1e4,50").plant(robot, "link5").forces[0].frame == "link5"


@pytest.mark.slow
def test_what_is_written_is_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casid.report._simulation.skeleton_gif", lambda *_, **__: b"GIF")
    body = [0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1, 1.0]
    write_robot(casid.load_robot("spatial_2r").with_parameters(body * 2), tmp_path / "arm.toml")
    out = tmp_path / "out"
    text = run("simulate", tmp_path / "arm.toml", "--duration", 0.3, "--term-values", "viscous=0.5", "--out", out)
    names = {path.name for path in out.iterdir()}
    assert names == {"simulation.json", "recording.npz", "motion.png", "energy.png", "animation.gif"}
    energy = json.loads((out / "simulation.json").read_text(encoding="utf-8"))["energy"]
    assert f"{energy['work']:.6g}" in text and "Energy [J]" in text


def test_a_term_may_be_of_one_joint() -> None:
    robot = casid.load_robot("spatial_2r")
    found = _by_joint(robot, "coulomb@joint2=0.3,viscous@joint1=0.1,viscous=0.5")
    assert found == {"coulomb": [0.0, 0.3], "viscous": [0.1, 0.5]}
    with pytest.raises(typer.BadParameter, match="no joint 'joint9'; there are joint1, joint2"):
        _by_joint(robot, "viscous@joint9=1")


def test_joints_that_friction_holds_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stuck = " ".join(run("simulate", "panda", "--duration", 2, "--term-values", "coulomb@joint7=5").split())
    assert re.search(r"does not follow its motion \[rad or m\]: joint7 by 0\.\d+; raise --bandwidth", stuck)
    assert "does not follow" not in run("simulate", "panda", "--duration", 2, "--term-values", "coulomb@joint7=0.01")
