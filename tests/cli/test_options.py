"""Groups of options, their panels, and their merging with a recording's TOML."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from casid._annexes import commands, loaded
from casid.cli import app
from casid.cli.options import Reading, RecordingOptions, RobotOptions, Settings
from casid.errors import DatasetError
from tests.helpers import run

GROUP = typer.main.get_command(app)
COMMANDS = {name: GROUP.get_command(None, name) for name in GROUP.commands}  # type: ignore[attr-defined]


def options_of(command: str) -> dict[str, str | None]:
    """Panels of a command's options by name."""
    return {
        parameter.opts[0]: getattr(parameter, "rich_help_panel", None)
        for parameter in COMMANDS[command].params
        if parameter.opts[0].startswith("--")
    }


def test_a_group_is_flat_on_the_command_line_and_in_its_panel() -> None:
    panels = options_of("identify")
    assert panels["--cutoff"] == "How the recording is read" and panels["--lock"] == "How the robot is read"
    assert panels["--prior"] == "Advanced" and panels["--terms"] == "Model" and panels["--out"] == "Output"
    assert set(Reading().given()) == {*RecordingOptions().given(), *RobotOptions().given()}


def test_the_command_line_takes_precedence_over_the_toml(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('file = "run.npz"\n[options]\ncutoff = 8.0\norder = 2\n', encoding="utf-8")
    settings = Settings.merged([path], **Reading(cutoff="5").given()).of(path)
    processing = settings.processing()
    assert (processing.cutoff, processing.order) == (5.0, 2)  # type: ignore[union-attr]
    path.write_text('file = "run.npz"\n[options]\ncutof = 8.0\n', encoding="utf-8")
    with pytest.raises(DatasetError, match="unknown option 'cutof'; did you mean 'cutoff'\\?; known: cutoff"):
        Settings.merged([path])


@pytest.mark.claim("one word of the command line has one meaning")
def test_no_option_means_two_things() -> None:
    shared = {"--share", "--rate", "--delay", "--friction"}
    with_option = {name: {command for command in COMMANDS if name in options_of(command)} for name in shared}
    about_recordings = {"identify", "validate", "payload", "gains", "reverse-engineer"}
    assert with_option["--rate"] == with_option["--delay"] == about_recordings
    assert with_option["--friction"] == {"identify", "reverse-engineer"}
    assert with_option["--share"] == {"solve", "identify"}
    assert not any("--seconds" in options_of(command) for command in COMMANDS)


def test_daily_commands_stand_first_in_the_help() -> None:
    text = run("--help")
    panels = ["Daily work", "Robots", "Further analysis", "Installation"]
    places = [text.index(panel) for panel in panels]
    assert places == sorted(places) and text.index(" identify ") < places[1] < text.index(" reverse-engineer ")


@pytest.mark.claim("options of one recording do not reach another")
def test_options_of_a_recording_stay_with_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text('file = "a.npz"\n[options]\ncutoff = 3.0\nonly = "joint2"\n', encoding="utf-8")
    two.write_text('file = "b.npz"\n[options]\ncutoff = 8.0\n', encoding="utf-8")
    settings = Settings.merged([one, two])
    assert settings.processing() is None
    assert settings.of(one).processing().cutoff == 3.0  # type: ignore[union-attr]
    assert settings.of(two).processing().cutoff == 8.0  # type: ignore[union-attr]
    assert "only" not in settings.of(two).given
    assert Settings.merged([one, two], cutoff="5").of(two).given["cutoff"] == "5"


def test_contradictions_between_recordings_name_both(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text('file = "a.npz"\n[options]\ngravity = "-y"\n', encoding="utf-8")
    two.write_text('file = "b.npz"\n[options]\ngravity = "-z"\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=r"one\.toml and two.toml contradict each other: gravity"):
        Settings.merged([one, two])
    assert Settings.merged([one, two], gravity="-x").given["gravity"] == "-x"


def test_commands_of_annexes_are_listed_as_they_describe_themselves() -> None:
    text = " ".join(run("--help").split())
    for name, command in commands().items():
        assert (loaded(command.function).__doc__ or "").splitlines()[0] == command.help
        assert command.panel in text and f" {name} " in text
    assert not COMMANDS["payload"].params == GROUP.commands["payload"].params  # type: ignore[attr-defined]
