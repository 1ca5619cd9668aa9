"""The library of identified robots: what each entry states, and that its command makes it again."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import identified_names, identified_record
from casid.inertia import consistency
from tests.helpers import run

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("CASID_DATA", ""))
STATED = {"robot", "kind", "source", "licence", "verdict", "date", "version", "command"}


def regenerated(name: str, folder: Path) -> np.ndarray:
    """Standard parameters of an entry that its command makes anew."""
    command = [sys.executable, str(ROOT / "scripts" / "library.py"), name, "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return casid.load_robot(folder / f"{name}.toml").standard_parameters()


def torques(robot: casid.Robot, state: np.ndarray) -> np.ndarray:
    """Of the bodies alone."""
    return np.array(casid.Model(robot).inverse_dynamics(*state, robot.standard_parameters())).ravel()


@pytest.mark.claim("a library of identified robots, each with source, licence, hash, intervals, verdict and command")
def test_entries_state_where_they_come_from() -> None:
    names = identified_names()
    assert len(names) >= 15
    for name in names:
        facts, robot = identified_record(name), casid.load_robot(name)
        assert set(facts) >= STATED, name
        assert "WRONG" not in facts["verdict"] and "not to be trusted" not in facts["verdict"]
        assert all(consistency(ten).full for ten in robot.standard_parameters().reshape(-1, 10)), name
        if facts["kind"] in ("torques", "commands"):
            assert facts["sha256"] and facts["intervals"] and facts["held_out"] > 0
        assert facts["command"].startswith(f"python scripts/library.py {name}")


@pytest.mark.skipif(not DATA.is_dir() or not os.environ.get("CASID_DATA"), reason="needs CASID_DATA")
def test_hashes_are_those_of_the_recordings() -> None:
    for name in identified_names():
        for file, digest in identified_record(name).get("sha256", {}).items():
            assert hashlib.sha256((DATA / file).read_bytes()).hexdigest() == digest, file


def test_the_page_is_of_the_entries() -> None:
    text = (ROOT / "docs" / "identified_robots.md").read_text(encoding="utf-8")
    for name in identified_names():
        assert f"## {name}\n" in text and identified_record(name)["command"] in text


def test_an_entry_is_shown_and_written(tmp_path: Path) -> None:
    urdf, mjcf = tmp_path / "arm.urdf", tmp_path / "arm.xml"
    text = run("robots", "ur10_salerno", "--urdf", urdf, "--mjcf", mjcf)
    facts = identified_record("ur10_salerno")
    assert facts["command"] in " ".join(text.split()) and next(iter(facts["sha256"].values())) in text
    state = np.array([[0.3, -1.0, 0.7, 0.2, -0.4, 0.5], [1.0] * 6, [2.0] * 6])
    given = torques(casid.load_robot("ur10_salerno"), state)
    for path in (urdf, mjcf):
        assert np.allclose(torques(casid.load_robot(path), state), given, atol=1e-6)
    assert all(name in run("robots") for name in identified_names())
    assert "link7" in run("robots", "panda")
    assert "unknown robot 'nothing'" in run("robots", "nothing", code=1)


def test_other_bodies_do_not_keep_the_provenance(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    robot = casid.load_robot("emps_janot")
    casid.description.write_robot(robot, path)
    assert "[identified]" in path.read_text(encoding="utf-8")
    casid.description.write_robot(robot.with_parameters(2.0 * robot.standard_parameters()), path)
    assert "[identified]" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_command_makes_its_entry_again(tmp_path: Path) -> None:
    given = casid.load_robot("puma560_armstrong").standard_parameters()
    assert np.allclose(regenerated("puma560_armstrong", tmp_path), given, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CASID_DATA"), reason="needs CASID_DATA")
@pytest.mark.parametrize("name", ["ur10_salerno", "go2_held", "panda_gaz_re"])
def test_entries_from_recordings_are_made_again(name: str, tmp_path: Path) -> None:
    given = casid.load_robot(name).standard_parameters()
    assert np.allclose(regenerated(name, tmp_path), given, rtol=1e-3, atol=1e-5)
