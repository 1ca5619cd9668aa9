"""``casid excite`` as its user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import casid
from casid.excitation import MotionLimits, Observation, certify_limits
from casid.motion import Fourier, Trajectory, read_trajectory, trajectory_text
from tests.helpers import run

QUICK = "--time-limit 3 --harmonics 3 --duration 10 --samples 60 --no-collision --no-torque".split()


@pytest.mark.slow
def test_a_folder_with_everything(tmp_path: Path) -> None:
    text = run("excite", "panda", *QUICK, "--ramp", "0.5", "--output-rate", "50", "--out", tmp_path / "out")
    assert "condition number" in text
    assert "certified" in text
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "trajectory.toml", "trajectory.csv", "joint_trajectory.yaml", "excitation.json", "motion.png",
        "singular_values.png", "deviations.png", "animation.gif",
    }  # fmt: skip
    trajectory = read_trajectory(tmp_path / "out" / "trajectory.toml")
    robot = casid.load_robot("panda")
    assert max(check.excess for check in certify_limits(trajectory, MotionLimits.of_robot(robot))) <= 0
    record = json.loads((tmp_path / "out" / "excitation.json").read_text())
    observation = Observation.of_model(casid.Model(robot, terms=("viscous", "coulomb", "offset")))
    assert record["condition_number"] == pytest.approx(np.linalg.cond(observation.matrix(trajectory.sample(60))))
    with (tmp_path / "out" / "trajectory.csv").open() as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=float)
    assert rows[-1, 0] == pytest.approx(11.0)
    assert np.abs(rows[[0, -1], 8:]).max() <= 1e-9  # at rest at both ends
    with Image.open(tmp_path / "out" / "animation.gif") as animation:
        assert animation.n_frames > 20
        first = np.asarray(animation.convert("L"), dtype=float)
        animation.seek(20)
        assert np.abs(np.asarray(animation.convert("L"), dtype=float) - first).max() > 100  # something moved


def test_a_given_trajectory_is_judged_by_the_same_measure(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    trajectory = Trajectory(
        Fourier(0.5, 4), np.hstack([0.2 * rng.normal(size=(7, 8)), [[0], [0], [0], [-1.5], [0], [2], [0]]])
    )
    (tmp_path / "mine.toml").write_text(trajectory_text(trajectory))
    text = run("excite", "panda", "--evaluate", tmp_path / "mine.toml", "--no-collision")
    observation = Observation.of_model(casid.Model(casid.load_robot("panda"), terms=("viscous", "coulomb", "offset")))
    assert f"{np.linalg.cond(observation.matrix(trajectory.sample(160))):.5g}" in text


@pytest.mark.slow
def test_poses(tmp_path: Path) -> None:
    run("excite", "spatial_2r", "--basis", "poses", "--poses", 12, "--time-limit", 2, "--out", tmp_path)
    assert not (tmp_path / "joint_trajectory.yaml").exists()
    assert len((tmp_path / "trajectory.csv").read_text().splitlines()) == 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("panda", "--harmonics", "1"), "too few"),
        (("panda", "--duration", "-1"), "must be positive"),
        (("panda", "--criterion", "best"), "unknown criterion 'best'"),
        (("panda", "--limit-share", "1.5"), "share of the limits"),
        (("panda", "--evaluate", "nowhere.toml"), "cannot read trajectory file"),
        (("panda", "--floor", "3"), "no pose inside the joint limits"),
    ],
)
def test_bad_input_is_a_sentence(arguments: tuple[str, ...], message: str) -> None:
    text = run("excite", *arguments, code=1)
    assert text.strip().splitlines()[-1].startswith("error: ")
    assert message in " ".join(text.split())
