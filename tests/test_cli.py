"""The command line as its user meets it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app

RUNNER = CliRunner()


def run(*arguments: object, code: int = 0) -> str:
    """Everything the command printed; its exit code is checked and a Python traceback of ours refused."""
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def test_version() -> None:
    assert run("--version") == f"casid {casid.__version__}\n"


def test_robots_lists_every_shipped_robot() -> None:
    text = run("robots")
    for name in casid.robot_names():
        robot = casid.load_robot(name)
        types = "".join("P" if joint.type == "prismatic" else "R" for joint in robot.joints)
        assert any(line.split()[:3] == [name, str(robot.n), types] for line in text.splitlines())


def test_base_prints_rank_and_groupings() -> None:
    base = casid.Model(casid.load_robot("spatial_2r")).base
    text = run("base", "spatial_2r")
    assert "8 base parameters of 20" in text
    for expression in base.expressions:
        assert expression in text


def test_base_takes_a_file(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "robots" / "spatial_2r.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('name = "spatial_2r"', 'name = "mine"'), encoding="utf-8")
    assert "mine: 8 base parameters" in run("base", path)


def test_unknown_robot_is_one_sentence_and_exit_code_1() -> None:
    text = run("base", "pandas", code=1)
    assert text.startswith("error: unknown robot 'pandas'")
    assert "did you mean 'panda'" in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("base",), ("nothing",), ("solve", "panda_retrieval", "--starts", "0")])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert "Usage" in run(*arguments, code=2)


def test_warning_about_a_robot_is_one_line_on_stderr(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "robots" / "spatial_2r.toml").read_text(encoding="utf-8")
    path = tmp_path / "heavy.toml"
    path.write_text(text.replace("mass = 8", "mass = -8"), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    command = [sys.executable, "-c", "from casid.cli import main; main()", "base", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "8 base parameters" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: ") and "link1" in line and "-8" in line
