"""Commands about recordings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import write_robot
from casid.inertia import parameter_csv
from casid.testing import recording
from tests.helpers import run, two_links


def test_robot_files_are_checked_before_the_work(tmp_path: Path) -> None:
    text = run("identify", "panda", "no_such.npz", "--sdf", tmp_path / "a.urdf", "--out", tmp_path / "out", code=1)
    assert "ending .sdf or .world" in text and not (tmp_path / "out").exists()


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """Folder of an identified robot in TOML, its parameters alone, and a recording of it."""
    robot = two_links()
    model = casid.Model(robot, ("viscous", "coulomb"))
    values = np.concatenate([robot.standard_parameters(), np.tile([0.3, 0.2], 2)])
    data = recording(model, values, 800, 0, 0.02)
    np.savez(tmp_path / "run.npz", t=data.t, q=data.q, tau=data.tau)
    (tmp_path / "found.csv").write_bytes(parameter_csv(model.named(values)))
    write_robot(robot.with_parameters(model.named(values)), tmp_path / "arm.toml")
    return tmp_path


def test_an_identified_robot_is_validated_by_its_own_file(arm: Path) -> None:
    run("validate", arm / "arm.toml", arm / "run.npz", "--out", arm / "own")
    run("validate", "spatial_2r", arm / "found.csv", arm / "run.npz", "--out", arm / "given")
    own, given = (json.loads((arm / name / "validation.json").read_text()) for name in ("own", "given"))
    assert own["relative_error"] < 5 and own["relative_error"] == pytest.approx(given["relative_error"])
    text = run("validate", "ur10e", arm / "run.npz", code=1)
    assert "robot 'ur10e' has no joint terms: friction counts as zero" in text
    assert "one RECORDING at a time" in run("validate", arm / "arm.toml", *[arm / "run.npz"] * 3, code=2)
    (arm / "identification.json").write_text("{}")
    for what in (arm, arm / "identification.json"):
        assert "is an IDENTIFICATION" in run("validate", arm / "arm.toml", what, code=2)


def test_quick_says_that_it_looks_for_no_delay(arm: Path) -> None:
    quick = ("identify", arm / "arm.toml", arm / "run.npz", "--quick")
    assert "--quick looks for no delay" in run(*quick)
    assert "--quick looks for no delay" not in run(*quick, "--delay", "0")


def test_validations_and_payloads_are_viewed(arm: Path) -> None:
    run("validate", arm / "arm.toml", arm / "run.npz", "--out", arm / "v")
    run("payload", arm / "arm.toml", arm / "run.npz", "--without", arm / "run.npz", "--out", arm / "p")
    page = arm / "page.html"
    for file, words in ((arm / "v", '"label":"predicted"'), (arm / "p" / "payload.json", "the load, in the frame of")):
        run("view", file, "--no-browser", "--out", page)
        assert words in page.read_text(encoding="utf-8")
    (arm / "p" / "payload.html").unlink()
    text = run("view", arm / "p" / "payload.json", "--no-browser", "--out", page, code=1)
    assert "there is no page 'payload.html' beside it" in text
