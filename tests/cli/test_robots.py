"""Commands about robots, and the command line as a whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import rich.markup
import typer

import casid
from casid.cli import app
from tests.helpers import run


def test_robots_lists_every_shipped_robot() -> None:
    text = run("robots")
    for name in casid.robot_names():
        robot = casid.load_robot(name)
        types = "".join("P" if joint.type == "prismatic" else "R" for joint in robot.joints)
        assert any(line.split()[:3] == [name, str(robot.n), types] for line in text.splitlines())


def test_base_takes_a_file(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "robots" / "spatial_2r.toml").read_text(encoding="utf-8")
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


@pytest.mark.slow
def test_warning_about_a_robot_is_one_line_on_stderr(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "robots" / "spatial_2r.toml").read_text(encoding="utf-8")
    path = tmp_path / "heavy.toml"
    body = "mass = -8.0\ncom = [0.0, 0.0, 0.0]\ninertia_com = [0.03, 0.0, 0.0, 0.03, 0.0, 0.01]\n"
    path.write_text(text.replace('name = "link1"\n', f'name = "link1"\n{body}'), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    command = [sys.executable, "-m", "casid", "base", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "8 base parameters" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: ") and "link1" in line and "-8" in line


def test_units_survive_in_every_help() -> None:
    """Rich takes ``[s]`` for a style: what stands in brackets must be shown."""
    assert "[rad/s]" in run("simulate", "--help")
    commands = [typer.main.get_command(app)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    texts = [text for c in commands for text in (c.help, *(getattr(p, "help", "") for p in c.params)) if text]
    assert len(texts) > 100
    assert [text for text in texts if rich.markup.render(text).plain != text.replace("\\[", "[")] == []
