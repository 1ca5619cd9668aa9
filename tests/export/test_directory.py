"""Folders of C code of any function and of controllers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from benchmarks.compiled import build_controller, run_controller

from casid.control import PD
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import DatasetError, ExportError
from casid.export import export_c, export_controller, export_robot, load
from casid.testing import random_robot
from tests.helpers import close, needs_compiler


@needs_compiler
def test_any_function_of_a_user(tmp_path: Path) -> None:
    x, A = ca.MX.sym("x", 2), ca.MX.sym("A", 2, 3)
    f = ca.Function("f", [x, A], [ca.mtimes(x.T, A), ca.sumsqr(A) * x], ["x", "A"], ["row", "scaled"])
    done = export_c([f], tmp_path / "c", "mine", words={"f": "what it is"}, units={"x": "a length [m]"})
    assert "a length [m]" in (done.path / "mine.h").read_text()
    library = load(done.path)
    value, matrix = np.array([1.5, -2.0]), np.arange(6.0).reshape(2, 3)
    row, scaled = library.f(value, matrix)
    close(row, [value @ matrix])
    close(scaled, (matrix**2).sum() * value)
    values = np.random.default_rng(0).normal(size=(70, 2))
    for place, right in zip(library.f(values, matrix), (values @ matrix, 55.0 * values), strict=True):
        close(place.reshape(70, -1), right)
    for ours, theirs in zip(library.f(ca.DM(value), ca.DM(matrix)), f(value, matrix), strict=True):
        close(ours.full(), theirs.full())
    with pytest.raises(DatasetError, match=r"f: A has shape \(3, 2\); expected .*A \(2, 3\)"):
        library.f(value, matrix.T)
    with pytest.raises(AttributeError, match="known: f"):
        _ = library.g


@pytest.mark.slow
@needs_compiler
def test_controller_example_tracks(panda: Robot, tmp_path: Path) -> None:
    built = build_controller(panda, tmp_path)
    text = run_controller(built, 2.0, limit=1e-3)
    assert re.search(r"cycles 2000 at 1 kHz.*worst [\d.]+ us", text)
    if built.franka is not None:
        subprocess.run([built.franka], check=True, capture_output=True)


def test_licence_and_frames_stand_in_every_folder(panda: Robot, tmp_path: Path) -> None:
    own = (Path(__file__).parents[2] / "LICENSE").read_text(encoding="utf-8")
    law = export_controller(PD(np.full(2, 50.0), np.full(2, 5.0)), tmp_path / "law", "hold").path
    arm = export_robot(panda, tmp_path / "arm", ["operational_space"]).path
    for folder in (law, arm):
        text = (folder / "FRAMES.md").read_text(encoding="utf-8")
        assert own in (folder / "LICENSE").read_text(encoding="utf-8") and "not stated" not in text
    assert "Licence of its description: BSD-3-Clause" in (arm / "LICENSE").read_text(encoding="utf-8")
    assert "At frame 'flange'" in text and "int hold_control(" in (law / "hold.h").read_text(encoding="utf-8")


def test_frames_stand_where_the_kinematics_put_them(tmp_path: Path) -> None:
    robot = random_robot(3, 4, shifted_links=True)
    text = (export_robot(robot, tmp_path / "arm", ["gravity"], parameters=np.ones(40)).path / "FRAMES.md").read_text()
    placed = {row.split(" | ")[0][2:]: row.split(" | ")[1:] for row in text.splitlines() if row.count("|") == 5}
    for link, T in zip(robot.links, Model(robot).forward_kinematics(np.zeros(4)), strict=True):
        found = [np.array(cell.strip(" |").split(", "), dtype=float) for cell in placed[link.name]]
        np.testing.assert_allclose(np.concatenate(found), np.concatenate([T[:3, 3], T[:3, 0], T[:3, 2]]), atol=1e-5)


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(ExportError, match=r"manifest|json"):
        load(tmp_path)
    (tmp_path / "a.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ExportError, match="no manifest"):
        load(tmp_path)
