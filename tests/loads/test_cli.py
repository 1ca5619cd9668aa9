"""Commands about loads."""

from __future__ import annotations

from pathlib import Path

from casid.cli.options import Reading
from casid.loads._cli import Fit


def test_options_of_both_recordings_and_of_the_command_line_are_merged(tmp_path: Path) -> None:
    without, loaded = tmp_path / "without.toml", tmp_path / "loaded.toml"
    without.write_text('file = "a.npz"\n[options]\ngravity = "-y"\norder = 2\n', encoding="utf-8")
    loaded.write_text('file = "b.npz"\n[options]\norder = 3\n', encoding="utf-8")
    settings = Fit(terms="viscous").settings([without, loaded], Reading(lock="joint1"))
    common = {"gravity": "-y", "terms": "viscous", "lock": "joint1"}
    assert settings.of(without).given == common | {"order": 2}
    assert settings.of(loaded).given == common | {"order": 3}
