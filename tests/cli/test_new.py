"""Scaffolds work as written, refuse to overwrite."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.measurement import read_dataset
from casid.measurement._readers import _OPTIONS
from casid.testing._synthetic import motion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

run = CliRunner().invoke


@pytest.mark.parametrize("joints", [1, 6, 7])
def test_a_new_robot_is_one_that_casid_reads(joints: int, tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    done = run(app, ["new", "robot", str(path), "--joints", str(joints)])
    assert done.exit_code == 0, done.output
    robot = casid.load_robot(path)
    assert robot.n == joints and robot.name == "arm"
    assert casid.Model(robot).base.rank > 0


def test_its_commented_lines_are_valid_too(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    run(app, ["new", "robot", str(path), "--joints", "2"])
    text = path.read_text(encoding="utf-8")
    for key in ("mass", "com", "inertia_com", "total_mass"):
        text = text.replace(f"# {key} =", f"{key} =")
    path.write_text(text, encoding="utf-8")
    robot = casid.load_robot(path)
    assert robot.links[0].inertial is not None and robot.total_mass == (10.0, 20.0)


def test_a_new_recording_is_read_as_it_stands_and_with_its_comments(tmp_path: Path) -> None:
    t, q, dq, _ = motion(6, 300, 2)
    np.savez(tmp_path / "run.npz", t=t, q=q, dq=dq, tau=q, current=q, time_ms=1000 * t)
    done = run(app, ["new", "recording", str(tmp_path / "run.npz")])
    assert done.exit_code == 0, done.output
    plain = read_dataset(tmp_path / "run.toml")
    text = (tmp_path / "run.toml").read_text(encoding="utf-8")
    for line in ("columns", "time_scale", "gains", "cutoff", "gravity", "lock", "total_mass"):
        text = text.replace(f"# {line} =", f"{line} =")
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    assert set(tomllib.loads(text)) >= {"file", "columns", "time_scale", "gains", "options"}
    scaled = read_dataset(tmp_path / "run.toml")
    np.testing.assert_allclose(scaled.t, plain.t, atol=1e-9)
    np.testing.assert_allclose(scaled.tau[:, 0], 10 * plain.tau[:, 0])


@pytest.mark.claim("the template of a recording names every key, and needs no file")
def test_the_template_of_a_recording_names_every_key(tmp_path: Path) -> None:
    done = run(app, ["new", "recording", str(tmp_path / "absent.csv")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "absent.toml").read_text(encoding="utf-8")
    guide = Path(__file__).parents[2].joinpath("docs", "identification.md").read_text(encoding="utf-8")
    for key in _OPTIONS:
        assert f"\n# {key} = " in text, key
        assert f"`{key}`" in guide, key


@pytest.mark.parametrize("robot", ["panda", "three_link"])
def test_a_new_problem_solves(robot: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    done = run(app, ["new", "problem", str(path), "--robot", robot])
    assert done.exit_code == 0, done.output
    assert casid.solve(casid.load_problem(path)).certified


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["robot", "arm.txt"], "ending .toml"),
        (["robot", "7up.toml"], "is not a name"),
        (["problem", "there.py"], "exists"),
        (["recording", "run.toml"], "name the recording itself"),
        (["problem", "p.py", "--robot", "pandda"], "pandda"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.py").write_text("kept")
    done = run(app, ["new", *arguments])
    assert done.exit_code == 1 and words in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["there.py"] and Path("there.py").read_text() == "kept"


def test_version_and_completion_are_offered() -> None:
    assert run(app, ["--version"]).output.strip() == f"casid {casid.__version__}"
    assert "--install-completion" in run(app, ["--help"]).output
